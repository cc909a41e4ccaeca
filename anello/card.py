# SPDX-License-Identifier: Apache-2.0
"""The card for programs of your own: UDP ports into circular lists of persistent buffers: docs/how-to/card.md.

    with Card("10.0.0.2") as card:
        board = card.register(6000, format_name="mgp")
        for buffer in board:
            print(buffer.datagrams["sequence"], buffer[0])

A thread of the engine receives; buffers are NumPy arrays where they lie, and nothing is copied for Python. Register
every port before the first wait, which opens the card. Clop.counters() tells what was lost, Clop.sources() of whom.
"""

import asyncio
import select
import time
from collections.abc import AsyncIterator, Iterator
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from anello.engine import _engine
from anello.errors import ConfigError, engine_errors
from anello.packets import verdicts

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from anello._engine import Clop as EngineClop

Backend = Literal["socket", "io_uring", "af_xdp", "pcap", "nanet"]
Memory = Literal["host", "huge", "pinned"]
WhenFull = Literal["wait", "drop_new", "overwrite_oldest"]

# DatagramRecord of engine/receive/card/clop.hpp. verdict: an index into anello.packets.verdicts(), 0 = ok.
# fmt: off
RECORD = np.dtype(
    [
        ("offset_bytes", "u8"), ("length_bytes", "u4"), ("source_host", "u4"), ("source_port", "u2"),
        ("verdict", "u1"), ("has_sequence", "?"), ("sequence", "u4"), ("source_id", "u4"), ("n_items", "u4"),
        ("sent_ns", "i8"), ("kernel_ns", "i8"),
    ]
)
# fmt: on
assert RECORD.itemsize == _engine.datagram_record_bytes


class SourceNumbers(NamedTuple):
    """What the numbers of one source's packets say; a source is an address that sends in the name of a source_id."""

    address: IPv4Address
    port: int
    source_id: int  # source, board or module, as the format numbers them
    packets: int
    late: int  # of these, with a number that had been missing
    duplicates: int  # with a number that had come before
    strays: int  # far from the source's number, which no second one confirmed
    restarts: int  # with which the source began anew
    lost: int  # numbers passed over that did not come, by now


class Buffer:
    """A full buffer, borrowed until it is given back: then its arrays hold what comes next.

    bytes: uint8[n], read-only, the whole buffer. datagrams: RECORD[k], read-only, in the order of arrival.
    """

    def __init__(self, clop: "EngineClop", number: int, content: NDArray[np.uint8], records: NDArray[np.uint8]) -> None:
        self._clop: EngineClop | None = clop
        self._number = number
        self.bytes = content
        self.datagrams: NDArray[Any] = records.view(RECORD)

    def __len__(self) -> int:
        return len(self.datagrams)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        """A datagram's payload where it lies, uint8[length], read-only. Raises IndexError."""
        record = self.datagrams[index]
        begin = int(record["offset_bytes"])
        return self.bytes[begin : begin + int(record["length_bytes"])]

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return (self[i] for i in range(len(self)))

    def source(self, index: int) -> tuple[IPv4Address, int]:
        record = self.datagrams[index]
        return IPv4Address(int(record["source_host"])), int(record["source_port"])

    def verdict(self, index: int) -> str:
        """ "ok", or what is wrong with it in the list's format."""
        return list(verdicts())[int(self.datagrams["verdict"][index])]

    def give_back(self) -> None:
        """Safe to call twice."""
        clop, self._clop = self._clop, None
        if clop is not None:
            clop.give_back(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()


class Clop:
    """A circular list of persistent buffers of one port. Made by Card.register(). One thread at a time takes."""

    def __init__(self, card: "Card", engine_clop: "EngineClop", number: int) -> None:
        self._card, self._clop, self._number = card, engine_clop, number

    @property
    def port(self) -> int:
        """As the system chose it where 0 was asked for: opens the card."""
        self._card.start()
        return self._clop.port()

    def memory(self) -> tuple[str, str]:
        """What kind the buffers are of, and why that is not the one asked for (empty: it is)."""
        return self._clop.memory()

    def take(self) -> Buffer | None:
        """The oldest full buffer; None: there is none now."""
        self._card.start()
        taken = self._clop.take()
        return None if taken is None else Buffer(self._clop, *taken)

    def wait(self, timeout: float | None = None) -> Buffer | None:
        """The same, waiting for it, in seconds; None: nothing will come any more (stop(), or the capture's end).
        Raises TimeoutError."""
        until = None if timeout is None else time.monotonic() + timeout
        bell = select.poll()
        bell.register(self._clop.fileno(), select.POLLIN)
        while True:
            is_last = self.finished  # asked first: what was handed on before it is found below
            if (buffer := self.take()) is not None or is_last:
                return buffer
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"no datagram came to port {self.port} in {timeout} s")
            bell.poll(None if left is None else left * 1e3)

    def __iter__(self) -> Iterator[Buffer]:
        """Every buffer until nothing comes any more; each is given back when the next is asked for."""
        while (buffer := self.wait()) is not None:
            with buffer:
                yield buffer

    async def next(self) -> Buffer | None:
        """As wait(), in asyncio; asyncio.timeout() limits it."""
        loop = asyncio.get_running_loop()
        while True:
            is_last = self.finished
            if (buffer := self.take()) is not None or is_last:
                return buffer
            rings = asyncio.Event()
            loop.add_reader(self._clop.fileno(), rings.set)
            try:
                await rings.wait()
            finally:
                loop.remove_reader(self._clop.fileno())

    async def __aiter__(self) -> AsyncIterator[Buffer]:
        while (buffer := await self.next()) is not None:
            with buffer:
                yield buffer

    def fileno(self) -> int:
        """For select, poll, and event loops. Readable when there may be a buffer, after take() gave None; always, once
        it is finished."""
        return self._clop.fileno()

    @property
    def finished(self) -> bool:
        """Nothing more will come; there may still be buffers to take."""
        return self._clop.finished()

    def counters(self) -> dict[str, int]:
        """Of the port: datagrams, bytes, super_packets, kernel_dropped, blocks_dropped (for want of a buffer),
        overwritten; and of packets that have a number: numbered, in_order, late, duplicates, strays, restarts,
        untracked, lost, sources."""
        counters, block = self._card.counters(), f"card.port{self._number}"
        return counters[block] | counters[f"{block}.losses"]

    def sources(self) -> list[SourceNumbers]:
        """Who sent the packets taken, in the order in which they were first seen; none without a format."""
        return [SourceNumbers(IPv4Address(host), *others) for host, *others in self._clop.sources()]

    def verdicts(self) -> dict[str, int]:
        """Datagrams taken, by verdict."""
        return self._card.counters()[f"card.port{self._number}.verdicts"]


