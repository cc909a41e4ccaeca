# SPDX-License-Identifier: Apache-2.0
"""Reads real events from text files.

A file of hits has a line per hit, with columns `event,x_mm,y_mm` and, if known, `pmt_seq` (0..1951), `time_ns` (from
any zero) and `in_time` (0 or 1). A file of rings has a line per ring, with columns `event,ring_x_mm,ring_y_mm,
ring_radius_mm` and, if known, `n_hits`, `particle`; a line without ring values means that the event has no ring.
Columns `run` and `burst` distinguish events with the same number. Positions are in the fit frame, in mm. Other columns
are ignored.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.errors import InputError

from .physics import rings_from_columns
from .rings import Rings, n_of_events

N_PMTS = 1952
KEY = ("run", "burst", "event")
RING_COLUMNS = ("ring_x_mm", "ring_y_mm", "ring_radius_mm")


@dataclass(frozen=True)
class HitEvents:
    """Events of a file, in the order in which they first appear.

    event_key: int64[E, K], values of the columns key_columns (a part of KEY, `event` last). event_offset:
    uint32[E + 1]. x_mm, y_mm: float32[N]. pmt: uint16[N] and time_ns: float64[N], or None if the file has none.
    in_time: bool[N], all true if the file has no such column.
    """

    key_columns: tuple[str, ...]
    event_key: NDArray[np.int64]
    event_offset: NDArray[np.uint32]
    x_mm: NDArray[np.float32]
    y_mm: NDArray[np.float32]
    pmt: NDArray[np.uint16] | None
    time_ns: NDArray[np.float64] | None
    in_time: NDArray[np.bool_]

    @property
    def n_events(self) -> int:
        return len(self.event_key)

    @property
    def n_hits(self) -> NDArray[np.int64]:
        """int64[E]: number of hits of each event."""
        return n_of_events(self.event_offset)

    @property
    def event_index(self) -> NDArray[np.int64]:
        """int64[N]: index of the event of each hit."""
        return np.repeat(np.arange(self.n_events), self.n_hits)

    def name(self, event: int) -> str:
        """Name of the event with this index: `7`, or `run 3 burst 1 event 7`."""
        key = [str(one) for one in self.event_key[event]]
        return (
            key[-1]
            if len(key) == 1
            else " ".join(f"{what} {one}" for what, one in zip(self.key_columns, key, strict=True))
        )

    def only(self, keep: NDArray[np.bool_]) -> "HitEvents":
        """The same events with these hits only. keep: bool[N]."""
        kept_before = np.concatenate(([0], np.cumsum(keep)))
        return HitEvents(
            self.key_columns,
            self.event_key,
            kept_before[self.event_offset].astype(np.uint32),
            self.x_mm[keep],
            self.y_mm[keep],
            None if self.pmt is None else self.pmt[keep],
            None if self.time_ns is None else self.time_ns[keep],
            self.in_time[keep],
        )

    def only_in_time(self) -> "HitEvents":
        """The same events without their hits out of time."""
        return self.only(self.in_time)

    def only_distinct(self) -> "HitEvents":
        """The same events with one hit for each photomultiplier (or position, if the file has no PMT numbers): a double
        pulse is not a second point of a circle."""
        places = [self.pmt] if self.pmt is not None else [self.x_mm, self.y_mm]
        rows = np.stack([self.event_index.astype(float), *(place.astype(float) for place in places)], axis=1)
        keep = np.zeros(len(rows), bool)
        keep[np.unique(rows, axis=0, return_index=True)[1]] = True
        return self.only(keep)

    def at_most(self, n_hits: int) -> "HitEvents":
        """The same events with at most n_hits hits each: those nearest in time to most others. Raises InputError when
        an event has more hits and the file has no times."""
        crowded = np.flatnonzero(self.n_hits > n_hits)
        if len(crowded) and self.time_ns is None:
            first, more = self.name(int(crowded[0])), len(crowded) - 1
            raise InputError(
                f"event {first}{f' and {more} more' if more else ''}: {self.n_hits[crowded[0]]} hits, and ring "
                f"finders take {n_hits} at most. Give a column time_ns, by which they are chosen, or leave them out"
            )
        keep = np.ones(len(self.x_mm), bool)
        for event in crowded:
            assert self.time_ns is not None
            begin, end = int(self.event_offset[event]), int(self.event_offset[event + 1])
            distance = np.abs(self.time_ns[begin:end] - np.median(self.time_ns[begin:end]))
            keep[begin + np.argsort(distance, kind="stable")[n_hits:]] = False
        return self.only(keep)


def read_hits(path: Path) -> HitEvents:
    """Reads a file of hits. Raises InputError, a ValueError that names file, line and column; OSError when it cannot
    read the file."""
    table = _Table(path, ("event", "x_mm", "y_mm"))
    columns = tuple(name for name in KEY if table.has(name))
    keys, order, offset = _group(table.keys(columns))
    time_ns = table.column("time_ns", _time, np.float64)[order] if table.has("time_ns") else None
    pmt = table.column("pmt_seq", _pmt, np.uint16)[order] if table.has("pmt_seq") else None
    in_time = table.column("in_time", _flag, np.bool_) if table.has("in_time") else np.ones(len(order), bool)
    x_mm, y_mm = (table.column(name, _finite, np.float32)[order] for name in ("x_mm", "y_mm"))
    return HitEvents(columns, keys, offset, x_mm, y_mm, pmt, time_ns, in_time[order])


def read_rings(path: Path, events: HitEvents) -> Rings:
    """The rings of these events, in this order; rings of other events are left out. Errors as in read_hits."""
    table = _Table(path, (*events.key_columns, *RING_COLUMNS)).without_empty(RING_COLUMNS)
    index_of = {tuple(key): index for index, key in enumerate(events.event_key.tolist())}
    index = np.array([index_of.get(tuple(key), -1) for key in table.keys(events.key_columns).tolist()], dtype=np.int64)
    known = index >= 0
    columns = [table.column(name, _finite, np.float32) for name in RING_COLUMNS]
    columns.append(table.column("n_hits", _count, np.int64) if table.has("n_hits") else np.zeros(len(index), np.int64))
    return rings_from_columns(index[known], [column[known] for column in columns], events.n_events)


def rings_beside(hits: Path) -> Path | None:
    """Returns the path `X_rings.csv` next to `X_hits.csv`, if this file exists."""
    rings = hits.with_name(hits.name.replace("_hits.csv", "_rings.csv"))
    return rings if rings != hits and rings.exists() else None


class _Table:
    """The columns of a CSV file; a column is converted when it is used."""

    def __init__(self, path: Path, required: tuple[str, ...]) -> None:
        self._path = path
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets write a byte-order mark
            reader = csv.DictReader(file)
            self._names = list(reader.fieldnames or ())
            missing = [name for name in required if name not in self._names]
            if missing:
                found = ", ".join(self._names) or "none"
                raise InputError(f"{path}:1: there is no column {', '.join(missing)}; the columns are: {found}")
            self._rows = list(enumerate(reader, start=2))
        if not self._rows:
            raise InputError(f"{path}: there are no lines after the header")

    def keys(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """int64[N, K]: the values of these K columns for each line."""
        return np.stack([self.column(name, _whole, np.int64) for name in names], axis=1)

    def has(self, name: str) -> bool:
        return name in self._names

    def without_empty(self, names: tuple[str, ...]) -> "_Table":
        """This table without the lines that are empty in these columns."""
        self._rows = [(line, row) for line, row in self._rows if any(row[name] for name in names)]
        return self

    def column(self, name: str, convert: Callable[[str], Any], dtype: type) -> NDArray[Any]:
        values = []
        for line, row in self._rows:
            try:
                values.append(convert(row[name]))
            except (ValueError, TypeError) as error:
                raise InputError(f"{self._path}:{line}: column {name}: {row[name]!r} {_reason(error)}") from None
        return np.array(values, dtype=dtype)


class _WrongValueError(ValueError):
    """A value that can be read but is wrong; the error's text continues the sentence after the value."""


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, _WrongValueError) else "is not a number"


