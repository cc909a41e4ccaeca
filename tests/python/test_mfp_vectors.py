# SPDX-License-Identifier: Apache-2.0
"""The MFP's specification stands alone: a decoder written from docs/reference/mfp.md reads the vectors."""

import struct
from pathlib import Path

import pytest

VECTORS = sorted((Path(__file__).parents[1] / "vectors").glob("mfp_*.hex"))
HEADER = struct.Struct("<4sBBBBHHIIIQqQ")


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def decode(data: bytes) -> list[str]:
    """Content of a packet, as the lines of a vector's content."""
    fields = HEADER.unpack_from(data)
    magic, version, flags, alignment, reserved, source, n, run, length, checksum, event, ready_ns, zero = fields
    assert (magic, version, flags >> 2, reserved, zero, length) == (b"MFP1", 1, 0, 0, 0, len(data))
    long = bool(flags & 2)
    checksums_at = 48 + (4 * n if long else (2 * n + 3) // 4 * 4)
    tables_end = checksums_at + 4 * n
    assert checksum == crc32c(data[:20] + bytes(4) + data[24:tables_end])
    sizes = struct.unpack_from(f"<{n}{'I' if long else 'H'}", data, 48)
    checksums = struct.unpack_from(f"<{n}I", data, checksums_at)
    lines = [
        f"mfp flags={flags} alignment_log2={alignment} source_id={source} n_fragments={n} run_id={run} "
        f"length_bytes={length} checksum={checksum:#010x} first_event={event} ready_ns={ready_ns}"
    ]
    unit = 1 << alignment
    at = -(-tables_end // unit) * unit
    for size, known in zip(sizes, checksums, strict=True):
        fragment = data[at : at + size]
        right = known == (0 if flags & 1 else crc32c(fragment))
        verdict = "ok" if right else "wrong_checksum"
        lines.append(f"fragment checksum={known:#010x} verdict={verdict} bytes={fragment.hex()}")
        at += -(-size // unit) * unit
    assert at == len(data)
    return lines


def test_header_has_48_bytes() -> None:
    assert HEADER.size == 48


def test_there_are_vectors() -> None:
    assert len(VECTORS) >= 3


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vector(path: Path) -> None:
    lines = path.read_text().splitlines()
    content = [line[2:] for line in lines if line.startswith("> ")]
    data = bytes.fromhex(" ".join(line for line in lines if not line.startswith(("#", "> "))))
    assert decode(data) == content
