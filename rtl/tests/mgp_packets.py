# SPDX-License-Identifier: Apache-2.0
"""MGP packets for the tests of rtl/data, written from docs/reference/mgp.md and nothing else."""

import random
import struct
from dataclasses import dataclass, field

HITS_WITH_TIME, WITH_CHECKSUM, START_OF_BURST, END_OF_BURST = 1, 2, 4, 8


def crc32c(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@dataclass
class Fragment:
    timestamp: int
    fine: int = 0
    hits: list[int] = field(default_factory=list)  # channel | time << 9


def encode_event(fragment: Fragment, with_time: bool) -> bytes:
    out = struct.pack("<IBB", fragment.timestamp, fragment.fine, len(fragment.hits))
    if with_time:
        return out + b"".join(struct.pack("<H", hit) for hit in fragment.hits)
    bits = sum((hit & 511) << (9 * i) for i, hit in enumerate(fragment.hits))
    return out + bits.to_bytes((9 * len(fragment.hits) + 7) // 8, "little")


def packet(
    fragments: list[Fragment],
    flags: int = WITH_CHECKSUM,
    source_id: int = 100,
    burst: int = 1,
    n_events: int | None = None,
    payload: bytes | None = None,
) -> bytes:
    if payload is None:
        payload = b"".join(encode_event(f, bool(flags & HITS_WITH_TIME)) for f in fragments)
    count = len(fragments) if n_events is None else n_events
    head = struct.pack("<4sBBHHHIIIQ", b"MGP1", 1, flags, 32 + len(payload), source_id, count, 0, burst, 0, 0)
    return seal(head + payload)


def seal(data: bytes) -> bytes:
    """Sets the right length and, if flagged, the right checksum."""
    data = data[:6] + struct.pack("<H", len(data)) + data[8:20] + bytes(4) + data[24:]
    if data[5] & WITH_CHECKSUM:
        data = data[:20] + struct.pack("<I", crc32c(data)) + data[24:]
    return data


def marker(which: int, source_id: int = 100, burst: int = 1) -> bytes:
    return packet([], which | WITH_CHECKSUM, source_id, burst, payload=bytes(32))


def random_fragments(dice: random.Random, with_time: bool, n_bytes: int = 1400) -> list[Fragment]:
    fragments, time, used = [], dice.randrange(1 << 32), 0
    for _ in range(dice.choice([1, 2, 7, 60])):
        n_hits = dice.choice([0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 255, dice.randrange(12)])
        hits = [dice.randrange(512) | (dice.randrange(128) << 9 if with_time else 0) for _ in range(n_hits)]
        fragment = Fragment(time & 0xFFFFFFFF, dice.randrange(256), hits)
        used += len(encode_event(fragment, with_time))
        if fragments and used > n_bytes:
            break
        fragments.append(fragment)
        time += dice.randrange(300)
    return fragments
