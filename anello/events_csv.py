# SPDX-License-Identifier: Apache-2.0
"""Real events from text files.

Hits: a line per hit, columns `event,x_mm,y_mm` and, where known, `pmt_seq` (0..1951) and `in_time` (0 or 1).
Rings: a line per ring, columns `event,ring_x_mm,ring_y_mm,ring_radius_mm` and, where known, `n_hits`, `particle`.
A line without ring values says that the event has none. Positions are in the fit frame, mm. Other columns are left
alone.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.errors import InputError
from anello.physics import rings_from_columns
from anello.rings import Rings

N_PMTS = 1952
RING_COLUMNS = ("ring_x_mm", "ring_y_mm", "ring_radius_mm")


@dataclass(frozen=True)
class HitEvents:
    """Events of a file, in the order in which they first appear.

    event_id: int64[E], as the file names them. event_offset: uint32[E + 1]. x_mm, y_mm: float32[N].
    pmt: uint16[N], or None where the file has none. in_time: bool[N], all true where the file does not say.
    """

    event_id: NDArray[np.int64]
    event_offset: NDArray[np.uint32]
    x_mm: NDArray[np.float32]
    y_mm: NDArray[np.float32]
    pmt: NDArray[np.uint16] | None
    in_time: NDArray[np.bool_]

    @property
    def n_events(self) -> int:
        return len(self.event_id)

    def only_in_time(self) -> "HitEvents":
        """The same events without their hits out of time."""
        kept_before = np.concatenate(([0], np.cumsum(self.in_time)))
        keep = self.in_time
        return HitEvents(
            self.event_id, kept_before[self.event_offset].astype(np.uint32), self.x_mm[keep], self.y_mm[keep],
            None if self.pmt is None else self.pmt[keep], keep[keep],
        )  # fmt: skip


def read_hits(path: Path) -> HitEvents:
    """Raises InputError, a ValueError that names file, line and column; OSError when the file cannot be read."""
    table = _Table(path, ("event", "x_mm", "y_mm"))
    event, order, offset = _group(table.column("event", _whole, np.int64))
    pmt = table.column("pmt_seq", _pmt, np.uint16)[order] if table.has("pmt_seq") else None
    in_time = table.column("in_time", _flag, np.bool_) if table.has("in_time") else np.ones(len(order), bool)
    x_mm, y_mm = (table.column(name, _finite, np.float32)[order] for name in ("x_mm", "y_mm"))
    return HitEvents(event, offset, x_mm, y_mm, pmt, in_time[order])


def read_rings(path: Path, event_id: NDArray[np.int64]) -> Rings:
    """The rings of these events, in this order; rings of other events are left out. Errors as in read_hits."""
    table = _Table(path, ("event", *RING_COLUMNS)).without_empty(RING_COLUMNS)
    index_of = {int(event): index for index, event in enumerate(event_id)}
    event = table.column("event", _whole, np.int64)
    index = np.array([index_of.get(int(one), -1) for one in event], dtype=np.int64)
    known = index >= 0
    columns = [table.column(name, _finite, np.float32) for name in RING_COLUMNS]
    columns.append(table.column("n_hits", _count, np.int64) if table.has("n_hits") else np.zeros(len(index), np.int64))
    return rings_from_columns(index[known], [column[known] for column in columns], len(event_id))


def rings_beside(hits: Path) -> Path | None:
    """`X_rings.csv` next to `X_hits.csv`, if it exists."""
    rings = hits.with_name(hits.name.replace("_hits.csv", "_rings.csv"))
    return rings if rings != hits and rings.exists() else None


class _Table:
    """The columns of a CSV file, converted when asked for."""

    def __init__(self, path: Path, required: tuple[str, ...]) -> None:
        self._path = path
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            self._names = list(reader.fieldnames or ())
            missing = [name for name in required if name not in self._names]
            if missing:
                found = ", ".join(self._names) or "none"
                raise InputError(f"{path}:1: there is no column {', '.join(missing)}; the columns are: {found}")
            self._rows = list(enumerate(reader, start=2))
        if not self._rows:
            raise InputError(f"{path}: there are no lines after the header")

    def has(self, name: str) -> bool:
        return name in self._names

    def without_empty(self, names: tuple[str, ...]) -> "_Table":
        """This table without the lines that have nothing in these columns."""
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
    """A value that is readable and still wrong; its text continues the sentence after the value."""


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, _WrongValueError) else "is not a number"


def _whole(text: str) -> int:
    if not -(1 << 63) <= int(text) < 1 << 63:
        raise _WrongValueError("is beyond 64 bits")
    return int(text)


def _count(text: str) -> int:
    if not 0 <= int(text) < 1 << 16:
        raise _WrongValueError("is no number of hits: they are 0 to 65535")
    return int(text)


def _pmt(text: str) -> int:
    if not 0 <= int(text) < N_PMTS:
        raise _WrongValueError(f"is no PMT: they are 0 to {N_PMTS - 1}")
    return int(text)


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise _WrongValueError("must be 0 or 1")
    return text == "1"


def _finite(text: str) -> float:
    if not abs(float(text)) <= float(np.finfo(np.float32).max):
        raise _WrongValueError("is not finite, or beyond 32 bits")
    return float(text)


def _group(event: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
    """Events in order of first appearance, the order of lines that puts hits of one event together, and offsets."""
    unique, first, index, counts = np.unique(event, return_index=True, return_inverse=True, return_counts=True)
    by_appearance = np.argsort(first)
    rank = np.empty_like(by_appearance)
    rank[by_appearance] = np.arange(len(by_appearance))
    offset = np.concatenate(([0], np.cumsum(counts[by_appearance]))).astype(np.uint32)
    return unique[by_appearance], np.argsort(rank[index], kind="stable"), offset


def read(reader: Any, path: Path, *arguments: Any) -> Any:
    """reader(path, *arguments), whose errors name the file. Raises InputError."""
    try:
        return reader(path, *arguments)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not text") from error
