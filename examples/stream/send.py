# SPDX-License-Identifier: Apache-2.0
"""Sends 1000 messages of 1000 float64 values: python examples/stream/send.py @example"""

import sys

import numpy as np

from anello import stream

with stream.connect(sys.argv[1], connect_s=60) as outgoing:
    for number in range(1000):
        outgoing.send_message(np.full(1000, number, np.float64))
