# SPDX-License-Identifier: Apache-2.0
"""Peers that speak ZMTP, offer a ring, and then do what they should not: none of this may do harm."""

import array
import fcntl
import mmap
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zmq
from zmq_peers import PATIENCE_MS, n_lent, n_rings

pytestmark = pytest.mark.process

Make = Callable[..., zmq.Socket]
PAGE = mmap.PAGESIZE
SMALL = 64 * 1024
F_ADD_SEALS, SEALS = 1033, 1 | 2 | 4  # SEAL, SHRINK, GROW
HEAD, TAIL = 64, 128  # of the header: docs/reference/stream-layout.md


def property_of(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + struct.pack(">I", len(value)) + value


class Stranger:
    """A ZMTP 3.1 peer by hand (rfc.zeromq.org/spec/23): the side that connects, so the one that makes the rings."""

    def __init__(self, path: str, kind: bytes = b"PUSH") -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_MS / 1000)
        self.socket.connect(path)
        self.socket.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(16 + 32))
        self.take(64)
        ready = b"\x05READY" + property_of(b"Socket-Type", kind) + property_of(b"X-Anello-Ring", b"2")
        self.socket.sendall(b"\x04" + bytes([len(ready)]) + ready)
        flags, n_bytes = self.take(2)
        assert flags == 4
        assert b"X-Anello-Ring" in self.take(n_bytes)

    def take(self, n_bytes: int) -> bytes:
        taken = b""
        while len(taken) < n_bytes:
            piece = self.socket.recv(n_bytes - len(taken))
            assert piece, "the connection ended"
            taken += piece
        return taken

    def offer(self, *descriptors: int) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self.socket.sendmsg([b"R"], rights)

    def lend(self, *descriptors: int) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self.socket.sendmsg([b"L"], rights)

    def is_dropped(self) -> bool:
        """Waits for the other side to hang up; bells that it may have rung do not count."""
        try:
            while self.socket.recv(100):
                pass
        except ConnectionResetError:
            pass
        return True


def ring(n_bytes: int = SMALL, file_bytes: int | None = None, seals: int = SEALS, says: int | None = None) -> int:
    memory = os.memfd_create("stranger", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, n_bytes + PAGE if file_bytes is None else file_bytes)
    os.pwrite(memory, b"ANELRING" + struct.pack("<IIQ", 1, 0, n_bytes if says is None else says), n_bytes)
    fcntl.fcntl(memory, F_ADD_SEALS, seals)
    return memory


def write_word(memory: int, n_bytes: int, offset: int, value: int) -> None:
    os.pwrite(memory, struct.pack("<Q", value % (1 << 64)), n_bytes + offset)


def message(data: bytes) -> bytes:
    return bytes([0, len(data)]) + data


@pytest.fixture
def pull(make: Make, endpoint: str) -> Iterator[zmq.Socket]:
    made = make(zmq.PULL, HANDSHAKE_IVL=PATIENCE_MS)
    made.bind(f"ipc://{endpoint}")
    yield made
    # Whatever the stranger did: the next one is served.
    other = make(zmq.PUSH)
    other.connect(f"ipc://{endpoint}")
    other.send(b"served")
    while made.recv() != b"served":
        pass


def test_a_peer_by_hand_can_use_the_rings(pull: zmq.Socket, endpoint: str) -> None:
    """The layout as it is written down, from another language."""
    stranger = Stranger(endpoint)
    send, receive = ring(), ring()
    stranger.offer(send, receive)
    assert stranger.take(1) == b"Y"
    frame = message(b"by hand")
    os.pwrite(send, frame, 0)
    write_word(send, SMALL, HEAD, len(frame))
    stranger.socket.sendall(b"!")
    assert pull.recv() == b"by hand"


