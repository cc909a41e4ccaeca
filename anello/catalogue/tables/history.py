# SPDX-License-Identifier: Apache-2.0
"""Values against time. Samples older than a day are kept in bins of 10 s."""

import math
import sqlite3
from collections.abc import Mapping
from typing import Literal

from anello.catalogue.tables.database import Database

SECOND_NS = 1_000_000_000
FINE_NS = 24 * 3600 * SECOND_NS  # age up to which samples are kept as they were taken
BIN_NS = 10 * SECOND_NS  # width of the bins of older samples
AT_A_TIME_NS = 3600 * SECOND_NS  # span that one transaction thins
BETWEEN_NS = 60 * SECOND_NS  # from one thinning to the next


class HistoryTable:
    def __init__(self, database: Database) -> None:
        self._database, self._next_thinning_ns = database, 0

    def add(self, t_ns: int, run: int | None, figures: Mapping[str, float]) -> None:
        """Adds a sample of each figure at one moment (wall clock); values that are not finite are left out. One
        program is meant to call this once a second. run: the number of the run that the sample belongs to. Raises
        CatalogueError."""
        finite = [(name, float(value)) for name, value in figures.items() if math.isfinite(value)]
        with self._database.writing() as database:
            database.executemany("INSERT OR IGNORE INTO metric(name) VALUES (?)", [(name,) for name, _ in finite])
            database.executemany(
                "INSERT OR REPLACE INTO history SELECT id, ?, ?, ?, ?, 1 FROM metric WHERE name = ?",
                [(t_ns, run, value, value, name) for name, value in finite],
            )
        if t_ns >= self._next_thinning_ns:
            self._next_thinning_ns = t_ns + BETWEEN_NS
            self.thin(t_ns)

    def get(
        self, metric: str, from_ns: int, to_ns: int, step_s: float = 1.0, *, what: Literal["mean", "greatest"] = "mean"
    ) -> list[tuple[int, float]]:
        """(time, mean or greatest value) of a figure, from_ns <= time < to_ns, at most one for each step; a step
        begins at a whole multiple of its length. Empty where no samples were taken. Raises CatalogueError."""
        step_ns = max(1, round(step_s * SECOND_NS))
        reduced = "sum(value * n) / sum(n)" if what == "mean" else "max(greatest)"
        rows = self._database.rows(
            f"SELECT t_ns / ? * ? AS begin_ns, {reduced} AS reduced FROM history"
            " WHERE metric = (SELECT id FROM metric WHERE name = ?) AND t_ns >= ? AND t_ns < ?"
            " GROUP BY begin_ns ORDER BY begin_ns", step_ns, step_ns, metric, from_ns, to_ns,
        )  # fmt: skip
        return [(row["begin_ns"], row["reduced"]) for row in rows]

    def metrics(self) -> list[str]:
        """The figures that have a history. Raises CatalogueError."""
        return [row["name"] for row in self._database.rows("SELECT name FROM metric ORDER BY name")]

    def thin(self, now_ns: int) -> None:
        """Thins a few hours of the samples that are older than a day. add() calls it. Raises CatalogueError."""
        until_ns = (now_ns - FINE_NS) // BIN_NS * BIN_NS
        with self._database.writing() as database:
            begin_ns = _thinned_until(database)
            end_ns = until_ns if begin_ns is None else min(until_ns, begin_ns + AT_A_TIME_NS)
            if begin_ns is not None and end_ns > begin_ns:
                _thin(database, begin_ns, end_ns)
                database.execute("UPDATE thinned SET until_ns = ?", (end_ns,))


def _thinned_until(database: sqlite3.Connection) -> int | None:
    """The time up to which the history is thinned, a multiple of the bin; None: there is no history yet."""
    if row := database.execute("SELECT until_ns FROM thinned").fetchone():
        return int(row[0])
    (oldest,) = database.execute("SELECT min(t_ns) FROM history").fetchone()
    if oldest is None:
        return None
    begin_ns = int(oldest) // BIN_NS * BIN_NS
    database.execute("INSERT INTO thinned VALUES (?)", (begin_ns,))
    return begin_ns


def _thin(database: sqlite3.Connection, begin_ns: int, end_ns: int) -> None:
    """Thins whole bins."""
    where = "WHERE metric IN (SELECT id FROM metric) AND t_ns >= ? AND t_ns < ?"
    bins = database.execute(
        f"SELECT metric, t_ns / {BIN_NS} * {BIN_NS} AS begin_ns, max(run), sum(value * n) / sum(n), max(greatest),"
        f" sum(n) FROM history {where} GROUP BY metric, begin_ns", (begin_ns, end_ns),
    ).fetchall()  # fmt: skip
    database.execute(f"DELETE FROM history {where}", (begin_ns, end_ns))
    database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)", [tuple(row) for row in bins])
