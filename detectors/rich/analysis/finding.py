# SPDX-License-Identifier: Apache-2.0
"""Finds the rings of a batch of events, given as NumPy arrays."""

import difflib
import os
import time
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

from numpy.typing import ArrayLike, NDArray

from anello.errors import ConfigError, engine_errors

from ..engine import RingColumns, engine
from .rings import OffsetArray, RingQuality, Rings, checked_offsets, checked_reals, from_awkward

ALGORITHMS = ("crawford", "taubin", "histogram8x8", "histogram", "almagest", "single", "multiring")
BACKENDS = ("auto", "cpu", "cuda")
EVENTS_OF_A_THREAD = 1000  # with fewer, starting a thread takes more time than it saves
EVENTS_AT_ONCE = 65_536  # between two updates of the progress display


def find_rings(
    hit_x_mm: Any,
    hit_y_mm: Any,
    event_offset: ArrayLike | None = None,
    *,
    algorithm: str = "multiring",
    backend: str = "cpu",
    threads: int | None = None,
    isa: str = "automatic",
    params: Mapping[str, Any] | None = None,
    quality: bool = False,
    progress: bool = False,
) -> Rings:
    """Finds the Cherenkov rings of each event.

    hit_x_mm, hit_y_mm: float32[N], hit positions in mm, both disks overlaid; other real types are converted. Or awkward
        arrays with a list of hits for each event, without event_offset.
    event_offset: uint32[E + 1]; event e has the hits event_offset[e] to event_offset[e + 1] - 1, so it begins with 0,
        never falls and ends with N. At most 64 hits of an event are used.
    algorithm: `multiring` (default), `single`, `almagest`, `histogram`, `histogram8x8`, `crawford`, `taubin`.
    backend: `cpu`, `cuda` (a ValueError says why it cannot be used) or `auto` (`cuda` if it can be used).
    isa: instruction set of the CPU, `automatic` or one of `scalar`, `sse42`, `avx2`, `avx512`.
    threads: number of threads that share the events; the result does not depend on it. None: one for each core of this
        process, but at most one for each thousand events.
    params: keys below [trigger], e.g. {"acceptance.radius_min_mm": 90}; docs/reference/expert-keys.md has them.
    quality: whether the result's `quality` gives hits assigned, covariance and likelihood ratio (class RingQuality). It
        uses the detector's description in params: multiring.yield_hits, noise_hits, smear_mm, pmt_radius_mm.
    progress: whether to show progress on standard error when there are more than 65,536 events.

    Raises ValueError for a wrong shape, type or value, and EngineMissingError when the engine is not built.
    Sources: Crawford, NIM 211 (1983) 223; Taubin, PAMI 13 (1991) 1115; Almagest: Lamanna, NIM A766 (2014) 241.
    """
    if event_offset is None:
        hit_x_mm, hit_y_mm, event_offset = from_awkward(hit_x_mm, hit_y_mm)
    x_mm, y_mm = checked_reals("hit_x_mm", hit_x_mm), checked_reals("hit_y_mm", hit_y_mm)
    if x_mm.shape != y_mm.shape:
        raise ValueError(f"hit_x_mm has shape {x_mm.shape} and hit_y_mm {y_mm.shape}: they must be equal")
    offset = checked_offsets(event_offset, len(x_mm), "hit_x_mm")
    _one_of("algorithm", algorithm, ALGORITHMS)
    _one_of("backend", backend, BACKENDS)
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    n_threads = threads or min(len(os.sched_getaffinity(0)), 1 + len(offset) // EVENTS_OF_A_THREAD)

    with engine_errors():
        _refuse_unknown(params or {})
        search = partial(
            engine().find_rings,
            algorithm=algorithm,
            backend=backend,
            isa=isa,
            threads=n_threads,
            params=dict(params or {}),
            quality=quality,
        )
        if not progress or len(offset) - 1 <= EVENTS_AT_ONCE:
            return _rings(*search(x_mm, y_mm, offset))
        return Rings.joined(
            [
                _rings(*search(x_mm[part[0] : part[-1]], y_mm[part[0] : part[-1]], part - part[0]))
                for part in _parts(offset)
            ]
        )


def _rings(columns: RingColumns, judged: Mapping[str, NDArray[Any]] | None) -> Rings:
    return Rings(*columns, quality=None if judged is None else RingQuality(**judged))


def _parts(offset: OffsetArray) -> Iterator[OffsetArray]:
    """Yields the offsets of the events part by part, and shows the progress."""
    from anello.run import display
    from rich.console import Console

    n_events, began_s = len(offset) - 1, time.monotonic()
    with display.make("auto", Console(stderr=True)) as shown:
        for first in range(0, n_events, EVENTS_AT_ONCE):
            item = display.Item("rings", f"{first:,} of {n_events:,} events")
            shown.show(display.Progress(time.monotonic() - began_s, (item,)))
            yield offset[first : first + EVENTS_AT_ONCE + 1]


@cache
def _parameters() -> tuple[str, ...]:
    """Parameters of all ring finders: the keys of the sections below [trigger]."""
    from anello.engine import _engine

    return tuple(
        f"{table['section']}.{key}".removeprefix("trigger.")
        for table in _engine.key_tables().values()
        if table["section"].startswith("trigger.")
        for key in table["keys"]
    )


def _refuse_unknown(params: Mapping[str, Any]) -> None:
    """Raises ConfigError when a parameter is unknown."""
    for key, value in params.items():
        if key not in _parameters():
            near = difflib.get_close_matches(key, _parameters(), n=1, cutoff=0)
            raise ConfigError(
                f"trigger.{key}", "is not a parameter of the ring finders", str(value), f"Did you mean {near[0]}?"
            )


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
