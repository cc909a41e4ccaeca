# SPDX-License-Identifier: Apache-2.0
"""The catalogue of all runs in a directory."""

import os
import time
from pathlib import Path
from typing import Self

from anello.catalogue.tables.alarms import Alarms
from anello.catalogue.tables.compare import Compare
from anello.catalogue.tables.connected import BUSY_S, FILE, CatalogueError
from anello.catalogue.tables.crashed import Crashed
from anello.catalogue.tables.files import Files
from anello.catalogue.tables.history import History
from anello.catalogue.tables.log import Log
from anello.catalogue.tables.news import News
from anello.catalogue.tables.runs import Clock


class Catalogue(Files, Crashed, Compare, Alarms, Log, History, News):
    """Each call is one short transaction, or a read; each may raise CatalogueError. Runs that crashed are closed when
    it is opened, and by close_crashed(). Any thread may call.

    A run: begin, set_state, add_notices, end, add_files (anello.catalogue.entry calls them). Control: close_crashed,
    add_history, raise_alarm, clear_alarm, add_notices. Whoever looks: runs, run, compare, configurations,
    configuration, history, metrics, alarms, log, notices, news. People: mark, add_log, acknowledge."""

    def __init__(
        self, path: Path, *, busy_s: float = BUSY_S, clock: Clock = time.time_ns, read_only: bool = False
    ) -> None:  # fmt: skip
        """path: its file. busy_s: the longest wait for other processes. read_only: for a file that this user may not
        write. Raises CatalogueError."""
        super().__init__(path, busy_s=busy_s, clock=clock, read_only=read_only)
        if not read_only:
            self.close_crashed()

    @classmethod
    def to_look_at(cls, path: Path) -> Self:
        """One that is there, also where this user may not write it. Raises CatalogueError."""
        if not path.exists():
            raise CatalogueError(f"there is no catalogue {path}: no run was made there. Name the runs' directory")
        try:
            return cls(path)
        except CatalogueError:
            if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
                raise
            return cls(path, read_only=True)


def of_runs_in(directory: Path | str) -> Path:
    """Where the catalogue lies; directory: run.directory."""
    return Path(directory) / FILE
