# SPDX-License-Identifier: Apache-2.0
"""The messages between a rendezvous and its nodes, as frames of ZeroMQ: magic, a JSON object, and bytes.

Input from the network may be anything: parse() refuses bad input with a reason and never trusts a length.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from anello.system.json_messages import MalformedError, decode, encode

MAGIC = b"anello exchange 1"
MAX_FRAME_BYTES = 8 << 20
MAX_HEADER_BYTES = 64 << 10
MAX_FRAMES = 2048  # an address or a record of every node, and the two frames before them

FROM_NODES = frozenset({"hello", "alive", "meet", "barrier", "gather", "tell", "stop", "leave"})
TO_NODES = frozenset(
    {
        "waiting",
        "welcome",
        "refused",
        "ended",
        "alive",
        "meet",
        "barrier",
        "gather",
        "told",
        "stop",
        "news",
        "notice",
        "lead",
    }
)


@dataclass(frozen=True)
class Message:
    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    payload: tuple[bytes, ...] = ()

    def frames(self) -> list[bytes]:
        return [MAGIC, encode({"kind": self.kind, **self.fields}), *self.payload]

    def with_fields(self, **fields: Any) -> "Message":
        return Message(self.kind, self.fields | fields, self.payload)

    def by_rank(self) -> list[tuple[int, bytes]]:
        """The payload of an answer that has a part for each of several nodes."""
        return list(zip(self.fields["ranks"], self.payload, strict=True))


Outgoing = tuple[bytes, Message]  # identity of the receiver's connection, and its message


def of_ranks(kind: str, contents: list[tuple[int, bytes]]) -> Message:
    """Makes a message that by_rank() reads."""
    return Message(kind, {"ranks": [rank for rank, _ in contents]}, tuple(content for _, content in contents))


def parse(frames: Sequence[bytes], kinds: frozenset[str]) -> Message:
    """Reads a message. kinds: those that this side may send. Raises MalformedError."""
    if len(frames) < 2 or frames[0] != MAGIC:
        raise MalformedError("it is no message of this exchange")
    if len(frames) > MAX_FRAMES:
        raise MalformedError("it is too long")
    fields = decode(frames[1], MAX_HEADER_BYTES)
    if not isinstance(fields.get("kind"), str) or fields["kind"] not in kinds:
        raise MalformedError("it is of no known kind")
    return Message(fields.pop("kind"), fields, tuple(frames[2:]))


def milliseconds_until(deadline_s: float) -> int:
    """The time left for a poller, in whole milliseconds, rounded up."""
    return math.ceil(max(0.0, deadline_s - time.monotonic()) * 1e3)
