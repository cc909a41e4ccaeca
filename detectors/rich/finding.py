# SPDX-License-Identifier: Apache-2.0
"""Finding the rings of a batch of events, as NumPy arrays."""

import difflib
from collections.abc import Mapping
from functools import cache

from numpy.typing import ArrayLike

from anello.errors import ConfigError, engine_errors
from anello.rings import RingQuality, Rings, checked_offsets, checked_reals

from .engine import engine

ALGORITHMS = ("crawford", "taubin", "histogram8x8", "histogram", "almagest", "single", "multiring")
BACKENDS = ("auto", "cpu", "cuda")


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
    quality: bool = False,
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
    quality: the result's `quality` tells hits assigned, covariance and likelihood ratio (anello.rings.RingQuality), by
        the detector's description in params: multiring.yield_hits, noise_hits, smear_mm, pmt_radius_mm.

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

    with engine_errors():
        _refuse_unknown(params or {})
        columns, judged = engine().find_rings(
            x_mm, y_mm, offset, algorithm, backend, isa, threads, dict(params or {}), quality
        )
    return Rings(*columns, quality=None if judged is None else RingQuality(**judged))


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


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
