# SPDX-License-Identifier: Apache-2.0
"""Groups the hits of an event that belong together in time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anello.errors import engine_errors

from ..engine import engine
from .rings import checked_offsets, checked_reals


@dataclass(frozen=True)
class TimeClusters:
    """Time clusters of E events as structure of arrays. Event e has the clusters event_offset[e] to
    event_offset[e + 1] - 1, sorted by time.

    hit_cluster: uint32[N], the cluster of each hit. time_ns: float32[C], mean time of a cluster's hits.
    n_hits: uint32[C]. event_offset: uint32[E + 1], from 0 to C.
    """

    hit_cluster: NDArray[np.uint32]
    time_ns: NDArray[np.float32]
    n_hits: NDArray[np.uint32]
    event_offset: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.time_ns)


def time_clusters(
    hit_time_ns: ArrayLike, event_offset: ArrayLike, *, half_window_ns: float = 5.0, n_passes: int = 2
) -> TimeClusters:
    """Groups the hits of each event by their times: the particle in time, other particles, single hits.

    hit_time_ns: float32[N], finite. event_offset: uint32[E + 1], as in find_rings. half_window_ns: a hit belongs to
    the nearest cluster whose mean is at most this far away, in each of n_passes passes. Every hit is in one
    cluster, if necessary alone. The result does not depend on the order of hits.

    Raises ValueError for a wrong shape, type or value, and EngineMissingError when the engine is not built.
    """
    time_ns = checked_reals("hit_time_ns", hit_time_ns)
    offset = checked_offsets(event_offset, len(time_ns), "hit_time_ns")
    if n_passes < 0:
        raise ValueError(f"n_passes must be 0 to 100, not {n_passes}")

    with engine_errors():
        return TimeClusters(*engine().time_clusters(time_ns, offset, half_window_ns, n_passes))