def _integer(text: str) -> int:
    """Also accepts 7.0: programs write whole numbers like this in a column with missing values."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not number.is_integer():
        raise _WrongValueError("is not a whole number")
    return int(number)


def _whole(text: str) -> int:
    number = _integer(text)
    if not -(1 << 63) <= number < 1 << 63:
        raise _WrongValueError("is beyond 64 bits")
    return number


def _count(text: str) -> int:
    number = _integer(text)
    if not 0 <= number < 1 << 16:
        raise _WrongValueError("is no number of hits: they are 0 to 65535")
    return number


def _pmt(text: str) -> int:
    number = _integer(text)
    if not 0 <= number < N_PMTS:
        raise _WrongValueError(f"is no PMT: they are 0 to {N_PMTS - 1}")
    return number


def _flag(text: str) -> bool:
    if text not in ("0", "1", "0.0", "1.0"):
        raise _WrongValueError("must be 0 or 1")
    return text[0] == "1"


def _time(text: str) -> float:
    if not np.isfinite(float(text)):
        raise _WrongValueError("is not finite")
    return float(text)


def _finite(text: str) -> float:
    if not abs(float(text)) <= float(np.finfo(np.float32).max):
        raise _WrongValueError("is not finite, or beyond 32 bits")
    return float(text)


def _group(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
    """keys: int64[N, K], one row per hit. Returns the keys of the events in order of first appearance, the order of
    lines that puts the hits of an event together, and the events' offsets."""
    unique, first, index, counts = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    by_appearance = np.argsort(first)
    rank = np.empty_like(by_appearance)
    rank[by_appearance] = np.arange(len(by_appearance))
    offset = np.concatenate(([0], np.cumsum(counts[by_appearance]))).astype(np.uint32)
    return unique[by_appearance], np.argsort(rank[index.reshape(-1)], kind="stable"), offset


def read(reader: Any, path: Path, *arguments: Any) -> Any:
    """Calls reader(path, *arguments); its errors then name the file. Raises InputError."""
    try:
        return reader(path, *arguments)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not text") from error
