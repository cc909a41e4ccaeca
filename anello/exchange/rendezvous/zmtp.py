# SPDX-License-Identifier: Apache-2.0
"""Parses a ZeroMQ connection byte by byte without storing it: ZMTP 3 (https://rfc.zeromq.org/spec/23).

ZeroMQ itself limits the size of a frame, but neither the number of frames in a message nor the memory for unfinished
messages.
"""

from collections.abc import Generator

SIGNATURE_BYTES, GREETING_BYTES = 10, 64
MAX_COMMAND_BYTES = 8 << 10
MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame


class BadZmtpError(ValueError):
    """These bytes are not ZMTP 3, or more than allowed; str() says which."""


class Follower:
    """Follows one direction of a connection. max_message_bytes may be changed at any time."""

    def __init__(self, max_message_bytes: int, max_frames: int) -> None:
        self.max_message_bytes, self._max_frames = max_message_bytes, max_frames
        self.is_signed = False  # the first bytes were those of ZMTP
        self.is_ready = False  # this side has completed its handshake
        self.identity = b""  # from a handshake without keys
        self.unfinished_bytes = self._n_frames = 0  # of the message in progress
        self._collected = bytearray()
        self._steps = self._follow()
        self._wanted = next(self._steps)

    def feed(self, content: memoryview) -> None:
        """Parses bytes. Raises BadZmtpError; then the connection must be closed."""
        while content:
            if self._wanted > 0:
                n_bytes = min(len(content), self._wanted - len(self._collected))
                self._collected += content[:n_bytes]
            else:
                n_bytes = min(len(content), -self._wanted)
                self._wanted += n_bytes
            content = content[n_bytes:]
            if len(self._collected) == self._wanted:
                found = bytes(self._collected)
                self._collected.clear()
                self._wanted = self._steps.send(found)

    def _follow(self) -> Generator[int, bytes, None]:
        """Yields how many bytes it needs next, or, below 0, how many to skip."""
        signature = yield SIGNATURE_BYTES
        if signature[0] != 0xFF or signature[-1] != 0x7F:
            raise BadZmtpError("it does not begin as ZeroMQ does")
        self.is_signed = True
        version = yield GREETING_BYTES - SIGNATURE_BYTES
        if version[0] < 3:
            raise BadZmtpError("its ZeroMQ is older than version 4")
        while True:
            flags = (yield 1)[0]
            if flags & ~(MORE | LONG | COMMAND):
                raise BadZmtpError("it has an unknown kind of frame")
            n_bytes = int.from_bytes((yield 8 if flags & LONG else 1), "big")
            if flags & COMMAND:
                if n_bytes > MAX_COMMAND_BYTES:
                    raise BadZmtpError("a command is too long")
                self._on_command((yield n_bytes) if n_bytes else b"")
                continue
            self._begin_frame(n_bytes)
            if n_bytes:
                yield -n_bytes
            if not flags & MORE:
                self.unfinished_bytes = self._n_frames = 0

    def _begin_frame(self, n_bytes: int) -> None:
        if self.unfinished_bytes + n_bytes > self.max_message_bytes or self._n_frames == self._max_frames:
            raise BadZmtpError("a message is too long")
        self.unfinished_bytes += n_bytes
        self._n_frames += 1

    def _on_command(self, body: bytes) -> None:
        if not body.startswith(b"\5READY"):
            return
        self.is_ready = True
        self.identity = dict(_properties(body[6:])).get(b"identity", b"")


def _properties(content: bytes) -> Generator[tuple[bytes, bytes], None, None]:
    """The properties of a READY: names in small letters, and values; ends where a length does not fit."""
    while len(content) > 5:
        n_name = content[0]
        name, rest = content[1 : 1 + n_name], content[1 + n_name :]
        n_value = int.from_bytes(rest[:4], "big")
        if len(rest) < 4 + n_value:
            return
        yield name.lower(), rest[4 : 4 + n_value]
        content = rest[4 + n_value :]
