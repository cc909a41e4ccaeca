# SPDX-License-Identifier: Apache-2.0
"""Reads the decisions that a run has stored in one or several HDF5 files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello import columns

EVENT_COLUMNS = ("event_key", "n_rings", "ring_offset")
RING_COLUMNS = ("ring_x_mm", "ring_y_mm", "ring_radius_mm", "ring_n_hits")
QUALITY_COLUMNS = ("ring_n_assigned", "ring_log_likelihood_ratio", "ring_covariance_mm2")


def read(path: Path) -> dict[str, NDArray[Any]]:
    """Returns event_key u64[E], ring_offset u32[E + 1], ring_x_mm, ring_y_mm, ring_radius_mm f32[R], ring_n_hits
    u16[R]; if the run had trigger.quality, also ring_n_assigned u16[R], ring_log_likelihood_ratio f32[R] and
    ring_covariance_mm2 f32[R, 3, 3].

    Raises OSError when the file is not HDF5, KeyError when a column is missing.
    """
    parts = [_read_one(file) for file in columns.files(path)]
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    offset = np.concatenate(([0], np.cumsum(found.pop("n_rings")))).astype(np.uint32)
    return {"event_key": found.pop("event_key"), "ring_offset": offset, **found}


def _read_one(file: Any) -> dict[str, NDArray[Any]]:
    """Returns the events whose rings are all in the file, and their rings in the order of events."""
    quality = QUALITY_COLUMNS if QUALITY_COLUMNS[0] in file else ()
    events, rings = columns.cut(file, EVENT_COLUMNS), columns.cut(file, (*RING_COLUMNS, *quality))
    n_rings, first = (events[name].astype(np.int64) for name in ("n_rings", "ring_offset"))
    has_all = first + n_rings <= len(rings[RING_COLUMNS[0]])
    n_rings, first = n_rings[has_all], first[has_all]
    own = np.repeat(first - (np.cumsum(n_rings) - n_rings), n_rings) + np.arange(n_rings.sum())
    return {"event_key": events["event_key"][has_all], "n_rings": n_rings} | {
        name: rows[own] for name, rows in rings.items()
    }
