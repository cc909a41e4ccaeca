# SPDX-License-Identifier: Apache-2.0
"""The test vectors, the fuzzers' seeds, and capture files of them."""

import re
import struct
from pathlib import Path

TESTS = Path(__file__).parents[1]
FORMATS = ("mgp", "mep", "mtp", "camera", "clb", "mfp", "camera_group", "daq", "rich_frame")


def vectors() -> dict[str, tuple[bytes, list[str]]]:
    """Vectors by name: the bytes, and the lines that say what they hold."""
    found = {}
    for path in sorted((TESTS / "vectors").glob("*.hex")):
        lines = path.read_text().splitlines()
        data = bytes.fromhex(" ".join(line for line in lines if not line.startswith(("#", ">"))))
        found[path.stem] = data, [line[2:] for line in lines if line.startswith("> ")]
    return found


def seeds(name: str) -> list[bytes]:
    """Inputs of a format with which the fuzzers begin, without those that fuzzers have found since."""
    folder = TESTS / "fuzz/corpus" / name
    return [path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith("found_")]


def numbers(line: str) -> dict[str, int]:
    """The name=value pairs of a vector's line that are numbers."""
    pairs = re.findall(r"(\w+)=(0x[0-9a-f]+|\d+)(?=\s|$)", line)
    return {name: int(value, 0) for name, value in pairs}


def frame(data: bytes, port: int) -> bytes:
    """Ethernet, IPv4 from 10.0.0.1, UDP from port 50000."""
    udp = struct.pack(">HHHH", 50000, port, 8 + len(data), 0) + data
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    )
    return bytes(12) + b"\x08\x00" + ip + udp


def write_capture(path: Path, datagrams: list[tuple[int, bytes]], begin_s: int = 1_700_000_000) -> Path:
    """Port and bytes of each, one millisecond after the other."""
    content = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)
    for i, (port, data) in enumerate(datagrams):
        each = frame(data, port)
        content += struct.pack("<IIII", begin_s, i * 1_000_000, len(each), len(each)) + each
    path.write_bytes(content)
    return path
