# SPDX-License-Identifier: Apache-2.0
"""A trigger that counts rings, and those as large as an electron's, as newer level-0 triggers do:

    anello run detectors/rich/na62-rich.toml --trigger examples/electron_trigger.py:decide

Its primitive is 0x100, and 0x10 for each electron-like ring (3 at most), and 1 for each ring (8 at most); 0 without.
How often it is right: anello identify.
"""

import numpy as np

import anello.rich
from anello.rich.python_trigger import Batch

MOST_ELECTRONS, MOST_RINGS = 3, 8


def decide(batch: Batch) -> tuple[anello.Rings, np.ndarray]:
    """Rings, and a primitive for each event."""
    # one thread: the other cores are the run's
    rings = anello.rich.find_rings(batch.x_mm, batch.y_mm, batch.hit_offset, threads=1, quality=True)
    n_electrons = anello.rich.per_event(rings, anello.rich.electron_like(rings))
    ids = 0x100 + 0x10 * np.minimum(n_electrons, MOST_ELECTRONS) + np.minimum(rings.n_rings, MOST_RINGS)
    return rings, np.where(rings.n_rings > 0, ids, 0)
