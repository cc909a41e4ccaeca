# SPDX-License-Identifier: Apache-2.0
"""Packets of every registered format as the engine's own parsers read them: docs/how-to/look-at-packets.md.

    for datagram in read_capture("run.pcap"):
        packet = decode(datagram.data)
        print(packet.format, packet.verdict, packet.header)

This is made for inspection and tests, at thousands of packets per second; anello.card and the chains run at full rate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.engine import _engine
from anello.errors import engine_errors

CAPTURES = tuple(bytes.fromhex(magic) for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "0a0d0d0a"))
HEAD_BYTES = 64  # enough of a packet to recognise its format
MAX_REST_BYTES = 65_536
UNKNOWN = "unknown"  # the format of a packet that no parser recognises or accepts


@dataclass(frozen=True)
class Table:
    """A table of equal entries in a packet. columns: uint64[n] or int64[n], by name; units by the same names, ""
    where a number only counts. In the column `event` stand rows of the previous table, in the column `verdict`
    indices into verdicts()."""

    columns: Mapping[str, NDArray[Any]]
    units: Mapping[str, str]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class Packet:
    """The contents of one datagram. verdict: "ok", or why nothing of it is used (verdicts() has the definitions).
    header and units by name, in the order of the format; empty where the header cannot be read. tables only where
    the verdict is ok."""

    format: str
    verdict: str
    header: Mapping[str, int]
    units: Mapping[str, str]
    tables: Mapping[str, Table]

    @property
    def is_ok(self) -> bool:
        return self.verdict == "ok"


@dataclass(frozen=True)
class Datagram:
    """One UDP datagram, or a packet from a file of packets. port: its destination; time_ns: Unix time of capture or
    of the kernel's stamp, 0 = unknown; is_cut: only its beginning was stored. A packet of a file has its byte
    position `offset`, and neither port nor time."""

    port: int
    source: tuple[IPv4Address, int]
    time_ns: int
    is_cut: bool
    data: bytes
    offset: int | None = None


def formats() -> dict[str, str]:
    """Name and title of every registered format."""
    return dict(_engine.packet_formats())


@cache
def verdicts() -> Mapping[str, str]:
    """Every verdict with its exact definition, in the order of their numbers."""
    return MappingProxyType(dict(_engine.packet_verdicts()))


def recognise(data: bytes) -> str | None:
    """The format by magic number, or the format without magic number whose parser accepts the packet; None: none."""
    return _engine.recognised_format(data) or None


def decode(data: bytes, format_name: str | None = None) -> Packet:
    """Parses a datagram; any bytes give a packet with a verdict. format_name: one of formats(); None: as recognise()
    finds. Raises ConfigError for an unknown format."""
    name = format_name or recognise(data)
    if name is None:
        return Packet(UNKNOWN, "wrong_magic", {}, {}, {})
    with engine_errors():
        verdict, header, tables = _engine.read_packet(data, name)
    return Packet(
        name,
        verdict,
        {field: value for field, _, value in header},
        {field: unit for field, unit, _ in header},
        {table: _table(columns) for table, columns in tables},
    )


def _table(columns: Sequence[tuple[str, str, NDArray[Any]]]) -> Table:
    return Table({name: values for name, _, values in columns}, {name: unit for name, unit, _ in columns})


def samples(packet: Packet) -> NDArray[np.uint16]:
    """Samples of a packet that carries them, uint16[n_gains, n_pixels, n_samples], ADC counts. Raises KeyError where
    it has none."""
    shape = tuple(packet.header[name] for name in ("n_gains", "n_pixels", "n_samples"))
    return packet.tables["samples"].columns["sample"].astype(np.uint16).reshape(shape)


# --- Where datagrams come from ------------------------------------------------------------------------------------
class DatagramReader:
    """Datagrams of a capture file, until its end, or of live ports, without end. `format_name` only says how
    super-packets of a capture are split; None: by each packet's own header.

    Raises ConfigError (no capture file, another link type) and OSError (a port in use).
    """

    def __init__(
        self,
        capture: Path | None = None,
        ports: Sequence[int] = (),
        *,
        address: str = "127.0.0.1",
        format_name: str | None = None,
    ) -> None:
        with engine_errors():
            self._native = (
                _engine.PacketReader(address, list(ports))
                if capture is None
                else _engine.PacketReader(str(capture), format_name or "")
            )
        self.ports = [self._native.port(i) for i in range(len(ports))] if capture is None else []

    def next(self) -> list[Datagram]:
        """Some of the datagrams that have arrived; it never waits."""
        return [
            Datagram(port, (IPv4Address(host), source_port), time_ns, is_cut, data)
            for port, (host, source_port), time_ns, is_cut, data in self._native.next()
        ]

    def finished(self) -> bool:
        """True at the end of a capture."""
        return self._native.finished()

    def fileno(self) -> int:
        """A file descriptor that is readable when next() would return a datagram; live ports only."""
        return self._native.fileno()

    def kernel_dropped(self) -> int:
        """Datagrams that the kernel dropped before the live ports were read."""
        return self._native.kernel_dropped()

    def skipped(self) -> dict[str, int]:
        """Frames of a capture that are no datagrams: meaning -> number; kinds that did not occur are left out."""
        frames = self._native.frames()
        return {meaning: number for name, (meaning, number) in frames.items() if name != "udp" and number}

    def read_error(self) -> str:
        """Why a capture could not be read to its end; empty where it was."""
        return self._native.read_error()


class FileReader:
    """Packets of a file that holds only packets of one format, one after the other; the format gives each packet's
    length. Bytes that are no packet are returned as one packet, and read_error() reports them. Same methods as
    Reader."""

    def __init__(self, path: Path, format_name: str) -> None:
        self.ports: list[int] = []
        self._file, self._format = path.open("rb"), format_name
        self._left, self._error = path.stat().st_size, ""

    @staticmethod
    def format_of(path: Path, format_name: str | None = None) -> str | None:
        """The format of such a file, or format_name if given; None: the file is of no such format, or is a capture."""
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        name = format_name or recognise(head)
        return name if name and not head.startswith(CAPTURES) and _engine.packet_bytes(head, name) else None

    def next(self) -> list[Datagram]:
        """The next packet; an empty list at the end."""
        offset = self._file.tell()
        n_bytes = _engine.packet_bytes(self._file.read(HEAD_BYTES), self._format)
        if not 0 < n_bytes <= self._left:
            self._error = f"from byte {offset} on it is no whole packet of the format {self._format}"
            n_bytes = min(self._left, MAX_REST_BYTES)
        self._file.seek(offset)
        data = self._file.read(n_bytes)
        self._left = 0 if self._error else self._left - n_bytes
        return [Datagram(0, (IPv4Address(0), 0), 0, False, data, offset)]

    def finished(self) -> bool:
        return self._left == 0

    def fileno(self) -> int:
        return self._file.fileno()

    def kernel_dropped(self) -> int:
        return 0

    def skipped(self) -> dict[str, int]:
        return {}

    def read_error(self) -> str:
        """Why the file could not be read to its end; empty where it was."""
        return self._error


def read_capture(path: Path | str, format_name: str | None = None) -> Iterator[Datagram]:
    """All UDP datagrams over IPv4 of a capture file (pcap, pcapng; "-": standard input); super-packets are split."""
    reader = DatagramReader(Path(path), format_name=format_name)
    while not reader.finished():
        yield from reader.next()
