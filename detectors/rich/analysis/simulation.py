# SPDX-License-Identifier: Apache-2.0
"""Simulates events of the RICH, the same that its simulated front ends send."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.configuration.load import load
from anello.errors import engine_errors

from ..engine import engine
from .physics import rings_from_columns
from .rings import Rings

TICK_NS = 24.950971341
FINE_TIME_NS = TICK_NS / 256


@dataclass(frozen=True)
class SimulatedEvents:
    """E events with N hits and R true rings, in time and out of time.

    hit_pmt: uint16[N], PMT 0..1951. hit_x_mm, hit_y_mm: float32[N], fit frame. hit_time_ns: float32[N], relative to
    the event's time. hit_ring: int8[N], index in its event of the ring that made the hit, -1 for noise.
    event_offset: uint32[E + 1]. rings: true rings with their detected hits. ring_in_time: bool[R].
    ring_particle: uint8[R], 0 electron, 1 muon, 2 pion, 3 kaon, 4 none. ring_momentum_gev: float32[R].
    """

    hit_pmt: NDArray[np.uint16]
    hit_x_mm: NDArray[np.float32]
    hit_y_mm: NDArray[np.float32]
    hit_time_ns: NDArray[np.float32]
    hit_ring: NDArray[np.int8]
    event_offset: NDArray[np.uint32]
    rings: Rings
    ring_in_time: NDArray[np.bool_]
    ring_particle: NDArray[np.uint8]
    ring_momentum_gev: NDArray[np.float32]

    @property
    def n_events(self) -> int:
        return len(self.event_offset) - 1

    def within(self, window_ns: float) -> NDArray[np.bool_]:
        """bool[N]: hits within +- window_ns of their event's time, like trigger.in_time_window_ns; 0: all hits."""
        return np.abs(self.hit_time_ns) <= window_ns if window_ns else np.ones(len(self.hit_pmt), bool)

    def chosen_hits(
        self, chosen: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint32]]:
        """x and y in mm and offsets of the chosen hits (bool[N]), in the form that find_rings() takes."""
        n_before = np.concatenate(([0], np.cumsum(chosen)))
        return self.hit_x_mm[chosen], self.hit_y_mm[chosen], n_before[self.event_offset].astype(np.uint32)


def simulate(n_events: int, *, seed: int = 1, **parameters: Any) -> SimulatedEvents:
    """Simulates events of the NA62 RICH. The same seed gives the same events.

    parameters: keys of [source.simulation], e.g. noise_hits=0, ring_shares=[0, 1]. Raises ConfigError for a wrong one.
    """
    if n_events < 0:
        raise ValueError(f"n_events must not be negative, as {n_events} is")
    config = _checked(parameters)

    with engine_errors():
        arrays = engine().simulate(config, seed, n_events)
        positions = engine().positions(config["fit_frame"])
    return from_arrays(arrays, positions)


def _checked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    prefix = "source.simulation."
    config = load(None, values={"chain": "rich", "source": {"simulation": dict(parameters)}}).flat()
    return {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}


def from_arrays(arrays: Mapping[str, NDArray[Any]], positions: NDArray[np.float32]) -> SimulatedEvents:
    """Converts the engine's arrays. positions: float32[1952, 2] of the PMTs in the fit frame, in mm."""
    hit_pmt = arrays["hit_pmt"]
    return SimulatedEvents(
        hit_pmt=hit_pmt,
        hit_x_mm=positions[hit_pmt, 0],
        hit_y_mm=positions[hit_pmt, 1],
        hit_time_ns=(arrays["hit_time_fine"] * FINE_TIME_NS).astype(np.float32),
        hit_ring=arrays["hit_ring"],
        event_offset=arrays["event_offset"],
        rings=true_rings(arrays),
        ring_in_time=arrays["ring_in_time"].astype(bool),
        ring_particle=arrays["ring_particle"],
        ring_momentum_gev=arrays["ring_momentum_gev"],
    )


def true_rings(arrays: Mapping[str, NDArray[Any]]) -> Rings:
    """Converts the engine's truth arrays; their order stays the same, because ring_event never decreases."""
    columns = [arrays[name] for name in ("ring_x_mm", "ring_y_mm", "ring_radius_mm", "ring_n_hits")]
    return rings_from_columns(arrays["ring_event"], columns, len(arrays["event_offset"]) - 1)
