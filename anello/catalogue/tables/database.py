# SPDX-License-Identifier: Apache-2.0
"""The connection to a catalogue's file. Several processes have one connection each; several threads may share one."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from anello.catalogue.tables.schema import check, migrate
from anello.system.run_directory import private

FILE = "catalogue.sqlite"
IN_MEMORY = ":memory:"  # SQLite's name for a database without a file
BUSY_S = 5.0  # s; the longest wait for another process's transaction
RETRY_S = 0.01

Row = dict[str, Any]
Clock = Callable[[], int]  # wall clock, ns


class CatalogueError(RuntimeError):
    """The catalogue cannot be used; the text says what happened, why, and what to do."""

    exit_code = 1


class NoSuchError(CatalogueError):
    """No such run, alarm or configuration."""


def printable(text: str) -> str:
    """A text that can be stored: names of files and arguments may hold bytes that are no text."""
    return text.encode("utf-8", "backslashreplace").decode()


class Database:
    """An open database; the file is made if it is missing. A fork must not inherit it. Nothing else in this process
    may open the file by other means: closing it would release SQLite's locks."""

    def __init__(self, path: Path, *, busy_s: float = BUSY_S, read_only: bool = False) -> None:
        """Opens the file. busy_s: the longest wait for another process. read_only: for a file that this user may not
        write. Raises CatalogueError."""
        self.path, self._lock = path, threading.RLock()
        with self.in_words():
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = (_opened_to_read if read_only else _opened)(path, busy_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()

    def wait_at_most(self, busy_s: float) -> None:
        """Sets the longest wait for another process, s."""
        with self._lock, self.in_words():
            self._connection.execute(f"PRAGMA busy_timeout = {int(busy_s * 1e3)}")

    @contextmanager
    def writing(self, *, lasting: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction. lasting: it is on the disk before this returns, for data that must also survive a power
        cut. Raises CatalogueError."""
        with self._lock, self.in_words():
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite has rolled back by itself where the disk is full
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: Any) -> list[Row]:
        """The rows that a query finds. Raises CatalogueError."""
        with self._lock, self.in_words():
            return [dict(row) for row in self._connection.execute(query, values)]

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Turns every error of SQLite and of files into a CatalogueError that names a remedy."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, OverflowError) as error:
            raise CatalogueError(f"the catalogue {self.path} cannot be used: {error}. {_remedy(error)}") from error


def _remedy(error: Exception) -> str:
    words = str(error)
    for part, remedy in (
        ("locked", "Another program holds it: end that one"),
        ("readonly", "Let its folder and file be written, or choose another run.directory"),
        ("full", "Make room on its disk"),
        ("version", "Use the newer program"),
        ("not a database", "Move it away: the next run makes a new one"),
        ("malformed", f"Move it away, and save what can be read: sqlite3 {FILE} .recover"),
    ):
        if part in words:
            return remedy
    return "Check that run.directory is a folder that can be written"


def _opened(path: Path, busy_s: float) -> sqlite3.Connection:
    """Opens the file for writing. Raises sqlite3.Error. SQLite's change to write-ahead mode does not wait for other
    processes, so this function repeats it."""
    if str(path) != IN_MEMORY:
        with suppress(OSError):  # SQLite reports this error in its own words; its other files get this file's mode
            os.close(private(str(path), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC))
    database = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        database.row_factory = sqlite3.Row
        _in_write_ahead_mode(database, time.monotonic() + busy_s)
        database.execute("PRAGMA foreign_keys = ON")
        migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _opened_to_read(path: Path, busy_s: float) -> sqlite3.Connection:
    """Opens the file for reading. Raises sqlite3.Error. Where no file can be made next to it, no process can be
    writing either (immutable)."""
    for how in ("mode=ro", "immutable=1"):
        database = sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, timeout=busy_s, isolation_level=None,
                                   check_same_thread=False)  # fmt: skip
        try:
            database.row_factory = sqlite3.Row
            check(database)
        except sqlite3.OperationalError:
            database.close()
            if how == "immutable=1":
                raise
        except BaseException:
            database.close()
            raise
        else:
            return database
    raise AssertionError


def _in_write_ahead_mode(database: sqlite3.Connection, until_s: float) -> None:
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until_s:
                raise
            time.sleep(RETRY_S)
