# SPDX-License-Identifier: Apache-2.0
"""The memory path in Python, slow and simple: the content of memory and of completions.

The caller gives those outcomes of a record that depend on the time of a credit, and the moment of a gathering time or
flush (place, give); bench.py checks them against their rules. All else follows from the stream alone.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field

FULL, MAX_RECORDS, GATHERED, END_OF_BURST, FLUSHED = 1, 2, 3, 4, 5
RECORD_HEADER = struct.Struct("<HBBIHHII12x")
COMPLETION = struct.Struct("<BBBBHHIIIIII")


@dataclass
class Record:
    stream: int
    payload: bytes
    length: int = -1  # what the sideband says; -1: the truth
    bad: bool = False
    end_of_burst: bool = False
    src_ip: int = 0
    src_port: int = 0
    stamp: int = 0
    parsed: int = 0
    merged: int = 0
    last_stamp: int = 0

    def __post_init__(self) -> None:
        if self.length < 0:
            self.length = len(self.payload)

    @property
    def is_odd(self) -> bool:
        return self.length != len(self.payload)

    def header(self) -> bytes:
        flags = self.bad | self.end_of_burst << 1 | self.is_odd << 2
        return RECORD_HEADER.pack(self.length, self.stream, flags, self.src_ip, self.src_port, 0, self.stamp,
                                  self.last_stamp)  # fmt: skip

    def written(self) -> bytes:
        return self.payload[: self.length].ljust(self.length, b"\0")


@dataclass
class Given:
    """A buffer that was handed on."""

    list: int
    buffer: int
    reason: int
    n_records: int
    n_bad: int
    used: int
    stamps: tuple[int, int, int]
    content: dict[int, bytes]  # by offset in the buffer
    n_before: int  # records placed on any list before


@dataclass
class List:
    base: int
    buffer_bytes: int
    n_buffers: int
    max_records: int = 0
    gathering: int = 0xFFFFFF
    overwrite: bool = False
    buffer: int = 0
    is_open: bool = False
    used: int = 0
    n_records: int = 0
    n_bad: int = 0
    n_given: int = 0
    n_returned: int = 0
    since: int = 0
    stamps: tuple[int, int, int] = (0, 0, 0)
    content: dict[int, bytes] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return self.n_given - self.n_returned >= self.n_buffers


class Model:
    def __init__(self) -> None:
        self.lists: dict[int, List] = {}
        self.writes: list[tuple[int, bytes]] = []  # virtual address and bytes, in order
        self.counts: Counter[str] = Counter()
        self.n_placed = 0

    def give(self, index: int, reason: int) -> None:
        a = self.lists[index]
        assert a.is_open, f"list {index} has no open buffer to hand on"
        a.given.append(Given(index, a.buffer, reason, a.n_records, a.n_bad, a.used, a.stamps, a.content, self.n_placed))
        a.is_open, a.content = False, {}
        a.buffer = (a.buffer + 1) % a.n_buffers
        a.n_given += 1

    def place(self, record: Record, discarded: bool, now: int) -> None:
        """Gives a record its place; finish() follows."""
        a = self.lists.get(record.stream)
        need = (32 + record.length + 63) // 64 * 64
        if a is None or a.n_buffers == 0 or need > a.buffer_bytes:
            assert discarded
            self.counts["dropped" if a is None or a.n_buffers == 0 else "too_long"] += 1
            return
        if a.is_open and a.used + need > a.buffer_bytes:
            self.give(record.stream, FULL)
        if not a.is_open:
            if discarded:
                assert a.is_full and not a.overwrite, "dropped with a free buffer"
                self.counts["dropped"] += 1
                return
            if a.is_full:
                assert a.overwrite, "written without a free buffer"
                self.counts["overwritten"] += 1
            a.is_open, a.used, a.n_records, a.n_bad, a.since = True, 0, 0, 0, now
            a.stamps = record.stamp, record.parsed, record.merged
        assert not discarded, "dropped though the open buffer has room"
        a.used += need
        a.n_records += 1
        self.n_placed += 1
        self.counts["written"] += 1

    def finish(self, record: Record, discarded: bool) -> None:
        a = self.lists.get(record.stream)
        if a is None:
            return
        reason = 0
        if not discarded:
            at = a.used - (32 + record.length + 63) // 64 * 64
            address = a.base + a.buffer * a.buffer_bytes + at
            for offset, data in ((32, record.written()), (0, record.header())):
                if data:
                    self.writes.append((address + offset, data))
                    a.content[at + offset] = data
            a.n_bad += record.bad or record.is_odd
            if a.max_records and a.n_records == a.max_records:
                reason = MAX_RECORDS
            elif a.used == a.buffer_bytes:
                reason = FULL
            elif a.gathering == 0:
                reason = GATHERED
        if record.end_of_burst:
            reason = END_OF_BURST
        if reason and a.is_open:
            self.give(record.stream, reason)
