# SPDX-License-Identifier: Apache-2.0
"""Receives messages of float64 values and adds them up where they lie: python examples/stream/receive.py @example"""

import sys

import numpy as np

from anello import stream

with stream.listen(sys.argv[1]) as listener, listener.accept(timeout=60) as incoming:
    n_messages, total = 0, 0.0
    for message in incoming.messages(timeout=60):
        values = message.view(np.float64)  # the ring's own memory: use it before the next message
        n_messages, total = n_messages + 1, total + float(values.sum())
print(f"{n_messages} messages, sum {total:.0f}")
