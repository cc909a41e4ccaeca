# SPDX-License-Identifier: Apache-2.0
"""Byte streams between processes, through memory that both share or over a network: docs/how-to/stream.md.

    with listen("/run/me.stream") as listener, listener.accept() as stream:
        data = stream.recv(1 << 20)

    with connect("/run/me.stream") as stream:
        stream.send(array)

Times are seconds; timeout None waits for ever, 0 never waits. One thread may send while another receives.

Errors: BlockingIOError (nothing there, or no room, and timeout is 0), TimeoutError (its attribute n_bytes tells how
much of a send or a recv_exactly was done), BrokenPipeError (the peer takes no more), ConnectionResetError (the peer
died), MessageTooLargeError (can never fit into the ring), StreamCorruptError (the peer broke the protocol).
"""

import pwd
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from anello.errors import ConfigError, engine_errors

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    from anello import _engine

Bytes = NDArray[np.uint8]
Direction = Literal["both", "send", "receive"]
Wait = Literal["spin", "spin_then_sleep", "block"]
Carry = Literal["message", "put"]


class StreamCorruptError(ConnectionError):
    """The peer wrote what cannot be: an index outside the ring, or a message's length beyond it."""


class MessageTooLargeError(ValueError):
    """More bytes in one piece than the ring holds."""


