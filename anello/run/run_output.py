# SPDX-License-Identifier: Apache-2.0
"""Where a run command writes: to the terminal, to its log, to the program that called it."""

import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import typer
from rich.console import Console

from anello.account.notices import Notice, Notices
from anello.run import display
from anello.run.log import NAME, RunLog
from anello.system import exit_codes, output
from anello.system.exit_codes import FAILED


@dataclass(frozen=True)
class RunOutput:
    """The outputs. console: for people; standard error where a program reads standard output."""

    console: Console
    log: Path | None = None
    log_was_asked_for: bool = False
    all_rows: bool = False
    as_json: bool = False
    verbose: bool = False
    single_file: bool = False

    @classmethod
    def of(
        cls,
        directory: Path | None,
        *,
        as_json: bool = False,
        all_rows: bool = False,
        verbose: bool = False,
        log_file: Path | None = None,
        log_name: str = NAME,
        single_file: bool = False,
    ) -> Self:
        """The outputs that the options ask for. directory: of the run, where its log is if the user gives no other
        file."""
        log = log_file or (directory / log_name if directory else None)
        return cls(output.console(stderr=as_json), log, bool(log_file), all_rows, as_json, verbose, single_file)

    @contextmanager
    def notices(self) -> Iterator[Notices]:
        """Notices, shown when they arrive and written to the log. Raises OSError where the log cannot be written."""
        command = shlex.join(["anello", *sys.argv[1:]])
        with RunLog(self.log, _now(f"process {os.getpid()} on {socket.gethostname()}: {command}")) as log:
            notices = Notices(display.shown_on(self.console, verbose=self.verbose), log.write)
            if self.log_was_asked_for:
                log.open()
            try:
                yield notices
            except Exception as error:
                code = exit_codes.of(error)
                words = f"ended with exit code {FAILED if code is None else code}"
                if log.is_open:
                    log.write(_now(words if isinstance(error, typer.Exit) else f"{words}: {error}"))
                raise
            finally:
                if log.problem:
                    self.console.print(log.problem, style="bold red", soft_wrap=True, markup=False)


def _now(text: str) -> Notice:
    return Notice(time.time_ns(), text, "detail")
