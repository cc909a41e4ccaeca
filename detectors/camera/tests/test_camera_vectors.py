# SPDX-License-Identifier: Apache-2.0
"""The camera's specification stands alone: a decoder written from docs/reference/camera.md reads the vectors."""

import struct
from pathlib import Path

import pytest

VECTORS = sorted((Path(__file__).parents[3] / "tests/vectors").glob("camera_*.hex"))
HEADER = struct.Struct("<4sBBHIIIIQHBBBBH24s")


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def decode(data: bytes) -> list[str]:
    """What a datagram says, as the lines of a vector's content."""
    magic, version, flags, board, run, event, sequence, checksum, time_ns, *rest = HEADER.unpack_from(data)
    samples, pixels, gains, kind, tag, n, own = rest
    assert (magic, version, flags & 0xB8, tag >> 7, n) == (b"CAM1", 1, 0, 0, len(data) - 64)
    assert not flags & 64 or (gains == 1 and int.from_bytes(own[22:], "little") >> pixels == 0)
    assert checksum == (crc32c(data[:20] + bytes(4) + data[24:]) if flags & 1 else 0)
    lines = [
        f"camera flags={flags} board={board} run_id={run} event_number={event} sequence={sequence} "
        f"checksum={checksum:#010x} timestamp_ns={time_ns} n_samples={samples} n_pixels={pixels} n_gains={gains} "
        f"counters_kind={kind} trigger_tag={tag} payload_bytes={n}",
        f"counters {own.hex()}",
    ]
    payload = data[HEADER.size :]
    if flags & 6:
        assert flags & 1
        totals = struct.unpack("<QQII", payload)
        lines.append("totals n_fragments={} n_bytes={} first_event={} next_event={}".format(*totals))
    elif samples:
        n_values = gains * pixels * samples
        values = struct.unpack(f"<{n_values + (8 if kind == 4 else 0)}H", payload)
        lines.append("samples " + ",".join(map(str, values[:n_values])))
        if kind == 4:
            lines.append("first_cells " + ",".join(map(str, values[n_values:])))
    else:
        lines.append("bytes " + payload.hex())
    return lines


def test_header_has_64_bytes() -> None:
    assert HEADER.size == 64


def test_there_are_vectors() -> None:
    assert len(VECTORS) >= 5


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vector(path: Path) -> None:
    lines = path.read_text().splitlines()
    content = [line[2:] for line in lines if line.startswith("> ")]
    data = bytes.fromhex(" ".join(line for line in lines if not line.startswith(("#", "> "))))
    assert decode(data) == content
