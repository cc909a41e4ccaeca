# SPDX-License-Identifier: Apache-2.0
"""Byte streams between processes, through memory that both share or over a network: docs/how-to/stream.md.

Its contents are loaded on first use, so that the command line can list its commands without NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anello.stream.stream import (
        Bytes,
        Carry,
        Direction,
        Listener,
        MessageTooLargeError,
        Stream,
        StreamCorruptError,
        Wait,
        connect,
        listen,
    )

__all__ = [
    "Bytes",
    "Carry",
    "Direction",
    "Listener",
    "MessageTooLargeError",
    "Stream",
    "StreamCorruptError",
    "Wait",
    "connect",
    "listen",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("anello.stream.stream"), name)
