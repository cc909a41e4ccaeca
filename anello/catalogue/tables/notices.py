# SPDX-License-Identifier: Apache-2.0
"""Notices of runs and of the control room."""

import sqlite3
from collections.abc import Sequence

from anello.account.notices import Notice
from anello.catalogue.tables.database import Clock, Database, Row, printable


class NoticeTable:
    """Rows: id, run, t_ns, severity, source, text, times."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def add(self, number: int | None, lines: Sequence[str], *, severity: str = "warning", source: str = "node",
                    t_ns: int | None = None) -> None:  # fmt: skip
        """Adds notices. number: None: of no run. A line that equals the run's last one raises that one's count.
        Raises CatalogueError."""
        now_ns = self._clock() if t_ns is None else t_ns
        with self._database.writing() as database:
            for line in lines:
                _add(database, (number, now_ns, severity, source, printable(line)))

    def add_all(self, number: int, notices: Sequence[Notice], *, source: str = "node") -> None:
        """Adds notices that carry their own times. Raises CatalogueError."""
        with self._database.writing() as database:
            for one in notices:
                _add(database, (number, one.time_ns, one.severity, source, printable(one.text)), one.times)

    def newest(self, limit: int = 100, run: int | None = None) -> list[Row]:
        """Notices, newest first. run: None: of all runs. Raises CatalogueError."""
        return self._database.rows(
            "SELECT * FROM notice WHERE ? IS NULL OR run = ? ORDER BY id DESC LIMIT ?", run, run, limit
        )


def _add(database: sqlite3.Connection, notice: tuple[int | None, int, str, str, str], times: int = 1) -> None:
    number, _, severity, source, text = notice
    last = database.execute(
        "SELECT id, severity, source, text FROM notice WHERE run IS ? ORDER BY id DESC LIMIT 1", (number,)
    ).fetchone()
    if last and tuple(last)[1:] == (severity, source, text):
        database.execute("UPDATE notice SET times = times + ? WHERE id = ?", (times, last[0]))
    else:
        database.execute("INSERT INTO notice(run, t_ns, severity, source, text, times) VALUES (?, ?, ?, ?, ?, ?)",
                         (*notice, times))  # fmt: skip
