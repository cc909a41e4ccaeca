# SPDX-License-Identifier: Apache-2.0
"""The card for programs of your own: UDP ports into circular lists of persistent buffers: docs/how-to/card.md.

    with Card("10.0.0.2") as card:
        board = card.register(6000, format_name="mgp")
        for buffer in board:
            print(buffer.datagrams["sequence"], buffer[0])

A thread of the engine receives; the NumPy arrays are views of the buffers, and nothing is copied for Python. Register
every port before the first wait, which opens the card. Clop.counters() reports the losses, Clop.sources() the losses of
each sender.
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
    """Sequence number counts of one source; a source is an address that sends with a given source_id."""

    address: IPv4Address
    port: int
    source_id: int  # number of the source, board or module in the format
    packets: int
    late: int  # packets whose number had been counted as missing
    duplicates: int  # packets whose number had been received before
    strays: int  # packets far from the source's number, without a second one to confirm them
    restarts: int  # restarts of the source's numbering
    lost: int  # numbers passed over and not received so far


class Buffer:
    """A full buffer, borrowed until it is given back: after that the engine writes new datagrams into its arrays.

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
        """A datagram's payload as a view, uint8[length], read-only. Raises IndexError."""
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
        """Returns the buffer to the engine. Safe to call twice."""
        clop, self._clop = self._clop, None
        if clop is not None:
            clop.give_back(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()


class Clop:
    """A circular list of persistent buffers of one port. Made by Card.register(). One thread at a time may take
    buffers."""

    def __init__(self, card: "Card", engine_clop: "EngineClop", number: int) -> None:
        self._card, self._clop, self._number = card, engine_clop, number

    @property
    def port(self) -> int:
        """The port's number; if 0 was registered, the one the system chose: this opens the card."""
        self._card.start()
        return self._clop.port()

    def memory(self) -> tuple[str, str]:
        """The kind of memory of the buffers, and why it is not the requested kind (empty: it is)."""
        return self._clop.memory()

    def take(self) -> Buffer | None:
        """The oldest full buffer; None: there is none now."""
        self._card.start()
        taken = self._clop.take()
        return None if taken is None else Buffer(self._clop, *taken)

    def wait(self, timeout: float | None = None) -> Buffer | None:
        """The oldest full buffer; waits up to `timeout` seconds. None: no further buffer will follow (after stop(),
        or at the capture's end). Raises TimeoutError."""
        until = None if timeout is None else time.monotonic() + timeout
        bell = select.poll()
        bell.register(self._clop.fileno(), select.POLLIN)
        while True:
            # read before the buffers are: a buffer handed on before the end is still found below
            is_last = self.finished
            if (buffer := self.take()) is not None or is_last:
                return buffer
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"no datagram came to port {self.port} in {timeout} s")
            bell.poll(None if left is None else left * 1e3)

    def __iter__(self) -> Iterator[Buffer]:
        """Every buffer until the card has stopped or the capture has ended; each is given back when the next is
        requested."""
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
        """A file descriptor for select, poll and event loops. Readable when there may be a buffer, after take() gave
        None; always readable once the list is finished."""
        return self._clop.fileno()

    @property
    def finished(self) -> bool:
        """True when no new buffer will follow; full buffers may still wait to be taken."""
        return self._clop.finished()

    def counters(self) -> dict[str, int]:
        """Counters of the port: datagrams, bytes, super_packets, kernel_dropped, blocks_dropped (for want of a
        buffer), overwritten; and of packets that have a number: numbered, in_order, late, duplicates, strays,
        restarts, untracked, lost, sources."""
        counters, block = self._card.counters(), f"card.port{self._number}"
        return counters[block] | counters[f"{block}.losses"]

    def sources(self) -> list[SourceNumbers]:
        """The senders of the packets taken, in the order in which they were first seen; empty without a format."""
        return [SourceNumbers(IPv4Address(host), *others) for host, *others in self._clop.sources()]

    def verdicts(self) -> dict[str, int]:
        """Datagrams taken, by verdict."""
        return self._card.counters()[f"card.port{self._number}.verdicts"]


def _writable(memory: "WriteableBuffer") -> NDArray[np.uint8]:
    """The memory as writable bytes. Raises ConfigError where it is read-only."""
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
        """Opens the ports and starts to receive; waiting for a buffer does this too. Raises ConfigError and OSError."""
        if not self._is_open:
            with engine_errors():
                self._card.start()
            self._is_open = True

    def stop(self) -> None:
        """Stops receiving; buffers that are already full can still be taken. Safe to call twice."""
        self._card.stop()

    def counters(self) -> dict[str, dict[str, int]]:
        return self._card.counters()

    def describe(self) -> str:
        """A description of how the card receives, and what the system granted."""
        return self._card.describe()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
