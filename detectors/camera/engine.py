# SPDX-License-Identifier: Apache-2.0
"""The compiled engine's part of this detector (bindings/), with its types."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from anello.chains import ChainNode, ChainSource

FloatArray = NDArray[np.float32]


class Node(ChainNode, Protocol):
    """events(): some since the last call: event_number, charge f32[n_pixels] (at most 2048), charge_sum (of the pixels
    above threshold), kept (bool)."""

    def events(self) -> list[dict[str, Any]]: ...


class Source(ChainSource, Protocol):
    """truth(): event_key u64[S] (run_id << 32 | event_number), pool_index u32[S] of events sent; per event of the pool
    f32 n_pe, x_mm, y_mm, length_mm (0: no shower), width_mm, axis_x, axis_y, time_ns, time_gradient_ns_per_mm."""

    def prepare(self) -> None:
        """Simulates, so that start() begins at once."""
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
        self, waveforms: NDArray[np.uint16], n_pedestal: int, window_samples: int, window_before: int,
        saturation: int, gain_ratio: float, isa: str = "automatic",
    ) -> tuple[FloatArray, NDArray[np.uint16], NDArray[np.uint8]]:  # fmt: skip
        """waveforms: [B, gains, P, samples]. Gives charge, peak_sample, flags [B, P]."""
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
