# SPDX-License-Identifier: Apache-2.0
"""Camera events: records from a file or from the network, and charge and time of their pixels."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anello import columns
from anello.errors import engine_errors

from .engine import engine

MAX_RECORD_BYTES = 16 << 20  # 1024 boards of the largest fragment are 9 MB
DRAGON_DRS4 = 4  # counters_kind of boards with first cells behind the waveforms
N_CHIPS, N_CELLS, NO_CELL = 8, 4096, 0xFFFF  # of a board; of a pixel's ring; of boards that send none
BOARD_HEADER = np.dtype(
    {
        "names": [
            "flags",
            "board",
            "event_number",
            "sequence",
            "timestamp_ns",
            "n_samples",
            "n_pixels",
            "n_gains",
            "counters_kind",
            "trigger_tag",
            "payload_bytes",
            "counters",
        ],
        "formats": ["u1", "<u2", "<u4", "<u4", "<u8", "<u2", "u1", "u1", "u1", "u1", "<u2", "24u1"],
        "offsets": [5, 6, 12, 16, 24, 32, 34, 35, 36, 37, 38, 40],
        "itemsize": 64,
    }
)


class TriggerTag(IntFlag):
    """What made the camera trigger (docs/reference/camera.md); 0: not known."""

    MONO = 1
    STEREO = 2
    CALIBRATION = 4
    SINGLE_PE = 8
    SOFTWARE = 16
    PEDESTAL = 32
    SLOW_CONTROL = 64


@dataclass(frozen=True)
class CameraEvent:
    """One event with the B boards that it has, of n_boards.

    boards: uint16[B]. headers: structured[B], what docs/reference/camera.md says of each board. payloads: uint8, the
    boards' payloads one after the other. timestamp_ns: the trigger's; first_ns, closed_ns: wall clock, first fragment
    placed and event handed on.
    """

    run_id: int
    event_number: int
    timestamp_ns: int
    first_ns: int
    closed_ns: int
    n_boards: int
    boards: NDArray[np.uint16]
    headers: NDArray[Any]
    payloads: NDArray[np.uint8]

    @cached_property
    def trigger_tag(self) -> int:
        """Bits of TriggerTag: what most boards say; among tags of as many boards, the lowest."""
        return int(np.bincount(self.headers["trigger_tag"], minlength=1).argmax())

    @cached_property
    def waveforms(self) -> NDArray[np.uint16]:
        """uint16[B, gains, pixels, samples]. Raises ValueError when boards differ in shape or sent none."""
        shapes = {tuple(int(n) for n in row) for row in self.headers[["n_gains", "n_pixels", "n_samples"]].tolist()}
        if len(shapes) != 1 or 0 in next(iter(shapes)):
            raise ValueError(f"event {self.event_number} has no waveforms of one shape: {sorted(shapes)}")
        shape = shapes.pop()
        if not self._has_cells.any():
            return self.payloads.view("<u2").reshape(len(self.boards), *shape)
        n_samples = int(np.prod(shape))
        if (self.headers["payload_bytes"] != 2 * n_samples + np.where(self._has_cells, 2 * N_CHIPS, 0)).any():
            raise ValueError(f"event {self.event_number} has payloads of another length than their shape")
        begins = np.cumsum(self.headers["payload_bytes"], dtype=np.int64) - self.headers["payload_bytes"]
        return np.stack(
            [self.payloads[begin : begin + 2 * n_samples].view("<u2").reshape(shape) for begin in begins.tolist()]
        )

    @cached_property
    def first_cells(self) -> NDArray[np.uint16] | None:
        """uint16[B, 8]: the cell of the first sample in each board's DRS4 chips (docs/reference/camera.md), NO_CELL of
        boards that send none; None where no board does."""
        if not self._has_cells.any():
            return None
        if (self.headers["payload_bytes"][self._has_cells] < 2 * N_CHIPS).any():
            raise ValueError(f"event {self.event_number} has payloads that are too short for first cells")
        cells = np.full((len(self.boards), N_CHIPS), NO_CELL, np.uint16)
        ends = np.cumsum(self.headers["payload_bytes"], dtype=np.int64)
        for place in np.flatnonzero(self._has_cells).tolist():
            cells[place] = self.payloads[ends[place] - 2 * N_CHIPS : ends[place]].view("<u2")
        return cells

    @property
    def calibration_steps(self) -> NDArray[np.uint8]:
        """uint8[B]: what was done with each board's samples, 0 where they are raw (camera_calibrate): 2 baseline taken
        off and 400 added, 4 time lapse, 8 spikes."""
        return (self.headers["flags"] >> 2 & 14).astype(np.uint8)

    @property
    def _has_cells(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.headers["counters_kind"] == DRAGON_DRS4
        return found


def decode(record: bytes) -> CameraEvent:
    """The event of one record (docs/reference/camera-record.md). Raises ValueError that says what is wrong with it."""
    fields = engine().decode_record(record)
    return CameraEvent(**{**fields, "headers": fields["headers"].view(BOARD_HEADER)})


def read(path: Path | str) -> Iterator[CameraEvent]:
    """The events of a file and of those that follow it (-0001 ...), in the order in which they were written.

    Raises OSError when it is no HDF5 file, KeyError when a column is missing, ValueError when a record is damaged.
    """
    for file in columns.files(path):
        places, records = columns.cut(file, ("record_offset", "record_bytes")), file["records"]
        for begin, n in zip(*(rows.tolist() for rows in places.values()), strict=True):
            if begin + n <= len(records):  # else its writer was killed in between
                yield decode(records[begin : begin + n].tobytes())


class Receiver:
    """The far end of a node's stream of events: listens, and yields the events of the node that connects.

    port 0 lets the system choose; `port` tells. timeout_s: longest wait for a connection or for more bytes.
    Raises OSError when the address cannot be listened on; iterating, TimeoutError.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, timeout_s: float | None = None) -> None:
        self._listener = socket.create_server((host, port))
        self._listener.settimeout(timeout_s)
        self._timeout_s = timeout_s
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._listener.close()

    def __iter__(self) -> Iterator[CameraEvent]:
        """Of one connection, until the node closes it. ValueError: what came is no stream of records."""
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(self._timeout_s)
            while (record := _read_record(connection)) is not None:
                yield decode(record)


