# SPDX-License-Identifier: Apache-2.0
"""Types of the compiled part of this detector (bindings/)."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from anello.run.chain import ChainNode
from anello.run.source_process import ChainSource

Arrays = dict[str, NDArray[Any]]
FloatArray = NDArray[np.float32]
OffsetArray = NDArray[np.uint32]
RingColumns = tuple[FloatArray, FloatArray, FloatArray, NDArray[np.uint16], OffsetArray]


class Node(ChainNode, Protocol):
    """execution() returns for each sampled batch: n_events u32, build_ns f64, trigger_ns f64.

    events(n) returns at most n recent events: event_key u64[E], hit_pmt u16[N], hit_time_fine i16[N], event_offset
    u32[E+1], and found rings ring_offset u32[E+1], ring_x_mm, ring_y_mm, ring_radius_mm f32[R], ring_n_hits u16[R]."""

    def execution(self) -> Arrays: ...
    def events(self, n: int) -> Arrays: ...


class Source(ChainSource, Protocol):
    """truth() returns event_key u64[S], pool_index u32[S] of the events sent, and the pool's truth as in simulate()."""

    def set_events(
        self, hit_pmt: NDArray[np.uint16], hit_time_fine: NDArray[np.int16], event_offset: OffsetArray
    ) -> None: ...
    def prepare(self) -> None:
        """Simulates the events of the pool, so that start() begins without delay."""
        ...


class Engine(Protocol):
    """Node takes all keys with their full names, and counter_page; Source takes the keys of source without "source.",
    and seed, counter_page. Both raise ConfigError, OSError."""

    def Node(self, config: Mapping[str, Any]) -> Node: ...  # noqa: N802
    def Source(self, config: Mapping[str, Any]) -> Source: ...  # noqa: N802
    def find_rings(  # noqa: PLR0917
        self,
        hit_x_mm: FloatArray,
        hit_y_mm: FloatArray,
        event_offset: OffsetArray,
        algorithm: str,
        backend: str,
        isa: str,
        threads: int,
        params: dict[str, float],
        quality: bool,
    ) -> tuple[RingColumns, Arrays | None]:
        """params: trigger keys without "trigger.". Returns x, y, radius, n_hits, event_offset and, with quality, the
        columns of anello.rich.analysis.rings.RingQuality."""
        ...

    def ring_radii(self, momentum_gev: NDArray[np.float64], electron_ring_radius_mm: float) -> NDArray[np.float64]:
        """float64[R, 4], mm: ring radii of electron, muon, pion, kaon; 0 below threshold."""
        ...

    def time_clusters(
        self, hit_time_ns: FloatArray, event_offset: OffsetArray, half_window_ns: float, n_passes: int
    ) -> tuple[OffsetArray, FloatArray, OffsetArray, OffsetArray]:
        """Returns hit_cluster, time_ns, n_hits, event_offset."""
        ...

    def algorithms(self) -> list[str]: ...
    def cuda_unavailable_reason(self) -> str:
        """Why no CUDA device can be used; empty if one can."""
        ...

    def positions(self, fit_frame: str = "run_2016") -> FloatArray:
        """Positions of the PMTs in the fit frame: float32[1952, 2], mm."""
        ...

    def simulate(self, config: Mapping[str, Any], seed: int, n_events: int) -> Arrays:
        """config: keys of source.simulation without prefix. Returns hit_pmt u16[N], hit_time_fine i16[N], hit_ring
        i8[N] (-1: noise), event_offset u32[E+1], and per true ring ring_event u32, ring_x_mm, ring_y_mm, ring_radius_mm
        f32, ring_n_hits u16, ring_in_time bool, ring_particle u8 (0 electron, 1 muon, 2 pion, 3 kaon, 4 none),
        ring_momentum_gev f32."""
        ...


def engine() -> Engine:
    """Imports the engine. Raises EngineMissingError, and ModuleNotFoundError if it was built without the RICH."""
    from anello.engine import compiled_part

    return cast(Engine, compiled_part(__package__))
