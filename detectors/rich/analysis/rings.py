# SPDX-License-Identifier: Apache-2.0
"""Rings of a batch of events, as NumPy arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float32]
OffsetArray = NDArray[np.uint32]
RING_ROW = np.dtype([("event", "i8"), ("x_mm", "f4"), ("y_mm", "f4"), ("radius_mm", "f4"), ("n_hits", "u2")])


@dataclass(frozen=True)
class RingQuality:
    """How well the hits support each of R rings, by the ring finder's likelihood.

    n_assigned: uint16[R], hits that more likely belong to this ring than to another or to noise. log_likelihood_ratio:
    float32[R], natural logarithm of the likelihood with this ring over that without it. covariance_mm2:
    float32[R, 3, 3] of x, y and radius; variances are infinite if the hits do not determine a circle. hit_ring:
    int8[N], index in its event of the ring to which a hit is assigned, -1 for none; None in a selection of events.
    """

    n_assigned: NDArray[np.uint16]
    log_likelihood_ratio: FloatArray
    covariance_mm2: FloatArray
    hit_ring: NDArray[np.int8] | None = None

    def of_rings(self, ring: NDArray[Any]) -> Self:
        """Quality of the rings with these indices."""
        return type(self)(self.n_assigned[ring], self.log_likelihood_ratio[ring], self.covariance_mm2[ring])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenates the qualities of the rings of several samples."""
        hit_rings = [part.hit_ring for part in parts if part.hit_ring is not None]
        return cls(
            np.concatenate([part.n_assigned for part in parts]),
            np.concatenate([part.log_likelihood_ratio for part in parts]),
            np.concatenate([part.covariance_mm2 for part in parts]),
            np.concatenate(hit_rings) if len(hit_rings) == len(parts) else None,
        )


@dataclass(frozen=True)
class Rings:
    """Rings of E events as structure of arrays. Event e has the rings event_offset[e] to event_offset[e + 1] - 1.

    x_mm, y_mm, radius_mm: float32[R], in the frame of the hits. n_hits: uint16[R], hits attributed to the ring.
    event_offset: uint32[E + 1], from 0 to R. quality: None unless it was requested.
    """

    x_mm: FloatArray
    y_mm: FloatArray
    radius_mm: FloatArray
    n_hits: NDArray[np.uint16]
    event_offset: OffsetArray
    quality: RingQuality | None = None

    @property
    def n_events(self) -> int:
        return len(self.event_offset) - 1

    @property
    def n_rings(self) -> NDArray[np.int64]:
        """int64[E]: number of rings of each event."""
        return n_of_events(self.event_offset)

    @property
    def event_index(self) -> NDArray[np.int64]:
        """int64[R]: index of the event of each ring."""
        return np.repeat(np.arange(self.n_events), self.n_rings)

    def __len__(self) -> int:
        return len(self.x_mm)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenates the events of one or more samples; either all of them have quality, or none."""
        n_rings = np.concatenate([part.n_rings for part in parts])
        judged = [part.quality for part in parts if part.quality is not None]
        return cls(
            np.concatenate([part.x_mm for part in parts]),
            np.concatenate([part.y_mm for part in parts]),
            np.concatenate([part.radius_mm for part in parts]),
            np.concatenate([part.n_hits for part in parts]),
            np.concatenate(([0], np.cumsum(n_rings))).astype(np.uint32),
            RingQuality.joined(judged) if judged else None,
        )

    def as_structured(self) -> NDArray[np.void]:
        """One row per ring, for tables and files: event (its index), x_mm, y_mm, radius_mm, n_hits (RING_ROW)."""
        rows = np.zeros(len(self), RING_ROW)
        rows["event"] = self.event_index
        for name in ("x_mm", "y_mm", "radius_mm", "n_hits"):
            rows[name] = getattr(self, name)
        return rows

    def as_awkward(self) -> Any:
        """ak.Array with the rings of each event as records of x_mm, y_mm, radius_mm, n_hits. Raises ImportError when
        awkward is not installed."""
        import awkward as ak

        columns = {name: getattr(self, name) for name in ("x_mm", "y_mm", "radius_mm", "n_hits")}
        return ak.unflatten(ak.zip(columns), self.n_rings)

    def of_event(self, event: int) -> Self:
        """The rings of one event."""
        return self.of_events(np.array([event]))

    def of_events(self, events: NDArray[Any]) -> Self:
        """The rings of the events with these indices, in this order; an event may occur several times."""
        ring = self.ring_index(events)
        offset = np.concatenate(([0], np.cumsum(self.n_rings[events]))).astype(np.uint32)
        quality = None if self.quality is None else self.quality.of_rings(ring)
        return type(self)(self.x_mm[ring], self.y_mm[ring], self.radius_mm[ring], self.n_hits[ring], offset, quality)

    def ring_index(self, events: NDArray[Any]) -> NDArray[np.int64]:
        """int64: indices of the rings of these events."""
        counts = self.n_rings[events]
        first_of_result = np.cumsum(counts) - counts
        shift = self.event_offset[:-1].astype(np.int64)[events] - first_of_result
        return np.repeat(shift, counts) + np.arange(counts.sum())


def n_of_events(offset: OffsetArray) -> NDArray[np.int64]:
    """int64[E]: number of entries of each event. offset: uint32[E + 1]."""
    whole = offset.astype(np.int64)
    return whole[1:] - whole[:-1]


def checked_reals(name: str, values: ArrayLike) -> FloatArray:
    """Converts to float32[N]. Raises ValueError when a value is not finite or the shape is wrong."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: it must be (N,)")
    if array.dtype.kind not in "fiu" and array.size:
        raise ValueError(f"{name} has dtype {array.dtype}: it must be float32, or real numbers that become it")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}: it must be finite")
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(single).all():
        raise ValueError(f"{name} has {array[~np.isfinite(single)][0]}: that is beyond float32")
    return single


