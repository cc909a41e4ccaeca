# SPDX-License-Identifier: Apache-2.0
"""Decodes the last event that a node wrote to its counter page."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KIND = "km3net"
MAX_HITS = 512
# The layout is that of EventSample in slice_trigger.hpp.
# fmt: off
SAMPLE = np.dtype({
    "names": ["slice", "begin", "end", "n_doms", "mask", "n_hits", "dom", "channel", "tot_ns", "is_l1", "time_ns"],
    "formats": ["<u8", "<i8", "<i8", "<u4", "<u4", "<u4", ("<u2", MAX_HITS), ("u1", MAX_HITS), ("u1", MAX_HITS),
                ("u1", MAX_HITS), ("<f4", MAX_HITS)],
    "offsets": [0, 8, 16, 28, 36, 48, 52, 1076, 1588, 2100, 2612], "itemsize": 4664,
})
# fmt: on


@dataclass(frozen=True)
class LastEvent:
    slice: int
    begin: int  # time of its first L1 hit, 1/16 ns from the slice's begin
    end: int
    n_doms: int
    mask: int  # the experiment's trigger_mask
    dom: NDArray[np.uint16]  # [n_hits], as the arrays below; position of the DOM in the line
    channel: NDArray[np.uint8]  # PMT of the DOM
    tot_ns: NDArray[np.uint8]  # time over threshold
    is_l1: NDArray[np.bool_]
    time_ns: NDArray[np.float32]  # from the event's first L1 hit


def decode(payload: bytes) -> LastEvent:
    """Decodes an event of kind KIND. Raises ValueError when the size is wrong; limits n_hits to the room for hits."""
    if len(payload) != SAMPLE.itemsize:
        raise ValueError(f"an event of KM3NeT has {SAMPLE.itemsize} bytes, not {len(payload)}")
    sample = np.frombuffer(payload, SAMPLE)[0]
    n_hits = int(sample["n_hits"])
    dom, channel, tot_ns, is_l1, time_ns = (
        sample[name][:n_hits] for name in ("dom", "channel", "tot_ns", "is_l1", "time_ns")
    )
    begin, end, n_doms, mask = (int(sample[name]) for name in ("begin", "end", "n_doms", "mask"))
    return LastEvent(int(sample["slice"]), begin, end, n_doms, mask, dom, channel, tot_ns, is_l1 != 0, time_ns)
