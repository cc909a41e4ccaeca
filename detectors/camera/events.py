# SPDX-License-Identifier: Apache-2.0
"""Camera events: records from a file or from the network, and charge and time of their pixels."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anello import columns
from anello.errors import engine_errors

from . import table
from .engine import engine
from .event import BOARD_HEADER, CameraEvent, TriggerTag

__all__ = ["CameraEvent", "Pulses", "Receiver", "TriggerTag", "decode", "integrate", "read", "receive"]

MAX_RECORD_BYTES = 16 << 20  # 1024 boards of the largest fragment are 9 MB


def decode(record: bytes) -> CameraEvent:
    """Decodes one record (docs/reference/camera-record.md). Raises ValueError that names the error."""
    fields = engine().decode_record(record)
    return CameraEvent(**{**fields, "headers": fields["headers"].view(BOARD_HEADER)})


def read(path: Path | str) -> Iterator[CameraEvent]:
    """Yields the events of a file and of the following ones (-0001 ...), in the order in which they were written.

    Reads both formats, table and records. Raises OSError if it is no HDF5 file, KeyError if a column is missing,
    ValueError if its data are damaged.
    """
    for file in columns.files(path):
        if table.is_table(file):
            yield from table.events(file)
            continue
        places, records = columns.cut(file, ("record_offset", "record_bytes")), file["records"]
        for begin, n in zip(*(rows.tolist() for rows in places.values()), strict=True):
            if begin + n <= len(records):  # otherwise its writer was killed between the two
                yield decode(records[begin : begin + n].tobytes())


class Receiver:
    """The receiving end of a node's stream of events: listens, and yields the events of the node that connects.

    port 0 lets the system choose; the attribute `port` has its choice. timeout_s: longest wait for a connection or for
    more bytes. Raises OSError if it cannot listen on the address; iterating may raise TimeoutError.
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
        """Yields the events of one connection, until the node closes it. ValueError: the data are no such stream."""
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(self._timeout_s)
            while (record := read_record(connection)) is not None:
                yield decode(record)


def receive(host: str, port: int, *, timeout_s: float | None = None) -> Iterator[CameraEvent]:
    """Listens on host and port and yields the events of the node that connects, until it closes the connection."""
    with Receiver(host, port, timeout_s=timeout_s) as receiver:
        yield from receiver


def read_record(connection: socket.socket) -> bytes | None:
    """The next record of a stream; None at its end. ValueError: the data are no stream of records."""
    length = _read_bytes(connection, 4)
    if length is None:
        return None
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > MAX_RECORD_BYTES:
        raise ValueError(f"a record of {n_bytes} bytes is announced: more than any event, {MAX_RECORD_BYTES}")
    return _read_bytes(connection, n_bytes)


def _read_bytes(connection: socket.socket, n_bytes: int) -> bytes | None:
    """Reads n bytes; None if the connection ends first: a truncated record is lost."""
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
    """Results per board and pixel. charge: float32[B, P], counts above the pedestal in units of the high gain.
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

    Raises ValueError for a wrong shape, ConfigError for a wrong option, EngineMissingError if the engine is not
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
