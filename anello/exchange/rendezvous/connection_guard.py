# SPDX-License-Identifier: Apache-2.0
"""The guard of a rendezvous: forwards TCP connections to ZeroMQ, which listens where only this process reaches it.

ZeroMQ keeps every connection for as long as the other side likes, and a message until its last frame has arrived. The
guard lets a stranger stay for ten seconds, or less when a newer one needs the place; nodes keep their places. A
stranger's message is limited to the size of a greeting, and so is the sum of all unfinished messages.
"""

import selectors
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread

from anello.exchange.rendezvous.messages import MAX_FRAME_BYTES, MAX_FRAMES, MAX_HEADER_BYTES
from anello.exchange.rendezvous.zmtp import BadZmtpError, Follower

MAX_STRANGERS = 16  # three descriptors each: here, and both ends of the connection to ZeroMQ
MAX_STRANGERS_MESSAGE_BYTES = MAX_HEADER_BYTES + (16 << 10)
MAX_MESSAGE_BYTES = 2 * MAX_FRAME_BYTES
MAX_UNFINISHED_BYTES = 32 << 20  # bytes of all connections together
STRANGERS_STAY_S = 10.0
READ_BYTES = 64 << 10
BACKLOG = 1024
DEFER_S = 3600  # the kernel keeps connections until they send something; it reduces this to its own maximum
DRAIN_S = 1.0


@dataclass
class _Direction:
    """One direction of a connection: bytes that were read and not yet written."""

    source: socket.socket
    target: socket.socket | None
    follower: Follower
    buffer: bytearray = field(default_factory=bytearray)
    has_ended: bool = False

    def move(self) -> None:
        """Moves as many bytes as possible without waiting. Raises OSError, BadZmtpError."""
        self._write()
        if self.buffer or self.has_ended:
            return
        with suppress(BlockingIOError):
            content = self.source.recv(READ_BYTES)
            self.has_ended = not content
            self.follower.feed(memoryview(content))
            self.buffer += content
        self._write()

    def _write(self) -> None:
        if self.buffer and self.target:
            with suppress(BlockingIOError):
                del self.buffer[: self.target.send(self.buffer)]


class _Connection:
    """A connection from outside, and its counterpart to ZeroMQ."""

    def __init__(self, client: socket.socket, now_s: float) -> None:
        self.since_s = now_s
        self.is_known = False  # True for a node, or a peer with a valid key
        self.client = client
        self.inner: socket.socket | None = None
        self.inward = _Direction(client, None, Follower(MAX_STRANGERS_MESSAGE_BYTES, MAX_FRAMES))
        self.outward: _Direction | None = None

    def lead_on(self, place: str) -> None:
        """Connects to ZeroMQ. Raises OSError."""
        self.inner = socket.socket(socket.AF_UNIX)
        self.inner.setblocking(False)
        self.inner.connect(place)
        self.inward.target = self.inner
        self.outward = _Direction(self.inner, self.client, Follower(MAX_MESSAGE_BYTES * MAX_FRAMES, MAX_FRAMES))

    @property
    def lanes(self) -> list[_Direction]:
        return [self.inward, self.outward] if self.outward else [self.inward]

    @property
    def is_over(self) -> bool:
        return any(lane.has_ended and not lane.buffer for lane in self.lanes)

    def know(self) -> None:
        self.is_known = True
        self.inward.follower.max_message_bytes = MAX_MESSAGE_BYTES


