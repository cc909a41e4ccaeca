# SPDX-License-Identifier: Apache-2.0
"""Frames for the card: the packets of simulated front ends as a capture file of Ethernet frames."""

import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from anello.errors import InputError

N_BOARDS = 4
DEFAULTS = Path(os.devnull)  # an empty configuration: the default chain with default values
QUIET_S = 0.5  # s without a packet after which, if the front ends have ended, the capture ends
RECEIVE_BYTES = 64 << 20
_PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 0x40000, 1)  # stamps in ns, Ethernet
_IP = struct.Struct(">BBHHHBBH4s4s")
_LOOPBACK = bytes([127, 0, 0, 1])


def make(path: Path, *, n_events: int, rate_hz: float, seed: int) -> tuple[int, ...]:
    """Writes the packets of about n_events events, and returns their ports, one for each board.

    Raises InputError where the front ends fail.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(_bound()) for _ in range(N_BOARDS)]
        ports = tuple(one.getsockname()[1] for one in sockets)
        settings = {
            "source.rate_hz": rate_hz,
            "source.burst_ms": 1e3 * n_events / rate_hz,
            "source.n_bursts": 1,
            "source.offload": "none",
            "source.ports": list(ports),
            "run.seed": seed,
        }
        command = [sys.executable, "-m", "anello", "source", str(DEFAULTS)]
        given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        with (
            subprocess.Popen(
                [*command, *given], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            ) as front_ends,
            path.open("wb") as file,
        ):
            _record(sockets, front_ends, file)
            said = front_ends.communicate()[1]
    if front_ends.returncode:
        raise InputError(f"the simulated front ends failed: {(said.strip().splitlines() or ['they said nothing'])[-1]}")
    return ports


def _bound() -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    one.bind(("127.0.0.1", 0))
    return one


def _record(sockets: Sequence[socket.socket], front_ends: "subprocess.Popen[str]", file: IO[bytes]) -> None:
    file.write(_PCAP_HEADER)
    while True:
        ready = select.select(sockets, [], [], QUIET_S)[0]
        for one in ready:
            datagram, (_, source_port) = one.recvfrom(65536)
            frame = _frame(datagram, source_port, one.getsockname()[1])
            stamp = divmod(time.time_ns(), 1_000_000_000)
            file.write(struct.pack("<IIII", *stamp, len(frame), len(frame)) + frame)
        if not ready and front_ends.poll() is not None:
            return


def _frame(datagram: bytes, source_port: int, port: int) -> bytes:
    """An Ethernet frame with IPv4, UDP and their checksums."""
    n_bytes = len(datagram) + 8
    header = _IP.pack(0x45, 0, n_bytes + 20, 0, 0, 64, 17, 0, _LOOPBACK, _LOOPBACK)
    header = header[:10] + _checksum(header).to_bytes(2, "big") + header[12:]
    udp = struct.pack(">HHHH", source_port, port, n_bytes, 0)
    pseudo = _LOOPBACK + _LOOPBACK + struct.pack(">HH", 17, n_bytes)
    checksum = _checksum(pseudo + udp + datagram) or 0xFFFF
    return bytes(12) + b"\x08\x00" + header + udp[:6] + checksum.to_bytes(2, "big") + datagram


def _checksum(content: bytes) -> int:
    """The checksum of RFC 1071."""
    padded = content + bytes(len(content) % 2)
    total = int(sum(struct.unpack(f">{len(padded) // 2}H", padded)))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
