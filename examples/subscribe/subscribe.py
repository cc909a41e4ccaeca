# SPDX-License-Identifier: Apache-2.0
"""Adds up what a running chain publishes: python examples/subscribe/subscribe.py ADDRESS [sub|pull]"""

import sys

import numpy as np

import anello

n_events, n_rings, charge = 0, 0, 0.0
with anello.subscribe(sys.argv[1], pattern="pull" if "pull" in sys.argv[2:] else "sub", connect_s=60) as records:
    for record in records:
        arrays = record.arrays  # views: valid until the next record
        if record.kind == "decisions":
            n_events += arrays["event_key"].size
            n_rings += int(np.diff(arrays["ring_offset"]).sum())
        elif record.kind == "camera_event":
            n_events += 1
            charge += float(arrays["charge"].sum())
        elif record.kind == "mep":
            n_events += int(arrays["n_events"])
print(
    f"{records.n_records} records ({records.n_missed} missed), {n_events} events, {n_rings} rings, charge {charge:.0f}"
)
