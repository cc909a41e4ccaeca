# SPDX-License-Identifier: Apache-2.0
"""Strangers at the door of a rendezvous: what they cost is counted in descriptors and bytes, and nodes come in."""

import resource
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import exchange_synthetic as synthetic
import pytest
from exchange_synthetic import eventually
from hypothesis import given
from hypothesis import strategies as st
from stalls import PATIENCE_MS

from anello.exchange.rendezvous import connection_guard
from anello.exchange.rendezvous.connection_guard import MAX_MESSAGE_BYTES, MAX_STRANGERS, MAX_STRANGERS_MESSAGE_BYTES
from anello.exchange.rendezvous.member import RendezvousGroup
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import RendezvousServer
from anello.exchange.rendezvous.zmtp import MAX_COMMAND_BYTES, BadZmtpError, Follower

PACE = Pace(timeout_s=20, heartbeat_s=0.02, contest_s=PATIENCE_MS / 1e3, gone_s=15)
SIGNATURE = b"\xff" + bytes(8) + b"\x7f"
GREETING = SIGNATURE + b"\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
MORE = 1
DESCRIPTORS = 64
MEGABYTES = 64


def command(body: bytes) -> bytes:
    return struct.pack("BB", 4, len(body)) + body


def ready(identity: bytes = b"") -> bytes:
    properties = b"\x0bSocket-Type\0\0\0\6DEALER\x08Identity" + struct.pack(">I", len(identity)) + identity
    return command(b"\5READY" + properties)


def frame(n_bytes: int, flags: int = 0) -> bytes:
    """Only the head of a frame."""
    return struct.pack(">BQ", flags | 2, n_bytes)


def follower() -> Follower:
    made = Follower(1000, 5)
    made.feed(memoryview(GREETING + ready(b"who")))
    return made


# --- Following a connection -----------------------------------------------------------------------------------------
@given(st.lists(st.integers(1, 50)))
def test_a_connection_is_followed_however_it_is_cut(cuts: list[int]) -> None:
    said = GREETING + ready(b"who") + frame(300, MORE) + bytes(300) + b"\0\5" + bytes(5) + frame(200, MORE) + bytes(90)
    one = Follower(1000, 5)
    for n_bytes in cuts:
        one.feed(memoryview(said[:n_bytes]))
        said = said[n_bytes:]
    one.feed(memoryview(said))
    assert (one.is_signed, one.is_ready, one.identity) == (True, True, b"who")
    assert one.unfinished_bytes == 200


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (frame(1001), "a message is too long"),
        (frame(600, MORE) + bytes(600) + frame(401), "a message is too long"),
        (6 * (b"\1\0"), "a message is too long"),
        (frame(2**64 - 1), "a message is too long"),
        (b"\x08\0", "it has an unknown kind of frame"),
        (struct.pack(">BQ", 6, MAX_COMMAND_BYTES + 1), "a command is too long"),
    ],
)
def test_what_is_too_much_is_refused(said: bytes, why: str) -> None:
    with pytest.raises(BadZmtpError, match=f"^{why}$"):
        follower().feed(memoryview(said))


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n", bytes(10), SIGNATURE + b"\1" + bytes(60)])
def test_who_does_not_begin_as_zeromq_does_is_refused(said: bytes) -> None:
    with pytest.raises(BadZmtpError):
        Follower(1000, 5).feed(memoryview(said))


@given(st.binary())
def test_any_bytes_are_followed_or_refused(said: bytes) -> None:
    one = follower()
    with suppress(BadZmtpError):
        one.feed(memoryview(said))
    assert one.unfinished_bytes <= 1000


