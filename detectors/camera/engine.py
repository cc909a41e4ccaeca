# SPDX-License-Identifier: Apache-2.0
"""The compiled engine's part of this detector (bindings/), with its types."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from anello.run.chain import ChainNode
from anello.run.source_process import ChainSource

FloatArray = NDArray[np.float32]


class Node(ChainNode, Protocol):
    """events(): some since the last call: event_number, charge f32[n_pixels] (at most 2048), charge_sum (of the pixels
    above threshold), kept (bool)."""

    def events(self) -> list[dict[str, Any]]: ...
    def set_r1_writer(self, writer: int, counters: Mapping[str, int]) -> None:
        """In the block r1_writer<i>. Raises IndexError where there is no such writer or counter."""


class Source(ChainSource, Protocol):
    """truth(): event_key u64[S] (run_id << 32 | event_number), pool_index u32[S] of events sent; per event of the pool
    f32 n_pe, x_mm, y_mm, length_mm (0: no shower), width_mm, axis_x, axis_y, time_ns, time_gradient_ns_per_mm,
    trigger_tag (bits of docs/reference/camera.md)."""

    def prepare(self) -> None:
        """Simulates, so that start() begins at once."""
        ...


class Calibration(Protocol):
    """What a run does with samples by camera_calibrate."""

    steps: int  # bits: 2 baseline, 4 time lapse, 8 spikes, 16 gain selected, 32 flat field
    low_gain: NDArray[np.uint32]  # of the last call's boards: a bit for each pixel whose low gain was taken

    def correct(
        self,
        boards: NDArray[np.uint16],
        waveforms: NDArray[np.uint16],
        first_cells: NDArray[np.uint16],
        clocks: NDArray[np.uint64],
        run_id: int,
    ) -> NDArray[np.uint8]:
        """Of B boards of one event, in place. waveforms: [B, gains, pixels, samples]; first_cells: [B, 8], or [B, 0]
        where there are none; clocks: [B], ticks of 7.5 ns. Where gains are selected, waveforms[:, 0] has what was. Per
        board 0 corrected, 1 it has no cells, 2 wrong ones."""
        ...


class Engine(Protocol):
    """Node takes all keys, dotted, and counter_page; Source those of camera_source without "camera_source.", camera.*
    and run.n_events whole, and seed, counter_page. They raise ConfigError, OSError."""

    def Node(self, config: Mapping[str, Any]) -> Node: ...  # noqa: N802
    def Source(self, config: Mapping[str, Any]) -> Source: ...  # noqa: N802
    def positions(self, n_boards: int, pixels_per_board: int, pixels_file: str) -> FloatArray:
        """[n_boards * pixels_per_board, 2], mm. pixels_file "": of a made-up camera."""
        ...

    def integrate_waveforms(  # noqa: PLR0917
        self,
        waveforms: NDArray[np.uint16],
        n_pedestal: int,
        window_samples: int,
        window_before: int,
        saturation: int,
        gain_ratio: float,
        isa: str = "automatic",
    ) -> tuple[FloatArray, NDArray[np.uint16], NDArray[np.uint8]]:
        """waveforms: [B, gains, P, samples]. Gives charge, peak_sample, flags [B, P]."""
        ...

    def Calibration(  # noqa: N802, PLR0917
        self,
        file: str,
        time_lapse_file: str,
        pixels_file: str,
        n_boards: int,
        pixels_per_board: int,
        n_gains: int,
        n_samples: int,
        time_lapse: bool = True,
        spikes: bool = True,
    ) -> Calibration:
        """Coefficients of camera_calibrate.file. Raises ConfigError."""
        ...

    def event_types(self) -> NDArray[np.uint8]:
        """[256], by trigger tag: what ctapipe's EventType calls such an event."""
        ...

    def decode_record(self, record: bytes) -> dict[str, Any]:
        """Fields of events.CameraEvent, headers u8. Raises ValueError."""
        ...

    def decode_chunk(self, chunk: bytes, done: int, n_bytes: int) -> NDArray[np.uint8]:
        """[n_bytes] of an event in a table. done: filters that the chunk has passed, bit 0 shuffle, 1 bitshuffle,
        2 zstd. Raises ValueError."""
        ...


def engine() -> Engine:
    """Raises EngineMissingError, and ModuleNotFoundError where the engine was built without it."""
    from anello.engine import compiled_part

    return cast(Engine, compiled_part(__package__))