def _writable(memory: "WriteableBuffer") -> NDArray[np.uint8]:
    """Its bytes. Raises ConfigError where they cannot be written to."""
    array: NDArray[np.uint8] = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
    if not array.flags.writeable:
        raise ConfigError("memory", "must be writable", type(memory).__name__, "Use a bytearray or an array of NumPy")
    return array


class Card:
    """address: where to listen. backend: how datagrams come (anello doctor says what works here); pcap replays the file
    `capture` at capture_speed (1: as captured, 0: as fast as it goes). interface: of af_xdp.
    socket_buffer_bytes: the kernel's buffer per port. core: to pin the receiving thread to, -1: none; spin: it never
    sleeps, and has a core of its own.

    Used with `with`, it stops at the end of the block. Raises ConfigError and OSError."""

    def __init__(
        self,
        address: str = "127.0.0.1",
        *,
        backend: Backend = "socket",
        interface: str = "lo",
        gro: bool = True,
        socket_buffer_bytes: int = 64 << 20,
        capture: Path | str = "",
        capture_speed: float = 0.0,
        core: int = -1,
        spin: bool = False,
    ) -> None:
        with engine_errors():
            self._card = _engine.Card(
                "pcap" if capture else backend,
                address,
                interface,
                gro,
                socket_buffer_bytes,
                str(capture),
                capture_speed,
                core,
                "spin" if spin else "sleep",
            )
        self._n_clops, self._is_open = 0, False

    def register(
        self,
        port: int = 0,
        *,
        format_name: str = "",
        n_buffers: int = 32,
        buffer_bytes: int = 1 << 20,
        max_datagrams: int = 512,
        memory: "Memory | WriteableBuffer" = "host",
        gathering_time_us: float = 200.0,
        when_full: WhenFull = "wait",
        max_sources: int = 64,
    ) -> Clop:
        """A list of n_buffers for a port (0: any free one), each for at most max_datagrams.

        format_name: one of anello.packets.formats(), by which each datagram gets its verdict and sequence; "": raw.
        buffer_bytes: for datagrams, each on its own cache lines; at least 65536.
        memory: huge (2 MB pages) and pinned (page-locked, which a CUDA device reads by itself) fall back to host, and
        Clop.memory() says why. Or memory of your own, anything writable with Python's buffer protocol: it is divided
        among the buffers (buffer_bytes is not used) and lives as long as the card.
        gathering_time_us: a buffer is handed on at latest this long after its first datagram.
        when_full: wait leaves datagrams in the kernel's buffer, drop_new drops them, overwrite_oldest reuses the oldest
        buffer that was not taken yet, and drops where all are held; each counts what is lost.
        max_sources: senders whose packets are followed by their numbers, with a format; others are counted only.
        Raises ConfigError and OSError."""
        kind, given = (memory, None) if isinstance(memory, str) else ("host", _writable(memory))
        with engine_errors():
            clop = self._card.register_buffers(
                port,
                n_buffers,
                buffer_bytes,
                max_datagrams,
                kind,
                format_name,
                round(gathering_time_us * 1e3),
                when_full,
                max_sources,
                given,
            )
        self._n_clops += 1
        return Clop(self, clop, self._n_clops - 1)

    def start(self) -> None:
        """Opens the ports and receives; waiting for a buffer does it too. Raises ConfigError and OSError."""
        if not self._is_open:
            with engine_errors():
                self._card.start()
            self._is_open = True

    def stop(self) -> None:
        """Nothing more is received; what came can still be taken. Safe to call twice."""
        self._card.stop()

    def counters(self) -> dict[str, dict[str, int]]:
        return self._card.counters()

    def describe(self) -> str:
        """What it receives with, and what the system granted."""
        return self._card.describe()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