def receive(host: str, port: int, *, timeout_s: float | None = None) -> Iterator[CameraEvent]:
    """Listens on host and port and yields the events of the node that connects, until it closes the connection."""
    with Receiver(host, port, timeout_s=timeout_s) as receiver:
        yield from receiver


def _read_record(connection: socket.socket) -> bytes | None:
    length = _read_bytes(connection, 4)
    if length is None:
        return None
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > MAX_RECORD_BYTES:
        raise ValueError(f"a record of {n_bytes} bytes is announced: more than any event, {MAX_RECORD_BYTES}")
    return _read_bytes(connection, n_bytes)


def _read_bytes(connection: socket.socket, n_bytes: int) -> bytes | None:
    """None when the connection ends first: a truncated record is lost."""
    content = bytearray(n_bytes)
    free = memoryview(content)
    while free:
        n_read = connection.recv_into(free)
        if n_read == 0:
            return None
        free = free[n_read:]
    return bytes(content)


@dataclass(frozen=True)
class Pulses:
    """Per board and pixel. charge: float32[B, P], counts above the pedestal in units of the high gain.
    peak_sample: uint16[B, P]. low_gain: bool[B, P], the high gain was saturated."""

    charge: NDArray[np.float32]
    peak_sample: NDArray[np.uint16]
    low_gain: NDArray[np.bool_]


def integrate(
    waveforms: NDArray[np.uint16],
    *,
    n_pedestal: int = 16,
    window_samples: int = 8,
    window_before: int = 3,
    saturation: int = 4000,
    gain_ratio: float = 13.0,
    isa: str = "automatic",
) -> Pulses:
    """Charge and time of each pixel, as the camera filter finds them while data is taken.

    waveforms: uint16[B, gains, P, samples], the high gain first. The peak is the middle of the three neighbouring
    samples with the greatest sum; the charge is the sum of window_samples samples, window_before of them before the
    peak, less the mean of the first n_pedestal samples. A pixel whose high gain reaches `saturation` is found in the
    low gain and multiplied by gain_ratio.

    Raises ValueError for a wrong shape, ConfigError for a wrong option, EngineMissingError where the engine is not
    built.
    """
    samples = np.ascontiguousarray(waveforms)
    if samples.ndim != 4 or samples.dtype != np.uint16:
        raise ValueError(
            f"waveforms is {samples.dtype}{samples.shape}: it must be uint16 (boards, gains, pixels, samples)"
        )
    with engine_errors():
        charge, peak_sample, flags = engine().integrate_waveforms(
            samples, n_pedestal, window_samples, window_before, saturation, gain_ratio, isa
        )
    return Pulses(charge, peak_sample, (flags & 4) != 0)
