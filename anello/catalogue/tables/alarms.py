# SPDX-License-Identifier: Apache-2.0
"""Alarms: rules raise and clear them, people acknowledge them, and they are kept for ever."""

import sqlite3

from anello.catalogue.tables.database import Clock, Database, NoSuchError, Row, printable

NEXT_CHANGE = "(SELECT coalesce(max(change), 0) + 1 FROM alarm)"


class AlarmTable:
    """Rows: id, rule, run, severity, text, raised_ns, cleared_ns, acked_by, acked_ns, change."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def raise_alarm(
        self, rule: str, text: str, *, run: int | None = None, severity: str = "alarm", t_ns: int | None = None
    ) -> int:  # fmt: skip
        """Raises an alarm and returns its number. A rule has one alarm at a time: if it is raised already, its text
        is replaced. Raises CatalogueError."""
        now_ns = self._clock() if t_ns is None else t_ns
        with self._database.writing() as database:
            row = database.execute(
                "INSERT INTO alarm(rule, run, severity, text, raised_ns, change)"
                f" VALUES (?, ?, ?, ?, ?, {NEXT_CHANGE})"
                " ON CONFLICT(rule) WHERE cleared_ns IS NULL"
                " DO UPDATE SET text = excluded.text, change = excluded.change"
                " RETURNING id", (rule, run, severity, printable(text), now_ns),
            ).fetchone()  # fmt: skip
        return int(row[0])

    def clear_alarm(self, rule: str, *, t_ns: int | None = None) -> bool:
        """Clears the rule's alarm. False where the rule has none raised. Raises CatalogueError."""
        now_ns = self._clock() if t_ns is None else t_ns
        with self._database.writing() as database:
            return _changed(database, "cleared_ns = ? WHERE rule = ? AND cleared_ns IS NULL", now_ns, rule)

    def acknowledge(self, alarm: int, author: str, *, t_ns: int | None = None) -> None:
        """Enters who acknowledged an alarm; only the first acknowledgement counts. Raises NoSuchError,
        CatalogueError."""
        now_ns = self._clock() if t_ns is None else t_ns
        with self._database.writing() as database:
            if not database.execute("SELECT 1 FROM alarm WHERE id = ?", (alarm,)).fetchone():
                raise NoSuchError(f"there is no alarm {alarm}")
            _changed(database, "acked_by = ?, acked_ns = ? WHERE id = ? AND acked_ns IS NULL",
                     printable(author), now_ns, alarm)  # fmt: skip

    def newest(self, limit: int = 100, *, run: int | None = None, raised_only: bool = False) -> list[Row]:
        """Alarms, raised ones first, then newest first. run: None: of all runs. Raises CatalogueError."""
        return self._database.rows(
            "SELECT * FROM alarm WHERE (? IS NULL OR run = ?) AND (NOT ? OR cleared_ns IS NULL)"
            " ORDER BY cleared_ns IS NOT NULL, id DESC LIMIT ?", run, run, raised_only, limit,
        )  # fmt: skip


def _changed(database: sqlite3.Connection, how: str, *values: object) -> bool:
    return database.execute(f"UPDATE alarm SET change = {NEXT_CHANGE}, {how}", values).rowcount > 0
