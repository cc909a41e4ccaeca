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
    """events(): a sample of those since the last call: event_number, charge f32[n_pixels] (at most 2048), charge_sum
    (of the pixels above threshold), kept (bool)."""

    def events(self) -> list[dict[str, Any]]: ...
    def set_r1_writer(self, writer: int, counters: Mapping[str, int]) -> None:
        """Sets counters in the block r1_writer<i>. Raises IndexError if there is no such writer or counter."""


class Source(ChainSource, Protocol):
    """truth(): event_key u64[S] (run_id << 32 | event_number), pool_index u32[S] of events sent; per event of the pool
    f32 n_pe, x_mm, y_mm, length_mm (0: no shower), width_mm, axis_x, axis_y, time_ns, time_gradient_ns_per_mm,
    trigger_tag (bits of docs/reference/camera.md)."""

    def prepare(self) -> None:
        """Simulates the pool of events, so that start() sends at once."""
        ...


class Calibration(Protocol):
    """Corrects samples as a run does with camera_calibrate."""

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
        """Corrects B boards of one event, in place. waveforms: [B, gains, pixels, samples]; first_cells: [B, 8], or
        [B, 0] without any; clocks: [B], ticks of 7.5 ns. With gain selection, waveforms[:, 0] has the selected samples.
        Returns for each board 0: corrected, 1: it has no first cells, 2: it has wrong ones."""
        ...


class Engine(Protocol):
    """Node takes all keys, with dots, and counter_page. Source takes the keys of camera_source without this prefix,
    camera.* and run.n_events with their prefixes, and seed, counter_page. They raise ConfigError, OSError."""

    def Node(self, config: Mapping[str, Any]) -> Node: ...  # noqa: N802
    def Source(self, config: Mapping[str, Any]) -> Source: ...  # noqa: N802
    def positions(self, n_boards: int, pixels_per_board: int, pixels_file: str) -> FloatArray:
        """Positions of pixels, [n_boards * pixels_per_board, 2], mm. pixels_file "": a made-up camera."""
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
        """waveforms: [B, gains, P, samples]. Returns charge, peak_sample and flags, each [B, P]."""
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
        """Reads the coefficients of camera_calibrate.file. Raises ConfigError."""
        ...

    def event_types(self) -> NDArray[np.uint8]:
        """ctapipe's EventType for each trigger tag, [256]."""
        ...

    def decode_record(self, record: bytes) -> dict[str, Any]:
        """Returns the fields of events.CameraEvent, with headers as u8. Raises ValueError."""
        ...

    def decode_chunk(self, chunk: bytes, done: int, n_bytes: int) -> NDArray[np.uint8]:
        """Decodes a chunk of a table into [n_bytes]. done: filters applied to the chunk, bit 0 shuffle, 1 bitshuffle,
        2 zstd. Raises ValueError."""
        ...


def engine() -> Engine:
    """The compiled part. Raises EngineMissingError, or ModuleNotFoundError if it was built without the camera."""
    from anello.engine import compiled_part

    return cast(Engine, compiled_part(__package__))