@pytest.mark.parametrize(
    "rings",
    [
        lambda: [],
        lambda: [ring()],
        lambda: [ring(), os.open("/dev/null", os.O_RDWR)],
        lambda: [ring(seals=0), ring()],
        lambda: [ring(), ring(seals=4)],
        lambda: [ring(n_bytes=SMALL + PAGE), ring()],
        lambda: [ring(n_bytes=PAGE), ring()],
        lambda: [ring(file_bytes=100), ring()],
        lambda: [ring(file_bytes=1 << 45), ring()],
        lambda: [ring(says=1 << 20), ring()],
        lambda: [ring(), ring(), ring(), ring()],
        lambda: [ring(file_bytes=PAGE), ring()],
    ],
)
def test_rings_that_cannot_be_are_refused_and_the_socket_serves(
    pull: zmq.Socket, endpoint: str, rings: Callable[[], list[int]]
) -> None:
    before = n_rings()
    stranger = Stranger(endpoint)
    offered = rings()
    stranger.offer(*offered)
    answer = stranger.take(1)
    assert answer == b"N" or len(offered) > 2  # more than two: the first two may do
    if answer == b"N":
        stranger.socket.sendall(message(b"over the socket"))
        assert pull.recv() == b"over the socket"
    assert n_rings() == before
    for descriptor in offered:
        os.close(descriptor)


@pytest.mark.parametrize("head", [SMALL + 1, 1 << 40, -1])
def test_an_index_that_cannot_be_ends_the_connection(pull: zmq.Socket, endpoint: str, head: int) -> None:
    stranger = Stranger(endpoint)
    send, receive = ring(), ring()
    stranger.offer(send, receive)
    assert stranger.take(1) == b"Y"
    write_word(send, SMALL, HEAD, head)
    stranger.socket.sendall(b"!")
    assert stranger.is_dropped()


def test_a_tail_that_cannot_be_stops_the_sender(make: Make, endpoint: str) -> None:
    push = make(zmq.PUSH)
    push.bind(f"ipc://{endpoint}")
    stranger = Stranger(endpoint, kind=b"PULL")
    send, receive = ring(), ring()
    write_word(receive, SMALL, TAIL, 1 << 30)
    stranger.offer(send, receive)
    assert stranger.take(1) == b"Y"
    push.send(b"x" * SMALL * 4)
    assert stranger.is_dropped()


def test_a_wrong_word_ends_the_connection(pull: zmq.Socket, endpoint: str) -> None:
    stranger = Stranger(endpoint)
    stranger.socket.sendall(b"?")
    assert stranger.is_dropped()


def test_garbage_in_a_ring_ends_the_connection(pull: zmq.Socket, endpoint: str) -> None:
    """A frame longer than any memory."""
    stranger = Stranger(endpoint)
    send, receive = ring(), ring()
    os.pwrite(send, b"\x02" + b"\x7f" + b"\xff" * 7, 0)
    write_word(send, SMALL, HEAD, 9)
    stranger.offer(send, receive)
    assert stranger.take(1) == b"Y"
    assert stranger.is_dropped()


def test_a_peer_that_says_nothing_more_is_dropped(make: Make, endpoint: str) -> None:
    """A peer that exchanged offers and then is silent: the handshake's deadline holds for it, too."""
    pull = make(zmq.PULL, HANDSHAKE_IVL=100)
    pull.bind(f"ipc://{endpoint}")
    stranger = Stranger(endpoint)
    assert stranger.is_dropped()


def test_bells_without_end_do_no_harm(pull: zmq.Socket, endpoint: str) -> None:
    stranger = Stranger(endpoint)
    send, receive = ring(), ring()
    stranger.offer(send, receive)
    assert stranger.take(1) == b"Y"
    frame = message(b"after the noise")

    def ring_bells() -> None:
        for _ in range(2000):
            stranger.socket.sendall(b"!" * 1000)
        os.pwrite(send, frame, 0)
        write_word(send, SMALL, HEAD, len(frame))
        stranger.socket.sendall(b"!")

    noise = threading.Thread(target=ring_bells)
    noise.start()
    assert pull.recv() == b"after the noise"
    noise.join()


def test_a_peer_that_takes_without_having_offered_is_of_the_socket(make: Make, endpoint: str, tmp_path: Path) -> None:
    """A listener that answers yes to an offer it never got."""
    listener = socket.socket(socket.AF_UNIX)
    path = str(tmp_path / "listener")
    listener.bind(path)
    listener.listen()
    push = make(zmq.PUSH, RECONNECT_IVL=-1)
    push.connect(f"ipc://{path}")
    accepted, _ = listener.accept()
    accepted.settimeout(PATIENCE_MS / 1000)
    accepted.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(16 + 32))
    ready = b"\x05READY" + property_of(b"Socket-Type", b"PULL")
    accepted.sendall(b"\x04" + bytes([len(ready)]) + ready)
    push.send(b"plain")
    received = b""
    while not received.endswith(message(b"plain")):
        piece = accepted.recv(1000)
        assert piece
        received += piece
    assert n_rings() == 0


