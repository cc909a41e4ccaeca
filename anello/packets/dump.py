# SPDX-License-Identifier: Apache-2.0
"""`anello dump`: packets of any registered format in words, from a capture file or live UDP ports."""

import json
import select
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anello import packets
from anello.errors import ConfigError
from anello.packets import Datagram, DatagramReader, FileReader, Packet, Table
from anello.system.exit_codes import FAILED, INTERRUPTED
from anello.system.interruption import Interruption, interruptible

N_SHOWN = 4  # values shown of each column, unless all are requested
LOOK_S = 0.2  # s; the longest wait for a live port before the clock and Ctrl-C are checked again


@dataclass(frozen=True)
class Options:
    targets: Sequence[str]  # one capture file, or UDP ports
    formats: Sequence[str] = ()  # each NAME or PORT=NAME
    ports: Sequence[int] = ()  # ports of a capture to show; empty: all
    count: int | None = None
    seconds: float | None = None
    address: str = "127.0.0.1"
    hex: bool = False
    verbose: bool = False
    quiet: bool = False
    bad: bool = False  # show only packets whose verdict is not ok
    json: bool = False


@dataclass
class Formats:
    """The format of a port's packets: the configured one, else the recognised one, else that of the port's earlier
    packets."""

    named: str | None
    by_port: Mapping[int, str]
    learned: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Formats":
        """Raises ConfigError."""
        named, by_port = None, {}
        for text in texts:
            port, equals, name = text.rpartition("=")
            if name not in packets.formats() or (equals and not _is_port(port)):
                rule = "must be a format, or PORT=FORMAT; formats are " + ", ".join(packets.formats())
                raise ConfigError("--format", rule, text, "Leave it out to have formats recognised")
            if equals:
                by_port[int(port)] = name
            else:
                named = name
        return cls(named, by_port)

    def decode(self, datagram: Datagram) -> Packet:
        name = self.by_port.get(datagram.port, self.named)
        if name is None:
            name = packets.recognise(datagram.data) or self.learned.get(datagram.port)
            if name is not None:
                self.learned[datagram.port] = name
        return packets.decode(datagram.data, name)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) < 65536


# --- The command --------------------------------------------------------------------------------------------------
def dump(options: Options) -> int:
    """Prints packets to standard output and a summary to standard error. Returns the exit code."""
    formats = Formats.of(options.formats)
    reader = _open(options, formats)
    for port in reader.ports:
        print(f"listening on {options.address}:{port}", file=sys.stderr, flush=True)
    seen: Counter[tuple[str, str]] = Counter()
    with interruptible() as interrupted:
        for number, datagram in enumerate(_datagrams(reader, options, interrupted), start=1):
            packet = formats.decode(datagram)
            seen[packet.format, packet.verdict] += 1
            if not options.quiet and not (options.bad and packet.is_ok):
                print(_json(number, datagram, packet) if options.json else text_of(number, datagram, packet, options))
            if number == options.count or _nobody_reads():
                break
    sys.stdout.flush()
    for line in _summary(seen, reader):
        print(line, file=sys.stderr)
    return FAILED if reader.read_error() else INTERRUPTED if interrupted.is_set() else 0


def _nobody_reads() -> bool:
    return bool(getattr(sys.stdout, "is_broken", False))


def _open(options: Options, formats: Formats) -> DatagramReader | FileReader:
    if all(_is_port(target) for target in options.targets):
        return DatagramReader(ports=[int(target) for target in options.targets], address=options.address)
    if len(options.targets) > 1:
        given = " ".join(options.targets)
        raise ConfigError("PCAP|PORT", "must be one capture file, or UDP ports", given, "Several files: one by one")
    path = Path(options.targets[0])
    if name := FileReader.format_of(path, formats.named):
        formats.named = name
        return FileReader(path, name)
    return DatagramReader(path, format_name=formats.named)


def _datagrams(reader: DatagramReader | FileReader, options: Options, interrupted: Interruption) -> Iterator[Datagram]:
    end = None if options.seconds is None else time.monotonic() + options.seconds
    while not (reader.finished() or interrupted.is_set() or (end is not None and time.monotonic() >= end)):
        batch = reader.next()
        yield from (each for each in batch if not options.ports or each.port in options.ports)
        if not batch and reader.ports:
            sys.stdout.flush()
            select.select([reader.fileno()], [], [], LOOK_S)


