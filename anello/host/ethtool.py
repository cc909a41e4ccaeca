# SPDX-License-Identifier: Apache-2.0
"""Reads what the program `ethtool` shows of an interface, through the same ioctl. Nothing is set. Structures:
linux/ethtool.h."""

import array
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
GET_RING, GET_STRINGS, GET_SET_INFO, GET_FEATURES = 0x10, 0x1B, 0x37, 0x3A
FEATURE_STRINGS = 4
STRING_BYTES = 32
MAX_FEATURES = 1024  # there are about 64


def rx_ring(interface: str) -> tuple[int, int]:
    """(receive descriptors now, at most)."""
    answer = _ask(interface, struct.pack("9I", GET_RING, *[0] * 8))
    _, rx_max, _, _, _, rx, *_ = struct.unpack("9I", answer)
    return rx, rx_max


def features(interface: str) -> dict[str, bool]:
    """Name -> True if on; the kernel's names: rx-gro, rx-checksum, tx-udp-segmentation."""
    names = _feature_names(interface)
    n_blocks = (len(names) + 31) // 32
    answer = _ask(interface, struct.pack("2I", GET_FEATURES, n_blocks) + bytes(16 * n_blocks))
    active = [struct.unpack_from("4I", answer, 8 + 16 * block)[2] for block in range(n_blocks)]
    return {name: bool(active[index // 32] >> index % 32 & 1) for index, name in enumerate(names) if name}


def _feature_names(interface: str) -> list[str]:
    _, _, mask, count = struct.unpack(
        "2IQI", _ask(interface, struct.pack("2IQI", GET_SET_INFO, 0, 1 << FEATURE_STRINGS, 0))
    )
    count = min(count, MAX_FEATURES) if mask else 0
    answer = _ask(interface, struct.pack("3I", GET_STRINGS, FEATURE_STRINGS, count) + bytes(STRING_BYTES * count))
    strings = (answer[12 + STRING_BYTES * i : 12 + STRING_BYTES * (i + 1)] for i in range(count))
    return [string.partition(b"\0")[0].decode(errors="replace") for string in strings]


def _ask(interface: str, request: bytes) -> bytes:
    """Sends a request; the kernel writes its answer over it. Raises OSError."""
    buffer = array.array("B", request)
    address, _ = buffer.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), address))
    return buffer.tobytes()
