# SPDX-License-Identifier: Apache-2.0
"""The kernel's cost to receive a datagram of 1 kB over loopback: CPU time of recvmmsg, with and without GRO.

Datagrams are sent first and received afterwards, so that only the receiving is timed. The C library is called directly:
Python's own part is one call for 64 messages.
"""

import ctypes
import errno
import os
import socket
import time

from anello.host.host import CannotTell, ReceiveCost

UDP_SEGMENT, UDP_GRO = 103, 104  # linux/udp.h
DATAGRAM_BYTES, SEGMENTS = 1024, 60
SUPER_PACKET_BYTES = DATAGRAM_BYTES * SEGMENTS
N_MESSAGES = 64
BUFFER_BYTES = 4 << 20
TRIAL_S = 0.15
MAX_CALLS = 10_000


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    """struct msghdr"""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.POINTER(_Vector)),
        ("n_vectors", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """struct mmsghdr"""

    _fields_ = (("header", _Header), ("length", ctypes.c_uint))


class _Taker:
    """Calls recvmmsg repeatedly with the same memory."""

    def __init__(self, message_bytes: int) -> None:
        self._memory = ctypes.create_string_buffer(N_MESSAGES * message_bytes)
        self._vectors, self._messages = (_Vector * N_MESSAGES)(), (_Message * N_MESSAGES)()
        base = ctypes.addressof(self._memory)
        for i, (vector, message) in enumerate(zip(self._vectors, self._messages, strict=True)):
            vector.base, vector.length = base + i * message_bytes, message_bytes
            message.header.vectors, message.header.n_vectors = ctypes.pointer(vector), 1
        self._recvmmsg = ctypes.CDLL(None, use_errno=True).recvmmsg

    def take_all(self, descriptor: int) -> int:
        """Empties the socket's buffer; returns the number of messages."""
        n_taken = 0
        for _ in range(MAX_CALLS):
            n = self._recvmmsg(descriptor, self._messages, N_MESSAGES, socket.MSG_DONTWAIT, None)
            if n < 0:
                code = ctypes.get_errno()
                if code != errno.EAGAIN:
                    raise OSError(code, os.strerror(code))
                break
            n_taken += n
        return n_taken


def measure() -> ReceiveCost:
    """Measures the cost. Raises CannotTell or OSError."""
    plain_ns = _trial(gro=False)
    try:
        return ReceiveCost(plain_ns, _trial(gro=True))
    except OSError:
        return ReceiveCost(plain_ns, None)


def _trial(gro: bool) -> float:
    """CPU time per datagram, ns."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taking,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending,
    ):
        taking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        if gro:
            taking.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
            sending.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, DATAGRAM_BYTES)
        taking.bind(("127.0.0.1", 0))
        sending.connect(taking.getsockname())
        taker = _Taker(SUPER_PACKET_BYTES if gro else DATAGRAM_BYTES)
        load = bytes(SUPER_PACKET_BYTES if gro else DATAGRAM_BYTES)
        # The socket counts more than the payload: half of its buffer size always fits.
        n_sends = taking.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // (2 * (len(load) + 1024))
        return _taking_ns(taking, sending, taker, load, max(n_sends, 1))


def _taking_ns(taking: socket.socket, sending: socket.socket, taker: _Taker, load: bytes, n_sends: int) -> float:
    spent_ns, n_datagrams = 0, 0
    end = time.monotonic() + TRIAL_S
    while time.monotonic() < end:
        for _ in range(n_sends):
            sending.send(load)
        began = time.thread_time_ns()
        n_taken = taker.take_all(taking.fileno())
        spent_ns += time.thread_time_ns() - began
        if n_taken < n_sends:
            raise CannotTell("loopback lost datagrams of the trial")
        n_datagrams += n_sends * len(load) // DATAGRAM_BYTES
    return spent_ns / n_datagrams
