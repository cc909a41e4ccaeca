# SPDX-License-Identifier: Apache-2.0
"""JSON objects that processes send each other. Received data may be anything: their length and depth are limited,
and they are refused with a reason. The rendezvous of a farm, the agents of a control room and the orders of a
managed run use them."""

import json
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 32  # objects and lists inside each other


class MalformedError(ValueError):
    """The data are no valid message; str() says why."""


def encode(fields: Mapping[str, Any]) -> bytes:
    """The message as bytes, without an end of line."""
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(content: bytes, most_bytes: int) -> dict[str, Any]:
    """The object in a message, whose texts can be written to any file. Raises MalformedError."""
    if len(content) > most_bytes:
        raise MalformedError(f"it has more than {most_bytes} bytes")
    try:
        fields = json.loads(content)
        if _is_too_deep(fields):
            raise RecursionError
        json.dumps(fields, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except RecursionError:
        raise MalformedError(f"it is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise MalformedError(f"it is no JSON: {error}") from error
    if not isinstance(fields, dict):
        raise MalformedError("it is no JSON object")
    return fields


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
