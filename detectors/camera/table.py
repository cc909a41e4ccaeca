# SPDX-License-Identifier: Apache-2.0
"""Events in the columns of a file of the format table (docs/reference/camera-table.md)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello import columns

from .engine import engine
from .event import BOARD_HEADER, GAIN_SELECTED, CameraEvent

PER_EVENT = ("run_id", "event_number", "timestamp_ns", "first_ns", "closed_ns", "present")
MAX_BOARDS = 1024
MAX_ROW_BYTES = MAX_BOARDS * 8908  # bytes of the largest payload
SHUFFLE, BITSHUFFLE, ZSTD = 2, 32008, 32015
DONE_BY = {SHUFFLE: 1, BITSHUFFLE: 2, ZSTD: 4}  # numbers as in the engine
OURS = ([ZSTD], [SHUFFLE, BITSHUFFLE, ZSTD])


class _Rows:
    """A column that has an array per event. It decodes chunks itself, so that HDF5 needs no plug-in; chunks that
    another program has compressed otherwise are read with HDF5."""

    def __init__(self, column: Any) -> None:
        self._column, self.shape = column, tuple(int(n) for n in column.shape[1:])
        layout = column.id.get_create_plist()
        filters = [layout.get_filter(i) for i in range(layout.get_nfilters())]
        self._filters = [int(number) for number, *_ in filters]
        one_block = (2, math.prod(self.shape) // 8 * 8)  # bytes of a sample, samples
        self._is_ours = (
            self._filters in OURS
            and column.chunks == (1, *self.shape)
            and all(tuple(values[2:]) == one_block for number, _, values, _ in filters if number == BITSHUFFLE)
        )
        self._n_bytes = math.prod(self.shape) * column.dtype.itemsize
        if self._n_bytes > MAX_ROW_BYTES:
            raise ValueError(
                f"{column.name} has {self._n_bytes} bytes of an event: more than any camera, {MAX_ROW_BYTES}"
            )

    def __getitem__(self, event: int) -> NDArray[Any]:
        if not self._is_ours:
            return np.asarray(self._column[event])
        try:
            skipped, chunk = self._column.id.read_direct_chunk((event, *(0 for _ in self.shape)))
        except RuntimeError as error:  # h5py's, where there is no such chunk
            raise ValueError(f"{self._column.name} has no row {event}: {error}") from error
        done = sum(DONE_BY[number] for bit, number in enumerate(self._filters) if not skipped >> bit & 1)
        content = engine().decode_chunk(bytes(chunk), done, self._n_bytes)
        return np.asarray(content.view(self._column.dtype).reshape(self.shape))


@dataclass(frozen=True)
class _Boards:
    """The boards' data: headers [event, board, 64], waveform [event, board, gain, pixel, sample], tail
    [event, board, byte]; a file may lack one of the last two."""

    headers: _Rows
    waveform: _Rows | None
    tail: _Rows | None

    def payloads(self, event: int, boards: NDArray[np.uint16], headers: NDArray[Any]) -> NDArray[np.uint8]:
        """For each board its waveforms, then as many bytes of the tail as its header says."""
        parts = [
            rows[event][boards].reshape(len(boards), -1).view(np.uint8)
            for rows in (self.waveform, self.tail)
            if rows is not None
        ]
        all_bytes = np.concatenate(parts, axis=1) if parts else np.zeros((len(boards), 0), np.uint8)
        n_bytes = headers["payload_bytes"].astype(np.int64)
        room = 0 if self.waveform is None else parts[0].shape[1]
        unused = room - self._waveform_bytes(headers, room)
        if ((n_bytes < room - unused) | (n_bytes + unused > all_bytes.shape[1])).any():
            raise ValueError(f"row {event}: a header announces other payloads than the table has room for")
        if (n_bytes == all_bytes.shape[1]).all():
            return all_bytes.ravel()
        places = np.arange(all_bytes.shape[1])
        is_used = (places < room - unused[:, np.newaxis]) | (places >= room)
        return all_bytes[is_used & (places < (n_bytes + unused)[:, np.newaxis])]

    def _waveform_bytes(self, headers: NDArray[Any], room: int) -> NDArray[np.int64]:
        """int64[B]: bytes of waveforms: the whole row, except for boards that sent only one of several gains."""
        is_one = (headers["flags"] >> 2 & GAIN_SELECTED) != 0
        if self.waveform is None or not is_one.any():
            return np.full(len(headers), room, np.int64)
        return np.where(is_one, room // max(self.waveform.shape[1], 1), room)


def is_table(file: Any) -> bool:
    return "headers" in file


def events(file: Any) -> Iterator[CameraEvent]:
    """Yields the events of an open h5py.File that all columns have, with the boards that sent the camera's shape.

    Raises KeyError if a column is missing, ValueError if its rows are damaged or have another shape.
    """
    boards = _boards_in(file)
    names = [name for name in ("headers", "waveform", "tail") if name in file]
    per_event = columns.cut(file, PER_EVENT)
    n_events = min(len(per_event["present"]), *(len(file[name]) for name in names))
    for event in range(n_events):
        here = np.flatnonzero(per_event["present"][event]).astype(np.uint16)
        headers = boards.headers[event][here].copy().view(BOARD_HEADER).ravel()
        yield CameraEvent(
            **{name: int(per_event[name][event]) for name in PER_EVENT[:-1]},
            n_boards=boards.headers.shape[0],
            boards=here,
            headers=headers,
            payloads=boards.payloads(event, here, headers),
        )


def _boards_in(file: Any) -> _Boards:
    n_boards = file["present"].shape[1] if file["present"].ndim == 2 else 0
    if not 1 <= n_boards <= MAX_BOARDS:
        raise ValueError(
            f"present is {file['present'].shape}: it must be (events, boards), of 1 to {MAX_BOARDS} boards"
        )
    shapes = {"headers": ("uint8", 3), "waveform": ("uint16", 5), "tail": ("uint8", 3)}
    for name, (dtype, rank) in shapes.items():
        column = file.get(name)
        if column is None:
            continue
        if column.dtype != dtype or column.ndim != rank or column.shape[1] != n_boards:
            raise ValueError(f"{name} is {column.dtype}{column.shape}: it must be {dtype}, of {n_boards} boards")
    if file["headers"].shape[2] != BOARD_HEADER.itemsize:
        raise ValueError(f"headers have {file['headers'].shape[2]} bytes: it must be {BOARD_HEADER.itemsize}")
    return _Boards(
        _Rows(file["headers"]),
        _Rows(file["waveform"]) if "waveform" in file else None,
        _Rows(file["tail"]) if "tail" in file else None,
    )