# --- At the door ----------------------------------------------------------------------------------------------------
class Door:
    """A rendezvous of one node, strangers before it, and what this process has open and in memory."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.server = stack.enter_context(RendezvousServer("tcp://127.0.0.1:*", 1, PACE))
        self._host, _, port = self.server.endpoint.removeprefix("tcp://").partition(":")
        self._port = int(port)
        self._strangers: list[socket.socket] = []
        self._before = self._n_descriptors(), self._resident_bytes()

    @staticmethod
    def _n_descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    @staticmethod
    def _resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    @property
    def n_descriptors(self) -> int:
        """Descriptors more than before, without the strangers' own, which belong to this process, too."""
        return self._n_descriptors() - self._before[0] - len(self._strangers)

    @property
    def megabytes(self) -> float:
        return (self._resident_bytes() - self._before[1]) / 2**20

    def stranger(self, words: bytes = b"") -> socket.socket:
        made = self._stack.enter_context(socket.create_connection((self._host, self._port)))
        self._strangers.append(made)
        made.settimeout(1)
        with suppress(OSError):
            made.sendall(words)
        return made

    def lets_in(self) -> float:
        """Lets a node join; returns the time that it took in s."""
        began_s = time.monotonic()
        self._stack.enter_context(RendezvousGroup(self.server.endpoint, synthetic.hello(0, 1), PACE))
        return time.monotonic() - began_s


@pytest.fixture
def door() -> Iterator[Door]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip(f"1000 strangers need more than {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    with ExitStack() as stack:
        yield Door(stack)


@pytest.mark.parametrize("words", [b"", SIGNATURE[:1], SIGNATURE, GREETING, GREETING + ready()],
                         ids=["silent", "a byte", "signature", "greeting", "ready"])  # fmt: skip
def test_a_thousand_strangers_cost_few_descriptors_and_keep_nobody_out(door: Door, words: bytes) -> None:
    for _ in range(1000):
        door.stranger(words)
    took_s = door.lets_in()
    cost = f"{door.n_descriptors} descriptors, {door.megabytes:.1f} MB"
    print(f"{words!r:.20}: {cost}, a node came in within {took_s:.3f} s")
    assert eventually(lambda: door.n_descriptors <= DESCRIPTORS)
    assert door.megabytes <= MEGABYTES


def test_messages_that_never_end_are_bounded(door: Door) -> None:
    """Frames without end, large and small; each stranger sends as much as is accepted."""
    for flood in (frame(1 << 16, MORE) + bytes(1 << 16), b"\1\0" * (1 << 15), frame(1 << 40) + bytes(1 << 16)):
        for _ in range(2 * MAX_STRANGERS):
            stranger = door.stranger(GREETING + ready())
            assert eventually(lambda stranger=stranger, flood=flood: _is_broken_by(stranger, flood))
    print(f"{door.megabytes:.1f} MB")
    assert door.megabytes <= MEGABYTES
    assert door.lets_in() >= 0
    assert eventually(lambda: door.server.counters.get("strangers_closed"))


def test_a_node_may_say_more_than_a_stranger(door: Door) -> None:
    content = bytes(8 << 20)
    with RendezvousGroup(door.server.endpoint, synthetic.hello(0, 1), PACE) as group:
        assert len(content) > MAX_STRANGERS_MESSAGE_BYTES
        assert group.gather(content) == [(0, content)]


def test_all_unfinished_messages_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for nodes, too: the connection with most under way is closed."""
    monkeypatch.setattr(connection_guard, "MAX_UNFINISHED_BYTES", MAX_MESSAGE_BYTES - 1)
    with ExitStack() as stack:
        door = Door(stack)
        monkeypatch.setattr(door.server._gate, "_is_node", lambda identity: identity in (b"one", b"two"))
        nodes = [door.stranger(GREETING + ready(name)) for name in (b"one", b"two")]
        half = MAX_MESSAGE_BYTES // 2
        for node, n_bytes in zip(nodes, (half, half + (1 << 10)), strict=True):
            assert eventually(lambda node=node: node.recv(1 << 10))
            with suppress(ConnectionError):
                for _ in range(2):
                    node.sendall(frame(n_bytes // 2, MORE) + bytes(n_bytes // 2))
        assert eventually(lambda: _is_closed(nodes[1]))
        assert not _is_closed(nodes[0])


def _is_broken_by(one: socket.socket, flood: bytes) -> bool:
    try:
        one.sendall(flood)
    except ConnectionError:
        return True
    return False


def _is_closed(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        while content := one.recv(1 << 10):
            assert content
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
