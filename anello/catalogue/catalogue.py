# SPDX-License-Identifier: Apache-2.0
"""The catalogue of all runs in a directory."""

import os
import time
from pathlib import Path
from typing import Self

from anello.catalogue.tables import crashed
from anello.catalogue.tables.alarms import AlarmTable
from anello.catalogue.tables.configurations import ConfigurationTable
from anello.catalogue.tables.database import BUSY_S, FILE, CatalogueError, Clock, Database
from anello.catalogue.tables.files import FileTable
from anello.catalogue.tables.history import HistoryTable
from anello.catalogue.tables.log import LogTable
from anello.catalogue.tables.news import NewRows
from anello.catalogue.tables.notices import NoticeTable
from anello.catalogue.tables.runs import RunTable


class Catalogue:
    """One file with its tables: runs, configurations, files, notices, alarms, log, history, and news of them. Each
    call to a table is one short transaction, or a read; each may raise CatalogueError. Opening the file and
    close_crashed() close the runs that crashed. Any thread may call."""

    def __init__(
        self, path: Path, *, busy_s: float = BUSY_S, clock: Clock = time.time_ns, read_only: bool = False
    ) -> None:  # fmt: skip
        """Opens the file at `path`. busy_s: the longest wait for other processes. read_only: for a file that this
        user may not write. Raises CatalogueError."""
        self.path = path
        self.database = Database(path, busy_s=busy_s, read_only=read_only)
        self.configurations = ConfigurationTable(self.database)
        self.runs = RunTable(self.database, self.configurations, clock)
        self.files = FileTable(self.database)
        self.notices = NoticeTable(self.database, clock)
        self.alarms = AlarmTable(self.database, clock)
        self.log = LogTable(self.database, clock)
        self.history = HistoryTable(self.database)
        self.news = NewRows(self.database)
        if not read_only:
            self.close_crashed()

    @classmethod
    def to_look_at(cls, path: Path) -> Self:
        """Opens an existing catalogue for reading, also where this user may not write it. Raises CatalogueError."""
        if not path.exists():
            raise CatalogueError(f"there is no catalogue {path}: no run was made there. Name the runs' directory")
        try:
            return cls(path)
        except CatalogueError:
            if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
                raise
            return cls(path, read_only=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.database.close()

    def close_crashed(self) -> list[int]:
        """Closes the runs whose process no longer exists, and returns their numbers. Raises CatalogueError."""
        return crashed.close_crashed(self.runs, self.configurations)


def of_runs_in(directory: Path | str) -> Path:
    """The path of the catalogue; directory: run.directory."""
    return Path(directory) / FILE