class Stream:
    """Made by connect() and Listener.accept()."""

    def __init__(self, engine_stream: "_engine.Stream") -> None:
        self._stream = engine_stream

    # --- Sending
    def send(self, data: "ReadableBuffer | NDArray[Any]", timeout: float | None = None) -> int:
        """All of data, or with timeout 0 as much as there is room for; the number of bytes."""
        status, n_bytes = self._stream.send(data, _ns(timeout))
        _check(status, n_bytes)
        return n_bytes

    def send_message(self, message: "ReadableBuffer | NDArray[Any]", timeout: float | None = None) -> None:
        """One message, whole or not at all."""
        _check(self._stream.send_message(message, _ns(timeout)))

    def reserve(self, n_bytes: int, timeout: float | None = None) -> Bytes:
        """Room in the ring, uint8[n_bytes], to be written in place; nothing of it may be touched after commit()."""
        status, room = self._stream.reserve(n_bytes, _ns(timeout))
        _check(status)
        return room

    def commit(self, n_bytes: int) -> None:
        """Sends the first n_bytes of what was reserved."""
        self._stream.commit(n_bytes)

    def finish(self) -> None:
        """End of stream: the peer gets what was sent, then nothing. Receiving goes on."""
        self._stream.end("finish")

    # --- Receiving
    def recv(self, n_bytes: int, timeout: float | None = None) -> bytes:
        """Up to n_bytes, at least one; b"" is the end of stream."""
        room = bytearray(n_bytes)
        return bytes(memoryview(room)[: self.recv_into(room, timeout)])

    def recv_into(self, room: "WriteableBuffer | NDArray[Any]", timeout: float | None = None) -> int:
        """What is there, at least one byte, into a writable buffer; 0 is the end of stream."""
        status, n_bytes = self._stream.recv_into(room, False, _ns(timeout))
        if status != "closed":
            _check(status, n_bytes)
        return n_bytes

    def recv_exactly(self, room: "WriteableBuffer | NDArray[Any]", timeout: float | None = None) -> None:
        """Fills the buffer. EOFError where the stream ends before; its n_bytes tells how much came."""
        status, n_bytes = self._stream.recv_into(room, True, _ns(timeout))
        if status == "closed":
            error = EOFError(f"the stream ended after {n_bytes} of the bytes asked for")
            error.n_bytes = n_bytes  # type: ignore[attr-defined]
            raise error
        _check(status, n_bytes)

    def peek(self, n_bytes: int = 1, timeout: float | None = None) -> Bytes:
        """All bytes that are there, at least n_bytes, where they lie: read-only uint8[N], valid until release().
        Shorter than n_bytes only at the end of stream."""
        status, found = self._stream.peek(n_bytes, _ns(timeout))
        if status != "closed":
            _check(status)
        return found

    def release(self, n_bytes: int) -> None:
        """Gives the first n_bytes of what was peeked at back to the sender."""
        self._stream.release(n_bytes)

    def recv_message(self, timeout: float | None = None) -> bytes | None:
        """A copy of the next message; None is the end of stream."""
        with self.message(timeout) as found:
            return None if found is None else found.tobytes()

    @contextmanager
    def message(self, timeout: float | None = None) -> Iterator[Bytes | None]:
        """The next message where it lies, read-only uint8[N], 8-byte aligned, until the end of the block; None is the
        end of stream."""
        status, found = self._stream.peek_message(_ns(timeout))
        if status == "closed":
            yield None
            return
        _check(status)
        yield found
        self._stream.release_message()

    def messages(self, timeout: float | None = None) -> Iterator[Bytes]:
        """Every message until the end of stream, as message() gives them."""
        while True:
            with self.message(timeout) as found:
                if found is None:
                    return
                yield found

    # --- Both
    def fileno(self) -> int:
        """Readable when there may be data, or the peer is gone, after a call with timeout 0 raised BlockingIOError."""
        return self._stream.fileno()

    def space_fileno(self) -> int:
        """The same for room."""
        return self._stream.space_fileno()

    def largest_message(self) -> int:
        """In bytes; 0 where this side does not send."""
        return self._stream.largest_message()

    def counters(self) -> dict[str, int]:
        return self._stream.counters()["stream"]

    def close(self) -> None:
        """End of stream, and nothing more from the peer. Memory and descriptors go back; arrays that lie in the rings
        stay readable. Over a network the last bytes leave first, for at most peer_timeout_s: ConnectionResetError,
        with n_bytes, tells how many did not."""
        if n_left := self._stream.end("close"):
            error = ConnectionResetError(f"the peer did not take the last {n_left} bytes: they are lost")
            error.n_bytes = n_left  # type: ignore[attr-defined]
            raise error

    def abandon(self) -> None:
        """Goes without an end of stream: the peer finds that we died."""
        self._stream.end("abandon")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A block that failed leaves no end of stream, so that the peer cannot take half of the data for all."""
        if kind is None:
            self.close()
        else:
            self.abandon()


class Listener:
    """Made by listen()."""

    def __init__(self, engine_listener: "_engine.StreamListener") -> None:
        self._listener: _engine.StreamListener | None = engine_listener

    def accept(self, timeout: float | None = None) -> Stream:
        """The next peer. Those that do not fit, or say nothing, are refused and counted. Raises TimeoutError."""
        with engine_errors():
            accepted = self._open().accept(_ns(timeout))
        if accepted is None:
            raise TimeoutError("no peer connected in time")
        return Stream(accepted)

    def fileno(self) -> int:
        """Readable when a peer knocks."""
        return self._open().fileno()

    @property
    def address(self) -> str:
        return self._open().address()

    def counters(self) -> dict[str, int]:
        return self._open().counters()["listener"]

    def _open(self) -> "_engine.StreamListener":
        if self._listener is None:
            raise ValueError("the listener is closed")
        return self._listener

    def close(self) -> None:
        self._listener = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def listen(
    address: str,
    *,
    ring_bytes: int = 4 << 20,
    grain_bytes: int = 256 << 10,
    max_peer_ring_bytes: int = 1 << 30,
    direction: Direction = "both",
    wait: Wait = "spin_then_sleep",
    spin_us: float = 50.0,
    handshake_s: float = 1.0,
    peer_timeout_s: float = 5.0,
    carry: Carry = "message",
    ucx_tls: str = "",
    allow_users: Sequence[int | str] = (),
    keys: Path | None = None,
    without_keys: bool = False,
) -> Listener:
    """Listens at a path, at a name without a file behind "@", or over a network at ucx://HOST:PORT or tcp://HOST:PORT
    (port 0: any free one; `address` tells). peer_timeout_s, carry, ucx_tls and keys are of the network only.
    ring_bytes: what each peer may have on its way to us.
    allow_users: names or ids of users who may connect on this machine, besides our own and root.
    keys: a folder of `anello exchange --make-keys`, by which both sides over a network prove who they are; it must be
    given for an address that other machines reach, or else without_keys.
    Raises ConfigError and OSError."""
    from anello.engine import _engine

    with engine_errors():
        config = _config(
            ring_bytes=ring_bytes,
            grain_bytes=grain_bytes,
            max_peer_ring_bytes=max_peer_ring_bytes,
            direction=direction,
            wait=wait,
            spin_us=spin_us,
            handshake_s=handshake_s,
            peer_timeout_s=peer_timeout_s,
            carry=carry,
            ucx_tls=ucx_tls,
            allow_users=allow_users,
            keys=keys,
            without_keys=without_keys,
        )
        return Listener(_engine.StreamListener(address, config))


def connect(
    address: str,
    *,
    ring_bytes: int = 4 << 20,
    grain_bytes: int = 256 << 10,
    max_peer_ring_bytes: int = 1 << 30,
    direction: Direction = "both",
    wait: Wait = "spin_then_sleep",
    spin_us: float = 50.0,
    connect_s: float = 5.0,
    peer_timeout_s: float = 5.0,
    carry: Carry = "message",
    ucx_tls: str = "",
    allow_users: Sequence[int | str] = (),
    keys: Path | None = None,
    without_keys: bool = False,
) -> Stream:
    """Connects; addresses as for listen(). Tries until somebody listens, for connect_s.
    allow_users: other users that may listen there, besides our own and root. keys, without_keys: as for listen().

    Raises ConfigError (also if the two sides are incompatible, or a stranger listens) and OSError."""
    from anello.engine import _engine

    with engine_errors():
        config = _config(
            ring_bytes=ring_bytes,
            grain_bytes=grain_bytes,
            max_peer_ring_bytes=max_peer_ring_bytes,
            direction=direction,
            wait=wait,
            spin_us=spin_us,
            connect_s=connect_s,
            peer_timeout_s=peer_timeout_s,
            carry=carry,
            ucx_tls=ucx_tls,
            allow_users=allow_users,
            keys=keys,
            without_keys=without_keys,
        )
        return Stream(_engine.stream_connect(address, config))


def _config(
    *,
    ring_bytes: int,
    grain_bytes: int,
    max_peer_ring_bytes: int,
    direction: str,
    wait: str,
    spin_us: float,
    peer_timeout_s: float,
    carry: str,
    ucx_tls: str,
    allow_users: Sequence[int | str],
    keys: Path | None,
    without_keys: bool,
    connect_s: float = 5.0,
    handshake_s: float = 1.0,
) -> "_engine.StreamConfig":
    from anello.engine import _engine

    return _engine.stream_config(
        ring_bytes=ring_bytes,
        grain_bytes=grain_bytes,
        max_peer_ring_bytes=max_peer_ring_bytes,
        direction=direction,
        wait=wait,
        spin_ns=round(spin_us * 1e3),
        connect_ns=round(connect_s * 1e9),
        handshake_ns=round(handshake_s * 1e9),
        peer_timeout_ns=round(peer_timeout_s * 1e9),
        carry=carry,
        ucx_tls=ucx_tls,
        allowed_users=[_user_id(user) for user in allow_users],
        keys=None if keys is None else _keys_in(keys),
        without_keys=without_keys,
    )


def _keys_in(folder: Path) -> "_engine.StreamKeys":
    """The pair of the nodes, and all public keys that may be at the other end. Raises ConfigError."""
    from zmq.utils import z85

    from anello.engine import _engine
    from anello.system.secret_keys import Keys

    found = Keys.load(folder)
    return _engine.stream_keys(
        own_public=z85.decode(found.node_public),
        own_secret=z85.decode(found.node_secret),
        allowed=[z85.decode(public) for public in sorted(found.allowed)],
    )


def _user_id(user: int | str) -> int:
    try:
        return user if isinstance(user, int) else pwd.getpwnam(user).pw_uid
    except KeyError as error:
        raise ConfigError(
            "allow_users", "must be users of this machine", str(user), "getent passwd lists them"
        ) from error


def _ns(timeout: float | None) -> int:
    from anello.engine import _engine

    return _engine.no_deadline_ns if timeout is None else round(timeout * 1e9)


def _check(status: str, n_bytes: int = 0) -> None:
    if status == "ok":
        return
    error: Exception = {
        "would_block": BlockingIOError("nothing there, or no room"),
        "timeout": TimeoutError(f"the deadline came after {n_bytes} bytes"),
        "closed": BrokenPipeError("the stream is closed: the peer takes no more, or we ended it"),
        "peer_died": ConnectionResetError("the peer went away without an end of stream"),
        "too_large": MessageTooLargeError("more bytes in one piece than the ring holds; use a larger ring_bytes there"),
        "corrupt": StreamCorruptError("the peer broke the protocol: the stream is dead"),
    }[status]
    error.n_bytes = n_bytes  # type: ignore[attr-defined]
    raise error
