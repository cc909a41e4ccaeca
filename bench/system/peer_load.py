# SPDX-License-Identifier: Apache-2.0
"""The same load for both receivers: datagrams of one size, each a fragment of a camera event or a heap of SPEAD."""

import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

UDP_SEGMENT = 103  # linux/udp.h
MAX_SUPER_PACKET_BYTES, MAX_SEGMENTS = 65_000, 64
LONGEST_NAP_S = 1e-3


class Format(Protocol):
    """Fills datagrams; all bytes but the numbers stay as they were made."""

    payload_bytes: int

    def blank(self, n: int) -> Bytes: ...  # (n, datagram_bytes)
    def number(self, datagrams: Bytes, first: int) -> None: ...  # as first, first + 1, ... of the run
    def stops(self) -> list[bytes]: ...  # datagrams that end the stream


@dataclass(frozen=True)
class CameraFragments:
    """docs/reference/camera.md: board after board, event after event; bytes without shape, no checksum."""

    datagram_bytes: int
    boards: int

    HEADER_BYTES = 64

    @property
    def payload_bytes(self) -> int:
        return self.datagram_bytes - self.HEADER_BYTES

    def blank(self, n: int) -> Bytes:
        datagrams = np.zeros((n, self.datagram_bytes), np.uint8)
        datagrams[:, :5] = np.frombuffer(b"CAM1\x01", np.uint8)
        _field(datagrams, 8, "<u4")[:] = 1  # run
        _field(datagrams, 38, "<u2")[:] = self.payload_bytes
        return datagrams

    def number(self, datagrams: Bytes, first: int) -> None:
        events, boards = np.divmod(np.arange(first, first + len(datagrams)), self.boards)
        _field(datagrams, 6, "<u2")[:] = boards
        _field(datagrams, 12, "<u4")[:] = events
        _field(datagrams, 16, "<u4")[:] = events  # the board's sequence

    def stops(self) -> list[bytes]:
        return []


@dataclass(frozen=True)
class SpeadHeaps:
    """SPEAD-64-48: one heap in each packet, of one item."""

    datagram_bytes: int

    IMMEDIATE = 1 << 63
    HEAP_NUMBER, HEAP_BYTES, OFFSET, PAYLOAD_BYTES, CONTROL, DATA = 1, 2, 3, 4, 6, 0x1000
    STREAM_STOP = 2
    ITEMS = 5

    @property
    def payload_bytes(self) -> int:
        return self.datagram_bytes - 8 - 8 * self.ITEMS

    def blank(self, n: int) -> Bytes:
        datagrams = np.zeros((n, self.datagram_bytes), np.uint8)
        items = [
            self._immediate(self.HEAP_NUMBER, 0), self._immediate(self.HEAP_BYTES, self.payload_bytes),
            self._immediate(self.OFFSET, 0), self._immediate(self.PAYLOAD_BYTES, self.payload_bytes), self.DATA << 48,
        ]  # fmt: skip
        packet = self._packet(items)
        datagrams[:, : len(packet)] = np.frombuffer(packet, np.uint8)
        return datagrams

    def number(self, datagrams: Bytes, first: int) -> None:
        heaps = np.arange(first + 1, first + 1 + len(datagrams), dtype=np.uint64)
        _field(datagrams, 8, ">u8")[:] = heaps | np.uint64(self._immediate(self.HEAP_NUMBER, 0))

    def stops(self) -> list[bytes]:
        numbers = range(2**47, 2**47 + 5)  # repeated, each a heap of its own
        control = self._immediate(self.CONTROL, self.STREAM_STOP)
        zeros = [self._immediate(kind, 0) for kind in (self.HEAP_BYTES, self.OFFSET, self.PAYLOAD_BYTES)]
        return [self._packet([self._immediate(self.HEAP_NUMBER, number), *zeros, control]) for number in numbers]

    def _immediate(self, kind: int, value: int) -> int:
        return self.IMMEDIATE | kind << 48 | value

    @staticmethod
    def _packet(items: list[int]) -> bytes:
        magic, version, id_bytes, address_bytes = 0x53, 4, 2, 6
        head = bytes([magic, version, id_bytes, address_bytes, 0, 0]) + len(items).to_bytes(2, "big")
        return head + b"".join(item.to_bytes(8, "big") for item in items)


def _field(datagrams: Bytes, at: int, kind: str) -> npt.NDArray[np.generic]:
    """The same field of each datagram, to be written to."""
    return np.ndarray((len(datagrams),), kind, datagrams.data, at, (datagrams.shape[1],))


class Sender:
    """All boards of a run from one socket: the node believes a board from the address that it spoke from first."""

    def __init__(self, form: Format, port: int, *, gso: bool) -> None:
        self._form, self._gso = form, gso
        self._blank = form.blank(MAX_SEGMENTS)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if gso:
            self._socket.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, self._blank.shape[1])
        self._socket.connect(("127.0.0.1", port))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, numbers: range, rate_hz: float) -> float:
        """Sends these datagrams at that rate, in super-packets if gso; returns the time it took in s."""
        n_at_once = min(MAX_SEGMENTS, MAX_SUPER_PACKET_BYTES // self._blank.shape[1])
        begin_s = time.perf_counter()
        for first in numbers[::n_at_once]:
            datagrams = self._blank[: min(n_at_once, numbers.stop - first)]
            self._form.number(datagrams, first)
            _wait_until(begin_s + (first - numbers.start) / rate_hz)
            if self._gso:
                self._socket.send(datagrams)
            else:
                for datagram in datagrams:
                    self._socket.send(datagram)
        return time.perf_counter() - begin_s

    def stop(self) -> None:
        with suppress(ConnectionRefusedError):  # it ended with the first of them
            for datagram in self._form.stops():
                self._socket.send(datagram)


def _wait_until(due_s: float) -> None:
    while (left_s := due_s - time.perf_counter()) > 0:
        time.sleep(min(left_s, LONGEST_NAP_S))
