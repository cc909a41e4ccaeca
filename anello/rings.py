# SPDX-License-Identifier: Apache-2.0
"""Rings of a batch of events, as NumPy arrays."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anello.errors import ConfigError, engine_errors

ALGORITHMS = ("crawford", "taubin", "histogram8x8", "histogram", "almagest", "single", "multiring")
BACKENDS = ("auto", "cpu", "cuda")

FloatArray = NDArray[np.float32]
OffsetArray = NDArray[np.uint32]


@dataclass(frozen=True)
class Rings:
    """Rings of E events as structure of arrays; event e has the rings event_offset[e] to event_offset[e + 1] - 1.

    x_mm, y_mm, radius_mm: float32[R], in the frame of the hits. n_hits: uint16[R], hits attributed to the ring.
    event_offset: uint32[E + 1], from 0 to R.
    """

    x_mm: FloatArray
    y_mm: FloatArray
    radius_mm: FloatArray
    n_hits: NDArray[np.uint16]
    event_offset: OffsetArray

    @property
    def n_events(self) -> int:
        return len(self.event_offset) - 1

    @property
    def n_rings(self) -> NDArray[np.int64]:
        """int64[E]: rings of each event."""
        offset = self.event_offset.astype(np.int64)
        return offset[1:] - offset[:-1]

    @property
    def event_index(self) -> NDArray[np.int64]:
        """int64[R]: the event of each ring."""
        return np.repeat(np.arange(self.n_events), self.n_rings)

    def __len__(self) -> int:
        return len(self.x_mm)

    def of_event(self, event: int) -> Self:
        """The rings of one event."""
        return self.of_events(np.array([event]))

    def of_events(self, events: NDArray[Any]) -> Self:
        """The rings of these events (indices, in this order, repeats allowed)."""
        ring = self.ring_index(events)
        offset = np.concatenate(([0], np.cumsum(self.n_rings[events]))).astype(np.uint32)
        return type(self)(self.x_mm[ring], self.y_mm[ring], self.radius_mm[ring], self.n_hits[ring], offset)

    def ring_index(self, events: NDArray[Any]) -> NDArray[np.int64]:
        """int64: positions of the rings of these events."""
        counts = self.n_rings[events]
        first_of_result = np.cumsum(counts) - counts
        shift = self.event_offset[:-1].astype(np.int64)[events] - first_of_result
        return np.repeat(shift, counts) + np.arange(counts.sum())


def find_rings(
    hit_x_mm: ArrayLike,
    hit_y_mm: ArrayLike,
    event_offset: ArrayLike,
    *,
    algorithm: str = "multiring",
    backend: str = "cpu",
    threads: int = 1,
    isa: str = "automatic",
    params: Mapping[str, float] | None = None,
) -> Rings:
    """Finds the Cherenkov rings of each event.

    hit_x_mm, hit_y_mm: float32[N], hit positions in mm, both disks overlaid; other real types are converted.
    event_offset: uint32[E + 1]; event e has the hits event_offset[e] to event_offset[e + 1] - 1, so it begins with 0,
        never falls and ends with N. At most 64 hits of an event are used.
    algorithm: `multiring` (default), `single`, `almagest`, `histogram`, `histogram8x8`, `crawford`, `taubin`.
    backend: `cpu`, `cuda` (a ValueError says why where there is none) or `auto` (`cuda` where it can be used).
    isa: instruction set of the CPU, `automatic` or one of `scalar`, `sse42`, `avx2`, `avx512`.
    threads: number of threads that share the events; the result does not depend on it.
    params: keys below [trigger], e.g. {"acceptance.radius_min_mm": 90}; docs/reference/configuration.md has them.

    Raises ValueError for a wrong shape, type or value, and EngineMissingError where the engine is not built.
    Sources: Crawford, NIM 211 (1983) 223; Taubin, PAMI 13 (1991) 1115; Almagest: Lamanna, NIM A766 (2014) 241.
    """
    x_mm, y_mm = checked_reals("hit_x_mm", hit_x_mm), checked_reals("hit_y_mm", hit_y_mm)
    if x_mm.shape != y_mm.shape:
        raise ValueError(f"hit_x_mm has shape {x_mm.shape} and hit_y_mm {y_mm.shape}: they must be equal")
    offset = checked_offsets(event_offset, len(x_mm), "hit_x_mm")
    _one_of("algorithm", algorithm, ALGORITHMS)
    _one_of("backend", backend, BACKENDS)
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")

    from anello.engine import _engine

    with engine_errors():
        _refuse_unknown(params or {})
        return Rings(*_engine.find_rings(x_mm, y_mm, offset, algorithm, backend, isa, threads, dict(params or {})))


@cache
def _parameters() -> tuple[str, ...]:
    """Of all ring finders: the keys of the sections below trigger."""
    from anello.engine import _engine

    return tuple(f"{table['section']}.{key}".removeprefix("trigger.") for table in _engine.key_tables().values()
                 if table["section"].startswith("trigger.") for key in table["keys"])  # fmt: skip


def _refuse_unknown(params: Mapping[str, float]) -> None:
    """Raises ConfigError."""
    for key, value in params.items():
        if key not in _parameters():
            near = difflib.get_close_matches(key, _parameters(), n=1, cutoff=0)
            raise ConfigError(f"trigger.{key}", "is not a parameter of the ring finders", str(value),
                              f"Did you mean {near[0]}?")  # fmt: skip


def checked_reals(name: str, values: ArrayLike) -> FloatArray:
    """float32[N], finite. Raises ValueError."""
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


def checked_offsets(values: ArrayLike, n_hits: int, of: str) -> OffsetArray:
    """uint32[E + 1], from 0 to n_hits, never falling; `of` names the array they divide. Raises ValueError."""
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


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
