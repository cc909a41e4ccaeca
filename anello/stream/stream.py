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
    """The peer wrote an invalid value: an index outside the ring, or a message longer than the ring."""


class MessageTooLargeError(ValueError):
    """More bytes in one piece than the ring holds."""


class Stream:
    """One end of a stream. Made by connect() and Listener.accept()."""

    def __init__(self, engine_stream: "_engine.Stream") -> None:
        self._stream = engine_stream

    # --- Sending
    def send(self, data: "ReadableBuffer | NDArray[Any]", timeout: float | None = None) -> int:
        """Sends all of data, or with timeout 0 as much as there is room for; returns the number of bytes."""
        status, n_bytes = self._stream.send(data, _ns(timeout))
        _check(status, n_bytes)
        return n_bytes

    def send_message(self, message: "ReadableBuffer | NDArray[Any]", timeout: float | None = None) -> None:
        """Sends one message, completely or not at all."""
        _check(self._stream.send_message(message, _ns(timeout)))

    def reserve(self, n_bytes: int, timeout: float | None = None) -> Bytes:
        """Reserves room in the ring, uint8[n_bytes], to be written in place; after commit() it must not be touched."""
        status, room = self._stream.reserve(n_bytes, _ns(timeout))
        _check(status)
        return room

    def commit(self, n_bytes: int) -> None:
        """Sends the first n_bytes of the reserved room."""
        self._stream.commit(n_bytes)

    def finish(self) -> None:
        """Sends the end of stream: the peer receives what was sent, then nothing. This side can still receive."""
        self._stream.end("finish")

    # --- Receiving
    def recv(self, n_bytes: int, timeout: float | None = None) -> bytes:
        """Receives up to n_bytes, at least one; b"" is the end of stream."""
        room = bytearray(n_bytes)
        return bytes(memoryview(room)[: self.recv_into(room, timeout)])

    def recv_into(self, room: "WriteableBuffer | NDArray[Any]", timeout: float | None = None) -> int:
        """Receives the available bytes, at least one, into a writable buffer; 0 is the end of stream."""
        status, n_bytes = self._stream.recv_into(room, False, _ns(timeout))
        if status != "closed":
            _check(status, n_bytes)
        return n_bytes

    def recv_exactly(self, room: "WriteableBuffer | NDArray[Any]", timeout: float | None = None) -> None:
        """Fills the buffer. Raises EOFError where the stream ends before; its n_bytes is the number of bytes
        received."""
        status, n_bytes = self._stream.recv_into(room, True, _ns(timeout))
        if status == "closed":
            error = EOFError(f"the stream ended after {n_bytes} of the bytes asked for")
            error.n_bytes = n_bytes  # type: ignore[attr-defined]
            raise error
        _check(status, n_bytes)

    def peek(self, n_bytes: int = 1, timeout: float | None = None) -> Bytes:
        """A view of all available bytes, at least n_bytes: read-only uint8[N] in the ring, valid until release().
        Shorter than n_bytes only at the end of stream."""
        status, found = self._stream.peek(n_bytes, _ns(timeout))
        if status != "closed":
            _check(status)
        return found

    def release(self, n_bytes: int) -> None:
        """Returns the room of the first n_bytes of the view to the sender."""
        self._stream.release(n_bytes)

    def recv_message(self, timeout: float | None = None) -> bytes | None:
        """A copy of the next message; None is the end of stream."""
        with self.message(timeout) as found:
            return None if found is None else found.tobytes()

    @contextmanager
    def message(self, timeout: float | None = None) -> Iterator[Bytes | None]:
        """The next message as a view in the ring, read-only uint8[N], 8-byte aligned, until the end of the block;
        None is the end of stream."""
        status, found = self._stream.peek_message(_ns(timeout))
        if status == "closed":
            yield None
            return
        _check(status)
        yield found
        self._stream.release_message()

    def messages(self, timeout: float | None = None) -> Iterator[Bytes]:
        """Every message until the end of stream, in the form of message()."""
        while True:
            with self.message(timeout) as found:
                if found is None:
                    return
                yield found

    # --- Both
    def fileno(self) -> int:
        """A descriptor that is readable when there may be data, or the peer has gone, after a call with timeout 0
        raised BlockingIOError."""
        return self._stream.fileno()

    def space_fileno(self) -> int:
        """A descriptor that is readable when there may be room to send."""
        return self._stream.space_fileno()

    def largest_message(self) -> int:
        """The largest message in bytes; 0 where this side does not send."""
        return self._stream.largest_message()

    def counters(self) -> dict[str, int]:
        return self._stream.counters()["stream"]

    def close(self) -> None:
        """Ends the stream in both directions and releases memory and descriptors; arrays that lie in the rings stay
        readable. Over a network the last bytes are sent first, for at most peer_timeout_s: ConnectionResetError,
        with n_bytes, reports how many were not."""
        if n_left := self._stream.end("close"):
            error = ConnectionResetError(f"the peer did not take the last {n_left} bytes: they are lost")
            error.n_bytes = n_left  # type: ignore[attr-defined]
            raise error

    def abandon(self) -> None:
        """Closes without an end of stream: to the peer this looks like the death of this process."""
        self._stream.end("abandon")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A block that raised sends no end of stream, so that the peer cannot take half of the data for all."""
        if kind is None:
            self.close()
        else:
            self.abandon()


class Listener:
    """Accepts streams. Made by listen()."""

    def __init__(self, engine_listener: "_engine.StreamListener") -> None:
        self._listener: _engine.StreamListener | None = engine_listener

    def accept(self, timeout: float | None = None) -> Stream:
        """The next peer. Peers that are incompatible or silent are refused and counted. Raises TimeoutError."""
        with engine_errors():
            accepted = self._open().accept(_ns(timeout))
        if accepted is None:
            raise TimeoutError("no peer connected in time")
        return Stream(accepted)

    def fileno(self) -> int:
        """A descriptor that is readable when a peer connects."""
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
    (port 0: any free one; `address` has it). peer_timeout_s, carry, ucx_tls and keys are only for the network.
    ring_bytes: bytes that each peer may have on their way to us.
    allow_users: names or ids of users who may connect on this machine, besides our own and root.
    keys: a folder of `anello exchange --make-keys`, by which both sides over a network authenticate; required for an
    address that other machines reach, unless without_keys is given.
    Raises ConfigError and OSError.
    """
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
    """Connects; addresses as for listen(). Tries for connect_s until a listener is there.
    allow_users: other users that may listen there, besides our own and root. keys, without_keys: as for listen().

    Raises ConfigError (also if the two sides are incompatible, or a stranger listens) and OSError.
    """
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
    """The pair of keys of the nodes, and all public keys that the other end may have. Raises ConfigError."""
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
