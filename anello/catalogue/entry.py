# SPDX-License-Identifier: Apache-2.0
"""What a run writes about itself into the catalogue. The run has priority: if the catalogue is locked, full, damaged
or read-only, the operator gets one message, and the run continues, with a number or without one."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from anello.account.notices import Notice
from anello.account.record import Record
from anello.account.run_state import RunState
from anello.account.verdict import Word
from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.end import End
from anello.catalogue.from_record import end_of
from anello.catalogue.tables.database import CatalogueError
from anello.configuration.base import Config
from anello.configuration.origin import Origin, node_page
from anello.counters import pages
from anello.errors import EngineMissingError, in_words
from anello.system import exit_codes
from anello.system.exit_codes import FAILED, INTERRUPTED
from anello.system.run_directory import has_control_room

BEGIN_S, WHILE_RUNNING_S, END_S = 2.0, 0.1, 5.0  # s; the longest waits for other processes
MOST_WAITING = 1000  # most notices that wait to be entered


def _to_standard_error(line: str) -> None:
    print(f"anello: {line}", file=sys.stderr)


def _clear_pages() -> None:
    with suppress(EngineMissingError):
        pages.clear_dead()


class Entry:
    """The catalogue's entry of one run. No method raises or takes long."""

    def __init__(self, origin: Origin, directory: Path, catalogue: Catalogue | None,
                 notify: Callable[[str], None] = _to_standard_error) -> None:  # fmt: skip
        """Makes an entry. catalogue: None: the run is in no catalogue."""
        self.origin, self._directory, self._catalogue, self._notify = origin, directory, catalogue, notify
        self._heard: set[str] = set()  # texts of notices
        self._waiting: list[Notice] = []  # notices that are not entered yet
        self._state = ""  # a state that is not entered yet
        self._is_over = False

    @classmethod
    def begin(cls, config: Config, directory: Path, notify: Callable[[str], None] = _to_standard_error) -> "Entry":
        """Enters a run that begins; it gets a number if the catalogue can be used. directory: the run's own."""
        origin = Origin.of(config)
        _clear_pages()
        try:
            catalogue = Catalogue(of_runs_in(config.run.directory), busy_s=BEGIN_S)
            number = catalogue.runs.begin(origin, directory, page=node_page(os.getpid()))
            catalogue.database.wait_at_most(WHILE_RUNNING_S)
        except CatalogueError as error:
            notify(f"{error}. The run continues without a number")
            return cls(origin, directory, None, notify)
        return cls(replace(origin, number=number), directory, catalogue, notify)

    @classmethod
    def none(cls, config: Config, directory: Path) -> "Entry":
        """An entry for a run that is in no catalogue, such as a run of a search."""
        return cls(Origin.of(config), directory, None)

    def state(self, state: str) -> None:
        """Enters the run's state: ready, running, draining. What cannot be entered now is entered at the next call."""
        self._state = state
        self._enter_what_waits()

    def hear(self, notice: Notice) -> None:
        """Enters a notice of the run, at once or at the next call."""
        if notice.severity == "detail" or self._catalogue is None:
            return
        self._heard.add(notice.text)
        self._waiting = [*self._waiting, notice][-MOST_WAITING:]
        self._enter_what_waits()

    def _enter_what_waits(self) -> None:
        if self._state and self._enter(lambda catalogue, number: catalogue.runs.set_state(number, self._state)):
            self._state = ""
        if self._waiting and self._enter(lambda catalogue, number: catalogue.notices.add_all(number, self._waiting)):
            self._waiting = []

    def end(self, record: Record, exit_code: int, *, aborted: bool = False, directory: Path | None = None) -> None:
        """Enters the run's results. directory: where its files are now, if that has changed; the files are entered
        when the context is left, after all of them are closed."""
        if directory:
            self._move_to(directory)
        # notices of other nodes
        self._waiting += [notice for notice in record.notices if notice.text not in self._heard]
        self._enter_end(end_of(record, exit_code, aborted=aborted))

    def _move_to(self, directory: Path) -> None:
        self._directory = directory
        self._enter(lambda catalogue, number: catalogue.runs.set_directory(number, directory))

    def fail(self, error: BaseException) -> None:
        """Enters that the run failed or was cancelled; does nothing if it has ended."""
        if self._is_over:
            return
        if isinstance(error, KeyboardInterrupt):
            end = End(RunState.ABORTED, exit_code=INTERRUPTED, verdict="stopped at once by the user", word=Word.UNKNOWN)
        else:
            end = _end_by(error)
        self._enter_end(end)

    def _enter_end(self, end: End) -> None:
        self._is_over = True
        if self._catalogue:
            self._enter(lambda catalogue, _: catalogue.database.wait_at_most(END_S))
        self._enter_what_waits()
        self._enter(lambda catalogue, number: catalogue.runs.end(number, end))

    def _enter_files(self, catalogue: Catalogue, number: int) -> None:
        # otherwise the directory holds the files of all runs
        if self._directory.resolve() != catalogue.path.parent.resolve():
            catalogue.files.add(number, self._directory)
        # otherwise the control room makes the checksums, and the run need not wait for them
        if not has_control_room(catalogue.path.parent):
            catalogue.files.add_checksums(number)

    def _enter(self, what: Callable[[Catalogue, int], object]) -> bool:
        """Tries to write to the catalogue; True if that succeeded."""
        if self._catalogue is None or self.origin.number is None:
            return False
        try:
            what(self._catalogue, self.origin.number)
        except CatalogueError as error:
            self._say_once(error)
            return False
        return True

    def _say_once(self, error: CatalogueError) -> None:
        self._notify(f"{error}. The run continues")
        self._notify = lambda line: None

    def __enter__(self) -> "Entry":
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        """An exception that is raised before the run has ended is entered as its end."""
        if error is not None:
            self.fail(error)
        if self._is_over:
            self._enter(self._enter_files)
            if self._catalogue:
                self._catalogue.close()


def _end_by(error: BaseException) -> End:
    known = exit_codes.of(error)
    code = FAILED if known is None else known
    state = RunState.ABORTED if code in (0, INTERRUPTED) else RunState.FAILED  # the user cancelled it
    return End(state, exit_code=code, verdict=in_words(error), word=Word.UNKNOWN)
