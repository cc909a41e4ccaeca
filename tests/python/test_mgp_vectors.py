# SPDX-License-Identifier: Apache-2.0
"""The MGP specification stands alone: a decoder written from docs/reference/mgp.md reads the vectors."""

import struct
from pathlib import Path

import pytest

VECTORS = sorted((Path(__file__).parents[1] / "vectors").glob("mgp_*.hex"))
HEADER = struct.Struct("<4sBBHHHIIIQ")


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def hits_of(data: bytes, n_hits: int, with_time: bool) -> str:
    if with_time:
        words = struct.unpack(f"<{n_hits}H", data)
        times = [4 * ((word >> 9) - (128 if word >> 15 else 0)) for word in words]
        return ",".join(f"{word & 511}:{time:+d}" for word, time in zip(words, times, strict=True))
    stream = int.from_bytes(data, "little")
    return ",".join(str(stream >> 9 * hit & 511) for hit in range(n_hits))


def decode(data: bytes) -> list[str]:
    """Content of a datagram, as the lines of a vector's content."""
    magic, version, flags, length, source, n_events, sequence, burst, checksum, sent = HEADER.unpack_from(data)
    assert (magic, version, flags >> 4, length) == (b"MGP1", 1, 0, len(data))
    assert checksum == (crc32c(data[:20] + bytes(4) + data[24:]) if flags & 2 else 0)
    lines = [
        f"mgp flags={flags} length_bytes={length} source_id={source} n_events={n_events} sequence={sequence} "
        f"burst_id={burst} checksum={checksum:#010x} send_time_ns={sent}"
    ]
    at = HEADER.size
    if flags & 12:
        totals = struct.unpack_from("<4Q", data, at)
        lines.append("totals n_packets={} n_events={} n_hits={} n_bytes={}".format(*totals))
        at += 32
    for _ in range(n_events):
        ticks, fine, n_hits = struct.unpack_from("<IBB", data, at)
        end = at + 6 + (2 * n_hits if flags & 1 else (9 * n_hits + 7) // 8)
        hits = hits_of(data[at + 6 : end], n_hits, bool(flags & 1))
        lines.append(f"event timestamp_ticks={ticks} fine_time={fine} hits={hits}")
        at = end
    assert at == len(data)
    return lines


def test_crc32c_check_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_there_are_vectors() -> None:
    assert len(VECTORS) >= 5


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vector(path: Path) -> None:
    lines = path.read_text().splitlines()
    content = [line[2:] for line in lines if line.startswith("> ")]
    data = bytes.fromhex(" ".join(line for line in lines if not line.startswith(("#", "> "))))
    assert decode(data) == content