def _summary(seen: Counter[tuple[str, str]], reader: DatagramReader | FileReader) -> Iterator[str]:
    yield f"{seen.total()} {'packets' if isinstance(reader, FileReader) else 'datagrams'}"
    for (name, verdict), number in sorted(seen.items()):
        yield f"  {number} {name} {verdict}" + ("" if verdict == "ok" else f": {_reason(name, verdict)}")
    yield from (f"  {number} {meaning}" for meaning, number in reader.skipped().items())
    if dropped := reader.kernel_dropped():
        yield f"  {dropped} dropped by the kernel before we read them: not shown"
    if problem := reader.read_error():
        yield f"the {'file' if isinstance(reader, FileReader) else 'capture'} could not be read to its end: {problem}"


def _reason(name: str, verdict: str) -> str:
    if name == packets.UNKNOWN:
        return "begins like no registered format, and is right in none; --format names one"
    return packets.verdicts()[verdict]


# --- In words -----------------------------------------------------------------------------------------------------
def text_of(number: int, datagram: Datagram, packet: Packet, options: Options) -> str:
    """One line with origin and header, then an indented line for each table."""
    host, port = datagram.source
    verdict = "ok" if packet.is_ok else f"{packet.verdict} ({_reason(packet.format, packet.verdict)})"
    length = f"{len(datagram.data)} B{' of a longer one' if datagram.is_cut else ''}"
    where = [_time(datagram.time_ns, with_date=options.verbose), f"{host}:{port} > {datagram.port}"]
    if datagram.offset is not None:
        where = [f"byte {datagram.offset}"]
    words = [str(number), *where, length, packet.format, verdict]
    fields = ", ".join(_value(name, value, packet.units[name]) for name, value in packet.header.items())
    lines = ["  ".join([*words, fields]).rstrip()]
    for name, table in packet.tables.items():
        lines += _rows(name, table) if options.verbose else _columns(name, table)
    if options.hex:
        lines += hex_lines(datagram.data)
    return "\n".join(lines)


def _time(time_ns: int, *, with_date: bool) -> str:
    """UTC; "-" where it is not known."""
    if time_ns <= 0:
        return "-"
    seconds, ns = divmod(time_ns, 1_000_000_000)
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError):  # a stamp beyond the year 9999
        return f"{seconds}.{ns:09d} s"
    return at.strftime("%Y-%m-%d %H:%M:%S" if with_date else "%H:%M:%S") + f".{ns:09d}"


def _value(name: str, value: int, unit: str) -> str:
    if unit == "Unix time":
        return f"{name} {_time(value, with_date=True)}"
    return f"{name} {_number(value, unit)}{_unit(name, unit, ' {}')}"


def _number(value: int, unit: str) -> str:
    if unit == "hex":
        return f"{value:#x}"
    return list(packets.verdicts())[value] if unit == "verdict" else str(value)


def _columns(name: str, table: Table) -> Iterator[str]:
    """The first values of each column, next to each other."""
    if len(table) == 0:
        return
    more = " ..." if len(table) > N_SHOWN else ""
    parts = []
    for column, values in table.columns.items():
        unit = table.units[column]
        shown = " ".join(_number(int(value), unit) for value in values[:N_SHOWN])
        parts.append(f"{column}{_unit(column, unit)} {shown}{more}")
    yield f"    {len(table)} {name}: " + ", ".join(parts)


def _rows(name: str, table: Table) -> Iterator[str]:
    yield f"    {len(table)} {name}: " + ", ".join(
        f"{column}{_unit(column, unit)}" for column, unit in table.units.items()
    )
    units = list(table.units.values())
    for row in zip(*table.columns.values(), strict=True):
        yield "      " + " ".join(_number(int(value), unit) for value, unit in zip(row, units, strict=True))


def _unit(name: str, unit: str, form: str = " [{}]") -> str:
    """The unit in words; empty where the column's name ends in it."""
    said = unit in ("", "hex", "verdict") or name.endswith((f"_{unit}", f"_{unit}".replace(" ", "")))
    return "" if said else form.format(unit)


def hex_lines(data: bytes) -> Iterator[str]:
    """Hexadecimal and ASCII lines in the format of tcpdump -X."""
    for at in range(0, len(data), 16):
        line = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)
        yield f"    {at:#06x}:  {line.hex(' ', 2):39}  {text}"


def _json(number: int, datagram: Datagram, packet: Packet) -> str:
    host, port = datagram.source
    content: dict[str, Any] = {
        "number": number,
        "time_ns": datagram.time_ns,
        "source": f"{host}:{port}",
        "port": datagram.port,
        "offset": datagram.offset,
        "length_bytes": len(datagram.data),
        "is_cut": datagram.is_cut,
        "format": packet.format,
        "verdict": packet.verdict,
        "header": dict(packet.header),
        "tables": {
            name: {column: values.tolist() for column, values in table.columns.items()}
            for name, table in packet.tables.items()
        },
    }
    return json.dumps(content)
