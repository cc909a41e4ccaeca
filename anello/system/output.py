# SPDX-License-Identifier: Apache-2.0
"""Standard output and error that cannot fail: a reader that has gone, a full disk or a narrow character set never
ends a run. Only the text that cannot be written is lost."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

UNBROKEN = 10_000  # columns


class Sheltered:
    """A text stream whose write() and flush() never raise OSError, ValueError (closed) or UnicodeError."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_broken = False

    def write(self, text: str) -> int:
        if self.is_broken:
            return len(text)
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding or "ascii"
            return self.write(text.encode(encoding, "replace").decode(encoding))
        except (OSError, ValueError):
            self._give_up()
        return len(text)

    def flush(self) -> None:
        if self.is_broken:
            return
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self._give_up()

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def _give_up(self) -> None:
        """Discards the bytes in the stream's buffer, so that the interpreter can end cleanly."""
        self.is_broken = True
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def console(*, stderr: bool = False) -> "Console":
    """A console for people: as wide as the terminal; without a terminal, plain text whose lines are never broken."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=UNBROKEN, no_color=True)


def shelter() -> None:
    """Protects the standard streams for everything that this process prints from now on."""
    _fill_closed_descriptors()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, Sheltered):
            continue
        if stream is None:  # it was closed before this process began
            stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the life of the process
        setattr(sys, name, Sheltered(stream))


def _fill_closed_descriptors() -> None:
    """Opens the closed ones of descriptors 0 to 2: otherwise the next socket or file would get number 1, and receive
    text meant for people."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
