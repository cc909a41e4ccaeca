# SPDX-License-Identifier: Apache-2.0
"""Runs in the catalogue: their begin, notices and end."""

import json
import sqlite3
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anello.account.run_state import OVER, RunState
from anello.catalogue.end import End, keep_results
from anello.catalogue.process import Process
from anello.catalogue.tables.configurations import ConfigurationTable, keep_configuration
from anello.catalogue.tables.database import Clock, Database, NoSuchError, Row, printable
from anello.configuration.origin import Origin
from anello.report.summary import no_nan


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Selects runs; None and empty values select all."""

    state: str | None = None
    quality: str | None = None
    chain: str | None = None
    since_ns: int | None = None  # begun then or later
    before: int | None = None  # a run's number
    limit: int | None = None

    def where(self) -> tuple[str, list[Any]]:
        """The SQL after FROM run, and its values."""
        wanted = {"state = ?": self.state, "quality = ?": self.quality, "chain = ?": self.chain,
                  "started_ns >= ?": self.since_ns, "number < ?": self.before}  # fmt: skip
        given = {condition: value for condition, value in wanted.items() if value is not None}
        where = f" WHERE {' AND '.join(given)}" if given else ""
        return f"{where} ORDER BY number DESC LIMIT ?", [*given.values(), -1 if self.limit is None else self.limit]


class RunTable:
    """The table of runs. Lists have the newest first."""

    def __init__(self, database: Database, configurations: ConfigurationTable, clock: Clock) -> None:
        self._database, self._configurations, self._clock = database, configurations, clock

    # --- By the run itself ------------------------------------------------------------------------------------------
    def begin(self, origin: Origin, directory: Path, *, page: str = "", process: Process | None = None) -> int:
        """Enters a run and returns its number. page: of its counters. process: None: this one. Raises
        CatalogueError."""
        with self._database.in_words():
            own, place = process or Process.this(), _absolute(directory)
        values = {
            "name": origin.name, "chain": origin.chain, "state": RunState.CONFIGURED, "started_ns": origin.started_ns,
            "operator": origin.user, "host": own.host, "version": origin.version, "commit_sha": origin.commit,
            "command": printable(origin.command), "config": origin.config_digest, "directory": place,
            "process": own.number, "process_start": own.start_ticks, "boot": own.boot,
            "number_space": own.number_space, "page": page.removeprefix("/"),
        }  # fmt: skip
        with self._database.writing(lasting=True) as database:
            keep_configuration(database, origin)
            number = database.execute(
                f"INSERT INTO run({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", [*values.values()]
            ).lastrowid
        assert number is not None
        return number

    def set_state(self, number: int, state: str) -> None:
        """Sets the state of a run that is not over. Raises CatalogueError."""
        with self._database.writing() as database:
            database.execute(
                "UPDATE run SET state = ? WHERE number = ? AND state NOT IN (?, ?, ?, ?)",
                (RunState(state), number, *OVER),
            )

    def set_directory(self, number: int, directory: Path) -> None:
        """Sets the directory of the run's files. Raises CatalogueError."""
        with self._database.writing() as database:
            database.execute("UPDATE run SET directory = ? WHERE number = ?", (_absolute(directory), number))

    def end(self, number: int, end: End, *, only_if_open: bool = False) -> bool:
        """Enters the end of a run, or again when more is known. False: with only_if_open, the run was over already.
        Raises CatalogueError."""
        values = {name: value for name, value in asdict(end).items() if name not in ("losses", "latency", "counters")}
        values |= {"ended_ns": end.ended_ns or self._clock(), "quality_found": json.dumps(no_nan(end.quality_found))}
        open_, states = ("AND state NOT IN (?, ?, ?, ?)", OVER) if only_if_open else ("", ())
        with self._database.writing() as database:
            changed = database.execute(
                f"UPDATE run SET {', '.join(f'{name} = ?' for name in values)} WHERE number = ? {open_}",
                [*values.values(), number, *states],
            ).rowcount
            if changed:
                keep_results(database, number, end)
        return bool(changed)

    # --- For readers ------------------------------------------------------------------------------------------------
    def find(self, wanted: Filter | None = None) -> list[Row]:
        """The runs found: the columns of run, rate_hz, and the number of notices."""
        where, values = (wanted or Filter()).where()
        found = self._database.rows(
            "SELECT *, (SELECT sum(times) FROM notice WHERE run = number) AS notices,"
            f" events / nullif(seconds, 0) AS rate_hz FROM run{where}", *values,
        )  # fmt: skip
        return [_readable(row) for row in found]

    def open(self) -> list[Row]:
        """The runs that are not over, oldest first, with the columns of run. Raises CatalogueError."""
        return self._database.rows("SELECT * FROM run WHERE state NOT IN (?, ?, ?, ?) ORDER BY number", *OVER)

    def get(self, number: int) -> Row:
        """Everything of one run: the columns of run, and losses, latency, files, counters, notices, configuration,
        alarms, log. Raises NoSuchError."""
        return self._heading(number) | {
            "losses": self._database.rows("SELECT cause, n, ordered FROM loss WHERE run = ? ORDER BY n DESC", number),
            "latency": self._latency(number),
            "files": self._database.rows("SELECT path, bytes, sha256, closed_ns FROM file WHERE run = ?", number),
            "counters": self._counters(number),
            "notices": self._database.rows(
                "SELECT t_ns, severity, source, text, times FROM notice WHERE run = ?", number
            ),
            "configuration": self._configurations.get(self._heading(number)["config"]),
            "alarms": self._database.rows("SELECT * FROM alarm WHERE run = ? ORDER BY id", number),
            "log": self._database.rows("SELECT * FROM log WHERE run = ? ORDER BY id", number),
        }

    def _heading(self, number: int) -> Row:
        found = self._database.rows(
            "SELECT *, events / nullif(seconds, 0) AS rate_hz FROM run WHERE number = ?", number
        )
        if not found:
            newest = self.find(Filter(limit=1))
            known = f"the newest is {newest[0]['number']}" if newest else "there are none yet"
            raise NoSuchError(f"there is no run {number} in {self._database.path}: {known}")
        return _readable(found[0])

    def _latency(self, number: int) -> dict[str, Any]:
        found = self._database.rows("SELECT leg, count, bins FROM latency WHERE run = ?", number)
        return {row["leg"]: {"count": row["count"], "bins": json.loads(row["bins"])} for row in found}

    def _counters(self, number: int) -> dict[str, dict[str, dict[str, int]]]:
        counters: dict[str, dict[str, dict[str, int]]] = {}
        for row in self._database.rows("SELECT process, block, name, value FROM counters WHERE run = ?", number):
            counters.setdefault(row["process"], {}).setdefault(row["block"], {})[row["name"]] = int(row["value"])
        return counters


# --- Inside a transaction -----------------------------------------------------------------------------------------
def need_run(database: sqlite3.Connection, number: int) -> None:
    """Checks that the run exists. Raises NoSuchError."""
    if not database.execute("SELECT 1 FROM run WHERE number = ?", (number,)).fetchone():
        raise NoSuchError(f"there is no run {number}")


def _absolute(directory: Path) -> str:
    return printable(str(directory.resolve()))


def _readable(row: Row) -> Row:
    """Converts SQLite's texts and numbers back to the original values."""
    with suppress(KeyError):
        row["balanced"] = None if row["balanced"] is None else bool(row["balanced"])
        row["quality_found"] = None if row["quality_found"] is None else json.loads(row["quality_found"])
    return row
