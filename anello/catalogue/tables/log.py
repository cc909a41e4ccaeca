# SPDX-License-Identifier: Apache-2.0
"""Texts that people write: the log book, and their judgement of a run."""

import sqlite3

from anello.catalogue.end import Quality
from anello.catalogue.tables.database import Clock, Database, Row, printable
from anello.catalogue.tables.runs import need_run


class LogTable:
    """Rows of the log: id, run, t_ns, author, text."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def add(self, text: str, *, author: str, run: int | None = None, t_ns: int | None = None) -> int:
        """Adds an entry and returns its number. run: None: the entry is of no run. Raises NoSuchError,
        CatalogueError."""
        now_ns = self._clock() if t_ns is None else t_ns
        with self._database.writing() as database:
            if run is not None:
                need_run(database, run)
            return _add(database, (run, now_ns, author, text))

    def newest(self, limit: int = 100, run: int | None = None) -> list[Row]:
        """Entries, newest first. run: None: all entries. Raises CatalogueError."""
        return self._database.rows(
            "SELECT * FROM log WHERE ? IS NULL OR run = ? ORDER BY id DESC LIMIT ?", run, run, limit
        )

    def mark(self, number: int, quality: str, comment: str = "", *, author: str) -> None:
        """Enters somebody's judgement of a run: good, bad, test, unknown, and why; the log book names the author.
        Raises ValueError for another word, NoSuchError, CatalogueError."""
        quality, why = Quality(quality), f": {comment}" if comment else ""
        with self._database.writing() as database:
            need_run(database, number)
            database.execute("UPDATE run SET quality = ?, comment = ? WHERE number = ?",
                             (quality, printable(comment), number))  # fmt: skip
            _add(database, (number, self._clock(), author, f"marked {quality}{why}"))


def _add(database: sqlite3.Connection, entry: tuple[int | None, int, str, str]) -> int:
    run, t_ns, author, text = entry
    added = database.execute("INSERT INTO log(run, t_ns, author, text) VALUES (?, ?, ?, ?)",
                             (run, t_ns, printable(author), printable(text)))  # fmt: skip
    assert added.lastrowid is not None
    return added.lastrowid
