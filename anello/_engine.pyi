# SPDX-License-Identifier: Apache-2.0
"""The compiled engine. Configurations are dicts with dotted keys, as anello.config.Config.flat makes them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

type Arrays = dict[str, NDArray[Any]]
type Counters = dict[str, dict[str, int]]
type FloatArray = NDArray[np.float32]
type OffsetArray = NDArray[np.uint32]

class ConfigError(ValueError):
    field: str
    rule: str
    given: str
    remedy: str

def version() -> str: ...
def find_rings(
    hit_x_mm: FloatArray,  # [N]
    hit_y_mm: FloatArray,  # [N]
    event_offset: OffsetArray,  # [E+1]
    algorithm: str,
    backend: str,
    isa: str,
    threads: int,
    params: dict[str, float],  # trigger keys without "trigger.", e.g. "acceptance.radius_min_mm"
) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.uint16], OffsetArray]: ...  # x, y, radius, n_hits, event_offset
def time_clusters(
    hit_time_ns: FloatArray,  # [N]
    event_offset: OffsetArray,  # [E+1]
    half_window_ns: float,
    n_passes: int,
) -> tuple[OffsetArray, FloatArray, OffsetArray, OffsetArray]: ...  # hit_cluster, time_ns, n_hits, event_offset
def algorithms() -> list[str]: ...
def isas() -> list[str]: ...
def receive_backends(interface: str = "lo") -> list[dict[str, object]]:
    """Each way to receive, tried for a moment: name, available (bool), reason (why not), mode (how it would work)."""

def cuda_unavailable_reason() -> str: ...  # empty: a device can be used
def rich_positions(fit_frame: str = "run_2016") -> FloatArray: ...  # [1952, 2]
def simulate_rich(
    config: dict[str, Any],  # source.simulation keys without prefix, e.g. "noise_hits"
    seed: int,
    n_events: int,
) -> Arrays:
    """hit_pmt u16[N], hit_time_fine i16[N], hit_ring i8[N] (-1: noise), event_offset u32[E+1], and per true ring
    ring_event u32, ring_x_mm, ring_y_mm, ring_radius_mm f32, ring_n_hits u16, ring_in_time bool, ring_particle u8
    (0 pion, 1 muon, 2 electron), ring_momentum_gev f32."""

def integrate_waveforms(
    waveforms: NDArray[np.uint16],  # [B, gains, P, samples]
    n_pedestal: int,
    window_samples: int,
    window_before: int,
    saturation: int,
    gain_ratio: float,
    isa: str = "automatic",
) -> tuple[FloatArray, NDArray[np.uint16], NDArray[np.uint8]]: ...  # charge, peak_sample, flags [B, P]
def decode_camera_record(record: bytes) -> dict[str, Any]: ...  # fields of anello.camera.events.CameraEvent, headers u8
def read_counters(page_name: str) -> Counters: ...

class Source:
    def __init__(self, config: dict[str, Any]) -> None: ...  # source keys without "source.", and seed, counter_page
    def set_events(
        self, hit_pmt: NDArray[np.uint16], hit_time_fine: NDArray[np.int16], event_offset: OffsetArray
    ) -> None: ...
    def prepare(self) -> None: ...  # simulates, so that start() begins at once
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def running(self) -> bool: ...
    def counters(self) -> Counters: ...
    def truth(self) -> Arrays:
        """event_key u64[S], pool_index u32[S] of events sent, and the pool's truth as simulate_rich gives it."""

class CameraSource:
    # camera_source keys without "camera_source.", camera.* and run.n_events whole, and seed, counter_page
    def __init__(self, config: dict[str, Any]) -> None: ...
    def prepare(self) -> None: ...  # simulates, so that start() begins at once
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def running(self) -> bool: ...
    def counters(self) -> Counters: ...
    def truth(self) -> Arrays:
        """event_key u64[S] (run_id << 32 | event_number), pool_index u32[S] of events sent; per event of the pool f32
        n_pe, x_mm, y_mm, length_mm (0: no shower), width_mm, axis_x, axis_y, time_ns, time_gradient_ns_per_mm."""

class Node:
    def __init__(self, config: dict[str, Any]) -> None: ...  # all keys, dotted, and counter_page
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def finished(self) -> bool: ...
    def ports(self) -> list[int]: ...
    def counters(self) -> Counters: ...
    def counter_meanings(self) -> dict[str, dict[str, str]]: ...
    def latency(self) -> dict[str, dict[str, Any]]:
        """stage -> count, mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns, above_1ms, bins_ns f64[B+1] (edges)
        or f64[B] (lower edges), bin_counts u64[B]."""

    def execution(self) -> Arrays: ...  # per sampled batch: n_events u32, build_ns f64, trigger_ns f64
    def notices(self) -> list[str]: ...
    def states(self) -> dict[str, str]: ...
    def events(self, n: int) -> Arrays:
        """At most n recent events: event_key u64[E], hit_pmt u16[N], hit_time_fine i16[N], event_offset u32[E+1], and found
        rings ring_offset u32[E+1], ring_x_mm, ring_y_mm, ring_radius_mm f32[R], ring_n_hits u16[R]."""

def camera_positions(n_boards: int, pixels_per_board: int) -> FloatArray: ...  # [n_boards * pixels_per_board, 2], mm

class CameraNode:
    def __init__(self, config: dict[str, Any]) -> None: ...  # all keys, dotted, and counter_page
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def finished(self) -> bool: ...
    def ports(self) -> list[int]: ...
    def counters(self) -> Counters: ...
    def latency(self) -> dict[str, dict[str, Any]]: ...  # as Node.latency; first_to_built, built_to_sent, first_to_sent
    def notices(self) -> list[str]: ...
    def states(self) -> dict[str, str]: ...
    def counter_meanings(self) -> dict[str, dict[str, str]]: ...
    def events(self) -> list[dict[str, Any]]:
        """Some since the last call: event_number, charge f32[n_pixels] (at most 2048), charge_sum (of the pixels above
        threshold), kept (bool)."""
