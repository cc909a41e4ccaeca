# SPDX-License-Identifier: Apache-2.0
"""Decodes the last event that a node wrote to its counter page."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KIND = "rich"
MAX_RINGS, MAX_HITS = 8, 128
# fmt: off
RING = np.dtype({"names": ["x_mm", "y_mm", "radius_mm", "n_hits"], "formats": ["<f4", "<f4", "<f4", "<u2"],
                 "offsets": [0, 4, 8, 12], "itemsize": 16})
# fmt: on
# The layout is that of EventSnapshot in chain/samples.hpp.
SNAPSHOT = np.dtype(
    {
        "names": ["event_key", "n_hits", "n_rings", "rings", "hit_pmt", "hit_time_fine"],
        "formats": ["<u8", "<u4", "u1", (RING, MAX_RINGS), ("<u2", MAX_HITS), ("<i2", MAX_HITS)],
        "offsets": [0, 8, 12, 16, 144, 400],
        "itemsize": 656,
    }
)


@dataclass(frozen=True)
class LastEvent:
    event_key: int  # burst << 32 | time in ticks of 24.951 ns
    hit_pmt: NDArray[np.uint16]  # [n_hits] 0..1951
    hit_time_fine: NDArray[np.int16]  # [n_hits] 1/256 tick from the event's time
    rings: NDArray[np.void]  # [n_rings] x_mm, y_mm, radius_mm: float32 in the fit frame; n_hits: uint16


def decode(payload: bytes) -> LastEvent:
    """Decodes an event of kind KIND. Raises ValueError when the size is wrong; limits numbers to the room for them."""
    if len(payload) != SNAPSHOT.itemsize:
        raise ValueError(f"a RICH event has {SNAPSHOT.itemsize} bytes, not {len(payload)}")
    event = np.frombuffer(payload, SNAPSHOT)[0]
    n_hits, n_rings = int(event["n_hits"]), int(event["n_rings"])
    return LastEvent(
        int(event["event_key"]), event["hit_pmt"][:n_hits], event["hit_time_fine"][:n_hits], event["rings"][:n_rings]
    )
