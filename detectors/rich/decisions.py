# SPDX-License-Identifier: Apache-2.0
"""Reading the decisions that a run has stored (HDF5)."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RING_COLUMNS = ("ring_x_mm", "ring_y_mm", "ring_radius_mm", "ring_n_hits")


def read(path: Path) -> dict[str, NDArray[Any]]:
    """event_key u64[E], ring_offset u32[E + 1], ring_x_mm, ring_y_mm, ring_radius_mm f32[R], ring_n_hits u16[R].

    Raises OSError when it is no HDF5 file, KeyError when a column is missing.
    """
    import h5py

    with h5py.File(path, "r") as file:
        n_rings = file["n_rings"][:].astype(np.int64)
        first = file["ring_offset"][:].astype(np.int64)
        rings = np.repeat(first - (np.cumsum(n_rings) - n_rings), n_rings) + np.arange(n_rings.sum())
        columns = {name: file[name][:][rings] for name in RING_COLUMNS}
        offset = np.concatenate(([0], np.cumsum(n_rings))).astype(np.uint32)
        return {"event_key": file["event_key"][:], "ring_offset": offset, **columns}
