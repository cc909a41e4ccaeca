# SPDX-License-Identifier: Apache-2.0
"""A trigger of your own as a Python function:

    anello run detectors/rich/na62-rich.toml --trigger examples/python_trigger.py:decide

Events with 6 hits or more within 3 ns of the event's time are searched for rings; the others have none.
"""

import numpy as np

import anello.rich
from anello.rich.python_trigger import Batch

MIN_HITS = 6
WINDOW_NS = 3.0


def decide(batch: Batch) -> anello.Rings:
    """Rings by Anello's own finder, from the hits that pass a cut in time and in number."""
    in_time = np.abs(batch.hit_time_ns) <= WINDOW_NS
    event = np.repeat(np.arange(batch.n_events), batch.n_hits)
    n_in_time = np.bincount(event[in_time], minlength=batch.n_events)
    used = in_time & (n_in_time >= MIN_HITS)[event]
    offset = np.concatenate(([0], np.cumsum(np.bincount(event[used], minlength=batch.n_events))))
    # one thread: the other cores are the run's
    return anello.rich.find_rings(batch.x_mm[used], batch.y_mm[used], offset, threads=1)


def by_multiplicity(batch: Batch) -> np.ndarray:
    """A primitive id for each event, by its number of hits alone: 0x201 from 10 hits on, 0x202 from 30 on."""
    return np.select([batch.n_hits >= 30, batch.n_hits >= 10], [0x202, 0x201], 0)