# --- Lent memory
CELL = 16 * 1024
N_CELLS = 16
CELLS = PAGE  # where they begin


def lent_memory(file_bytes: int | None = None, seals: int = SEALS, says: int = N_CELLS * CELL) -> int:
    memory = os.memfd_create("stranger-lends", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, CELLS + N_CELLS * CELL if file_bytes is None else file_bytes)
    os.pwrite(memory, b"ANELLENT" + struct.pack("<Q", says), 0)
    fcntl.fcntl(memory, F_ADD_SEALS, seals)
    return memory


def loan(first_cell: int, n_bytes: int, more: bool = False) -> bytes:
    return bytes([0x05 if more else 0x04, 24]) + b"\x07ANELENT" + struct.pack("<QQ", first_cell, n_bytes)


class Lender(Stranger):
    """A peer by hand that has handed over its rings."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.ring, self.n_sent = ring(), 0
        self.offer(self.ring, ring())
        assert self.take(1) == b"Y"

    def take_answer(self) -> bytes:
        answer = b"!"
        while answer == b"!":
            answer = self.take(1)
        return answer

    def send(self, frames: bytes) -> None:
        os.pwrite(self.ring, frames, self.n_sent)
        self.n_sent += len(frames)
        write_word(self.ring, SMALL, HEAD, self.n_sent)
        self.socket.sendall(b"!")


def test_a_peer_by_hand_can_lend(pull: zmq.Socket, endpoint: str) -> None:
    stranger = Lender(endpoint)
    memory = lent_memory()
    stranger.lend(memory)
    assert stranger.take_answer() == b"A"
    os.pwrite(memory, b"x" * 40_000, CELLS + 2 * CELL)
    os.pwrite(memory, b"y" * 10, CELLS + 15 * CELL)
    stranger.send(loan(2, 40_000, more=True) + loan(15, 10))
    frames = pull.recv_multipart(copy=False)
    assert [bytes(frame) for frame in frames] == [b"x" * 40_000, b"y" * 10]
    returned = 3 * 64  # after the header
    assert os.pread(memory, N_CELLS, returned) == bytes(N_CELLS)
    frames.clear()
    assert os.pread(memory, N_CELLS, returned) == b"\0\0\1" + bytes(12) + b"\1"


@pytest.mark.parametrize(
    "memory",
    [
        lambda: [],
        lambda: [lent_memory(seals=0)],
        lambda: [lent_memory(seals=4)],
        lambda: [lent_memory(file_bytes=100)],
        lambda: [lent_memory(file_bytes=CELLS + N_CELLS * CELL - PAGE)],
        lambda: [lent_memory(says=1 << 50)],
        lambda: [lent_memory(says=CELL + 1)],
        lambda: [lent_memory(says=0)],
        lambda: [ring()],
        lambda: [os.open("/dev/null", os.O_RDWR)],
    ],
)
def test_memory_that_cannot_be_is_not_borrowed(
    pull: zmq.Socket, endpoint: str, memory: Callable[[], list[int]]
) -> None:
    stranger = Lender(endpoint)
    before = n_lent()
    offered = memory()
    stranger.lend(*offered)
    stranger.send(message(b"continues by the ring"))
    assert pull.recv() == b"continues by the ring"
    assert n_lent() == before
    stranger.send(loan(0, 10))
    assert stranger.is_dropped()
    for descriptor in offered:
        os.close(descriptor)


@pytest.mark.parametrize(
    "loans",
    [
        [(N_CELLS, 1)],
        [(0, N_CELLS * CELL + 1)],
        [(N_CELLS - 1, CELL + 1)],
        [(0, 0)],
        [(1 << 63, 10)],
        [((1 << 64) // CELL, 10)],
        [(0, (1 << 64) - 1)],
        [(3, 10), (3, 10)],
    ],
)
def test_a_loan_that_cannot_be_ends_the_connection(
    pull: zmq.Socket, endpoint: str, loans: list[tuple[int, int]]
) -> None:
    stranger = Lender(endpoint)
    stranger.lend(lent_memory())
    assert stranger.take_answer() == b"A"
    stranger.send(b"".join(loan(first_cell, n_bytes) for first_cell, n_bytes in loans))
    assert stranger.is_dropped()
