# SPDX-License-Identifier: Apache-2.0
"""The log of a run: a line for each notice, written at once. A full disk stops the log, not the run."""

from collections.abc import Callable
from pathlib import Path
from typing import Self, TextIO

from anello.account.notices import Notice
from anello.system.run_directory import private

NAME = "run.log"


class RunLog:
    """A log file. File and folder are made at the first line: wrong use leaves nothing behind. It appends, so that a
    second run with the same file keeps the lines of the first. Use as a context."""

    def __init__(self, path: Path | None, beginning: Notice | None = None) -> None:
        """Makes a log. None: no log. beginning: first line of the file."""
        self._path, self._beginning = path, beginning
        self._file: TextIO | None = None
        self.problem = ""  # why writing has stopped

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._try(self._file.close)

    def open(self) -> None:
        """Opens the file. Raises OSError."""
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self._path, "a", encoding="utf-8", buffering=1, opener=private)  # noqa: SIM115 - stays open
        if self._beginning:
            self.write(self._beginning)

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def write(self, notice: Notice) -> None:
        self._try(self._write, notice)

    def _write(self, notice: Notice) -> None:
        if self._file is None:
            self.open()
        if self._file:
            when = notice.when.isoformat(timespec="milliseconds")
            times = f" ({notice.times:,} times)" if notice.times > 1 else ""
            self._file.write(f"{when} {notice.severity:<7} {notice.text}{times}\n")

    def _try(self, what: Callable[..., None], *arguments: Notice) -> None:
        if self.problem:
            return
        try:
            what(*arguments)
        except OSError as error:
            self.problem = f"the log {self._path} could not be written: {error.strerror or error}"
