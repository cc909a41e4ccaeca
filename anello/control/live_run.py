# SPDX-License-Identifier: Apache-2.0
"""`anello run --live`: a control room for one run to begin with, as easy to start as the run alone."""

import threading
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from anello.control.control_server import ControlOptions, ControlServer
from anello.control.operator import NotDoneError
from anello.control.process import CONSOLE
from anello.control.states import State
from anello.system.exit_codes import FAILED
from anello.system.interruption import Interruption, interruptible

AT_WORK = (State.READY, State.RUNNING, State.DRAINING)
LOOK_S = 0.2


def run(config_file: Path, settings: Sequence[str], runs: Path, console: Console) -> int:
    """Starts the run, prints its output, and stays until Ctrl-C: further runs are started on the page. The first
    Ctrl-C stops a run that is still running, and waits for its end. Returns the last run's exit code."""
    with interruptible() as interrupted, ControlServer(runs, ControlOptions()) as desk:
        desk.room.configure(config_file, settings)
        console.print(f"live page: {desk.address(is_secret=console.is_terminal)}", highlight=False, soft_wrap=True)
        try:
            desk.room.arm()
            desk.room.start()
        except NotDoneError as error:
            console.print(str(error), style="bold red", soft_wrap=True)
            return FAILED
        with _Echo(desk, console):
            _stay(desk, interrupted, console)
        return desk.last_exit_code


def _stay(desk: ControlServer, interrupted: Interruption, console: Console) -> None:
    said = False
    while not interrupted.wait(LOOK_S):
        if not said and desk.room.status().state not in AT_WORK:
            address = desk.address(is_secret=console.is_terminal)
            console.print(f"the live page stays until Ctrl-C: {address}", highlight=False, soft_wrap=True)
            said = True
    if desk.room.status().state is State.RUNNING:
        desk.room.stop()
    if desk.room.status().state is State.READY:
        desk.room.abort()
    while desk.room.status().state in AT_WORK:
        interrupted.nap(LOOK_S)


class _Echo:
    """Prints the output of the runs as it is written."""

    def __init__(self, desk: ControlServer, console: Console) -> None:
        self._desk, self._console = desk, console
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="echo")
        self._place = ("", 0)  # directory, and bytes read from its console

    def __enter__(self) -> "_Echo":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._copy()

    def _follow(self) -> None:
        while not self._end.wait(LOOK_S):
            self._copy()

    def _copy(self) -> None:
        directory = self._desk.room.status().directory
        if directory != self._place[0]:
            self._place = (directory, 0)
        try:
            with Path(directory, CONSOLE).open("rb") as file:
                file.seek(self._place[1])
                text = file.read()
        except OSError:
            return  # the console file does not exist yet
        self._place = (directory, self._place[1] + len(text))
        if text:
            self._console.file.write(text.decode(errors="replace"))
            self._console.file.flush()
