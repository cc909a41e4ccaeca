# SPDX-License-Identifier: Apache-2.0
"""Makes a zfits file readable whose writer was killed: `anello r1-repair FILE.fits.fz.part`.

Such a file says that it has no events, as its writer fills in the index of a table, and its numbers, when it closes it.
The events are there, in tiles: "TILE", the number of rows (u32), the bytes that follow (u64, little-endian), then a
block for each column that begins with its own length (u64). The index is made again from these lengths: for
each tile and column a length and an offset from the first tile (i64, big-endian).
"""

import mmap
import shutil
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from anello.errors import InputError

BLOCK, CARD = 2880, 80  # of FITS
MOST_CARDS = 10_000  # of a header; protozfits writes some 200
TILE, TILE_HEAD = b"TILE", struct.Struct("<4sIQ")
ENTRY_BYTES = 16  # of the index: length and offset of a tile's column


@dataclass(frozen=True)
class FitsTable:
    """A header unit of the file, and where its data begins. cards: of each key its text and where its card begins."""

    cards: dict[str, tuple[str, int]]
    data_at: int

    def text(self, key: str) -> str:
        return self.cards.get(key, ("", 0))[0].strip("' ")

    def number(self, key: str) -> int:
        text = self.text(key) or "0"
        if not text.isdigit():
            raise InputError(f"a header has {key} = {text}, which is no size: the file is damaged")
        return int(text)

    @property
    def is_open(self) -> bool:
        """Its writer had not closed it."""
        return self.number("NAXIS") > 0 and self.number("NAXIS2") == 0

    @property
    def end_at(self) -> int:
        n_bytes = self.number("NAXIS1") * self.number("NAXIS2") + self.number("PCOUNT") if self.number("NAXIS") else 0
        return self.data_at + -(-n_bytes // BLOCK) * BLOCK


@dataclass(frozen=True)
class Tiles:
    """The whole tiles of a table. index: of each tile and column length and offset. end_at: of the last one."""

    index: list[list[tuple[int, int]]]
    n_rows: int
    heap_at: int
    end_at: int


def repair(path: Path, output: Path) -> int:
    """Writes output, a file of the events of path that are whole; path stays as it is. Their number.

    Raises InputError where nothing can be saved, or output is there already; OSError.
    """
    if output.exists():
        raise InputError(f"{output} is there already: nothing is overwritten; name another file")
    making = output.with_name(output.name + ".repair")
    with path.open("rb") as file:
        try:
            with making.open("xb") as made:
                shutil.copyfileobj(file, made)
        except FileExistsError:
            raise InputError(f"{making} is there already, of a repair that was stopped: remove it") from None
    try:
        n_events = _mend(making, str(path))
        try:
            output.hardlink_to(making)  # which, other than renaming, replaces nothing
        except FileExistsError:
            raise InputError(f"{output} is there already: nothing is overwritten") from None
    finally:
        with suppress(FileNotFoundError):
            making.unlink()
    return n_events


def _mend(path: Path, name: str) -> int:
    """In place. name: of the file in messages."""
    if path.stat().st_size == 0:
        raise InputError(f"{name} is empty: nothing can be saved")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            events = next((one for one in _tables(data) if one.text("EXTNAME") == "Events"), None)
            if events is None:
                raise InputError("it has no table of events yet: nothing can be saved")
            if not events.is_open:
                return _whole(events, len(data))
            tiles = _tiles(data, events)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        cards = {key: events.cards[key][1] for key in ("NAXIS2", "ZNAXIS2", "THEAP", "ZHEAPPTR", "PCOUNT")}
    with path.open("r+b") as file:
        _close_table(file, cards, events, tiles)
    return tiles.n_rows


def _whole(events: FitsTable, n_bytes: int) -> int:
    """Of a file that was closed, and not yet given its name."""
    if events.end_at > n_bytes:
        raise InputError(f"it says that its events end at byte {events.end_at}, and has {n_bytes}: it was cut short")
    return events.number("ZNAXIS2")


def _tables(data: mmap.mmap) -> Iterator[FitsTable]:
    """Up to the first that is open, which is the last."""
    at = 0
    while at < len(data):
        table = _table(data, at)
        yield table
        if table.is_open:
            return
        at = table.end_at


def _table(data: mmap.mmap, at: int) -> FitsTable:
    cards: dict[str, tuple[str, int]] = {}
    for number in range(MOST_CARDS):
        begin = at + number * CARD
        card = data[begin : begin + CARD]
        if len(card) < CARD:
            break
        if card[:8] == b"END     ":
            return FitsTable(cards, at + -(-(number + 1) * CARD // BLOCK) * BLOCK)
        if card[8:10] == b"= ":
            cards[card[:8].decode("latin1").strip()] = card[10:].decode("latin1").split("/")[0].strip(), begin
    raise InputError("a header has no end: this is no zfits file, or it was cut short in its header")


def _tiles(data: mmap.mmap, events: FitsTable) -> Tiles:
    n_columns, width = events.number("TFIELDS"), events.number("NAXIS1")
    if n_columns == 0 or width != n_columns * ENTRY_BYTES:
        raise InputError(f"its events have {n_columns} columns, its index {width} bytes a tile: not as zfits has them")
    if missing := {"NAXIS2", "ZNAXIS2", "THEAP", "ZHEAPPTR", "PCOUNT"} - events.cards.keys():
        raise InputError(f"its table of events has no {', '.join(sorted(missing))}: not as zfits has them")
    heap_at = data.find(TILE, events.data_at)
    if heap_at < 0:
        raise InputError("it has no whole tile of events: nothing can be saved")
    n_tiles, rest = divmod(heap_at - events.data_at, width)
    if rest or any(data[events.data_at : heap_at]):
        raise InputError("what lies before its first tile is no empty index: it is damaged")
    index: list[list[tuple[int, int]]] = []
    n_rows, at = 0, heap_at
    while len(index) < n_tiles and (tile := _tile(data, at, n_columns)) is not None:
        rows, ends = tile
        index.append([(end - begin, begin - heap_at) for begin, end in pairwise(ends)])
        n_rows, at = n_rows + rows, ends[-1]
    if not index:
        raise InputError("it has no whole tile of events: nothing can be saved")
    return Tiles(index, n_rows, heap_at, at)


def _tile(data: mmap.mmap, at: int, n_columns: int) -> tuple[int, list[int]] | None:
    """Its rows, and where its columns begin, and end; None where it is not whole."""
    head = data[at : at + TILE_HEAD.size]
    if len(head) < TILE_HEAD.size:
        return None
    mark, n_rows, n_bytes = TILE_HEAD.unpack(head)
    begin = at + TILE_HEAD.size
    if mark != TILE or n_rows == 0 or begin + n_bytes > len(data):
        return None
    ends = [begin]
    for _ in range(n_columns):
        if ends[-1] + 8 > begin + n_bytes:
            return None
        length = int.from_bytes(data[ends[-1] : ends[-1] + 8], "little")
        if length < 8:
            return None
        ends.append(ends[-1] + length)
    return (n_rows, ends) if ends[-1] == begin + n_bytes else None


def _close_table(file: BinaryIO, cards: dict[str, int], events: FitsTable, tiles: Tiles) -> None:
    """Closes a table as its writer would have done, and discards the bytes after the last whole tile."""
    index_bytes, width = tiles.heap_at - events.data_at, events.number("NAXIS1")
    n_used = len(tiles.index) * width
    values = {
        "NAXIS2": len(tiles.index),
        "ZNAXIS2": tiles.n_rows,
        "THEAP": n_used,
        "ZHEAPPTR": index_bytes,
        "PCOUNT": tiles.end_at - events.data_at - n_used,
    }
    for key, value in values.items():
        file.seek(cards[key] + 10)
        file.write(f"{value:>20d}".encode())
    file.seek(events.data_at)
    for tile in tiles.index:
        file.write(b"".join(struct.pack(">qq", *entry) for entry in tile))
    file.truncate(tiles.end_at)
    file.seek(tiles.end_at)
    file.write(bytes(-(tiles.end_at - events.data_at) % BLOCK))