def from_awkward(hit_x_mm: Any, hit_y_mm: Any) -> tuple[NDArray[Any], NDArray[Any], OffsetArray]:
    """Flattens jagged arrays with one list of hits per event, and returns hits and offsets. Raises ValueError."""
    import awkward as ak

    for name, array in (("hit_x_mm", hit_x_mm), ("hit_y_mm", hit_y_mm)):
        if not is_awkward(array) or array.ndim != 2:
            raise ValueError(f"{name} must be a list of hits for each event, as event_offset is not given")
    n_hits, n_y = (ak.to_numpy(ak.num(array)) for array in (hit_x_mm, hit_y_mm))
    if not np.array_equal(n_hits, n_y):
        raise ValueError("hit_x_mm and hit_y_mm differ in their numbers of hits: they must be equal in each event")
    offset = np.concatenate(([0], np.cumsum(n_hits))).astype(np.uint32)
    return ak.to_numpy(ak.flatten(hit_x_mm)), ak.to_numpy(ak.flatten(hit_y_mm)), offset


def is_awkward(values: object) -> bool:
    return type(values).__module__.partition(".")[0] == "awkward"


def checked_offsets(values: ArrayLike, n_hits: int, of: str) -> OffsetArray:
    """Checks offsets, uint32[E + 1]: from 0 to n_hits, never decreasing; `of` names the array. Raises ValueError."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"event_offset has shape {array.shape}: it must be (E + 1,), with 0 as its first value")
    if array.dtype.kind not in "iu":
        raise ValueError(f"event_offset has dtype {array.dtype}: it must be uint32, or whole numbers that become it")
    if array[0] != 0 or array[-1] != n_hits:
        raise ValueError(
            f"event_offset, shape {array.shape}, goes from {array[0]} to {array[-1]}: with {of} of shape "
            f"({n_hits},) it must go from 0 to {n_hits}"
        )
    falls = np.flatnonzero(array[1:] < array[:-1])
    if len(falls):
        at = int(falls[0])
        raise ValueError(f"event_offset[{at + 1}] = {array[at + 1]} is below event_offset[{at}] = {array[at]}")
    return np.ascontiguousarray(array, dtype=np.uint32)
