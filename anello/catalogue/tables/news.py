# SPDX-License-Identifier: Apache-2.0
"""Rows that any process has added since the last call."""

from anello.catalogue.tables.database import Database, Row

KINDS = {"notice": "id", "log": "id", "alarm": "change"}  # table -> the column that rises
MOST = 100  # rows of each kind in one call


class NewRows:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._reported: dict[str, int] | None = None

    def since_last_call(self) -> dict[str, list[Row]]:
        """notice, log, alarm -> rows that were added or, for alarms, changed since the last call, oldest first;
        empty at the first call. Raises CatalogueError."""
        if self._reported is None:
            self._reported = {kind: self._newest(kind) for kind in KINDS}
        new = {kind: self._since(kind, last) for kind, last in self._reported.items()}
        self._reported |= {kind: rows[-1][KINDS[kind]] for kind, rows in new.items() if rows}
        return {kind: rows for kind, rows in new.items() if rows}

    def _newest(self, kind: str) -> int:
        return int(self._database.rows(f"SELECT coalesce(max({KINDS[kind]}), 0) AS newest FROM {kind}")[0]["newest"])

    def _since(self, kind: str, last: int) -> list[Row]:
        column = KINDS[kind]
        return self._database.rows(f"SELECT * FROM {kind} WHERE {column} > ? ORDER BY {column} LIMIT {MOST}", last)