class ConnectionGuard:
    """The guard; it listens until it is closed. take_counts() returns the numbers of refused connections since the
    last call."""

    def __init__(
        self, listening: socket.socket, place: str, *, has_keys: bool, is_node: Callable[[bytes], bool]
    ) -> None:
        """Starts the guard. place: ZeroMQ's unix socket. is_node: of an identity; called from the guard's thread."""
        self._listening, self._place, self._has_keys, self._is_node = listening, place, has_keys, is_node
        self._counts: Counter[str] = Counter()
        self._passages: list[_Connection] = []
        self._selector = selectors.DefaultSelector()
        self._bell, self._rope = socket.socketpair()
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._selector.register(listening, selectors.EVENT_READ)
        self._thread = Thread(target=self._serve, name="gate", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the guard after ZeroMQ has closed its side, so that ZeroMQ's last messages are still sent."""
        self._rope.close()
        self._thread.join()

    def take_counts(self) -> Counter[str]:
        counts, self._counts = self._counts, Counter()
        return counts

    # --- The thread -------------------------------------------------------------------------------------------------
    def _serve(self) -> None:
        until_s = float("inf")
        while time.monotonic() < until_s and (self._passages or until_s == float("inf")):
            for key, _ in self._selector.select(STRANGERS_STAY_S / 10 if until_s == float("inf") else DRAIN_S / 10):
                if key.fileobj is self._bell:
                    until_s = time.monotonic() + DRAIN_S
                    self._selector.unregister(self._bell)
                    self._selector.unregister(self._listening)
                elif key.fileobj is self._listening:
                    self._accept()
                elif key.data in self._passages:
                    self._move(key.data)
            self._send_away()
        for passage in list(self._passages):
            self._close(passage)
        self._selector.close()
        self._bell.close()
        self._listening.close()

    def _accept(self) -> None:
        try:
            client, _ = self._listening.accept()
        except OSError:  # the connection was closed again, or there are no descriptors
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        strangers = [one for one in self._passages if not one.is_known]
        if len(strangers) >= MAX_STRANGERS:
            self._refuse(strangers[0])  # the oldest
        passage = _Connection(client, time.monotonic())
        self._passages.append(passage)
        self._selector.register(client, selectors.EVENT_READ, passage)
        self._move(passage)

    def _move(self, passage: _Connection) -> None:
        if not passage.is_known and self._knows(passage):
            passage.know()
        try:
            for lane in passage.lanes:
                lane.move()
            if passage.inner is None and passage.inward.follower.is_signed:
                passage.lead_on(self._place)
                assert passage.inner is not None
                self._selector.register(passage.inner, selectors.EVENT_READ, passage)
                passage.inward.move()
        except BadZmtpError:
            self._refuse(passage)
            return
        except OSError:
            self._close(passage)
            return
        if passage.is_over:
            if not passage.inward.follower.is_signed:
                self._counts["handshakes_failed"] += 1
            self._close(passage)
        else:
            self._watch(passage)

    def _knows(self, passage: _Connection) -> bool:
        """True if the peer is known. With keys ZeroMQ answers READY only to peers that have one; without, the
        rendezvous knows its nodes."""
        if self._has_keys:
            return passage.outward is not None and passage.outward.follower.is_ready
        identity = passage.inward.follower.identity
        return bool(identity) and self._is_node(identity)

    def _watch(self, passage: _Connection) -> None:
        """Watches a side for input only when all its earlier bytes were passed on."""
        inward, outward = passage.inward, passage.outward
        ways = [(passage.client, inward, outward)]
        if passage.inner and outward:
            ways.append((passage.inner, outward, inward))
        for one, from_it, to_it in ways:
            reads = not from_it.buffer and not from_it.has_ended
            writes = to_it is not None and bool(to_it.buffer)
            events = (selectors.EVENT_READ if reads else 0) | (selectors.EVENT_WRITE if writes else 0)
            if one in self._selector.get_map():
                if events:
                    self._selector.modify(one, events, passage)
                else:
                    self._selector.unregister(one)
            elif events:
                self._selector.register(one, events, passage)

    def _send_away(self) -> None:
        """Closes connections that stay too long, and the one with most bytes pending if the total is too large."""
        now_s = time.monotonic()
        for passage in [one for one in self._passages if not one.is_known and now_s - one.since_s > STRANGERS_STAY_S]:
            self._refuse(passage)
        while sum(one.inward.follower.unfinished_bytes for one in self._passages) > MAX_UNFINISHED_BYTES:
            self._refuse(max(self._passages, key=lambda one: one.inward.follower.unfinished_bytes))

    def _refuse(self, passage: _Connection) -> None:
        signed = passage.inward.follower.is_signed
        self._counts["strangers_closed" if signed else "handshakes_failed"] += 1
        self._close(passage)

    def _close(self, passage: _Connection) -> None:
        self._passages.remove(passage)
        for one in (passage.client, passage.inner):
            if one is None:
                continue
            with suppress(KeyError):
                self._selector.unregister(one)
            one.close()


def listening_socket(endpoint: str) -> socket.socket:
    """A listening socket. endpoint: tcp://host:port; host * for all, port 0 or * for any. Raises OSError,
    ValueError."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_S)
        listening.bind(("" if host == "*" else host, 0 if port == "*" else int(port)))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def endpoint_of(listening: socket.socket) -> str:
    """The socket's endpoint in ZeroMQ's notation."""
    host, port, *_ = listening.getsockname()
    return f"tcp://[{host}]:{port}" if listening.family == socket.AF_INET6 else f"tcp://{host}:{port}"
