# SPDX-License-Identifier: Apache-2.0
"""The last kept event of a node's counter page."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KIND = "camera"
KEPT_BY = ("nothing", "no_filter", "signal", "fraction", "prescale", "incomplete", "calibration")
# The head of CameraImage in chain/selection.hpp; then float32, the charges
HEAD = np.dtype(
    {
        "names": ["event_number", "n_pixels", "kept_by", "multiplicity", "n_pixels_above", "charge_sum"],
        "formats": ["<u4", "<u4", "u1", "u1", "<u2", "<f4"],
        "offsets": [0, 4, 8, 9, 10, 12],
        "itemsize": 16,
    }
)


@dataclass(frozen=True)
class LastEvent:
    event_number: int
    kept_by: str  # a word of KEPT_BY
    multiplicity: int  # largest number of pixels above threshold among a pixel and its neighbours
    n_pixels_above: int
    charge_sum: float  # charge of the pixels above threshold, counts
    charge: NDArray[np.float32]  # [pixels] counts


def decode(payload: bytes) -> LastEvent:
    """Decodes an event of the kind KIND. Raises ValueError if it is none."""
    if len(payload) < HEAD.itemsize:
        raise ValueError(f"a camera event has {HEAD.itemsize} bytes or more, not {len(payload)}")
    head = np.frombuffer(payload, HEAD, count=1)[0]
    n_bytes = HEAD.itemsize + 4 * int(head["n_pixels"])
    if len(payload) != n_bytes or head["kept_by"] >= len(KEPT_BY):
        raise ValueError(f"a camera event of {head['n_pixels']} pixels has {n_bytes} bytes, not {len(payload)}")
    return LastEvent(
        int(head["event_number"]),
        KEPT_BY[head["kept_by"]],
        int(head["multiplicity"]),
        int(head["n_pixels_above"]),
        float(head["charge_sum"]),
        np.frombuffer(payload, "<f4", offset=HEAD.itemsize),
    )
