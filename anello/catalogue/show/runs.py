# SPDX-License-Identifier: Apache-2.0
"""Runs of the catalogue as text for people. Times are UTC."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anello.account.notices import Notice
from anello.account.run_state import RunState
from anello.account.verdict import Word
from anello.catalogue.tables.database import Row
from anello.configuration.origin import iso
from anello.report.report import plain_table

GAP = 3  # letters between two columns
STYLES = {RunState.FAILED: "red", RunState.CRASHED: "red", RunState.ABORTED: "yellow", RunState.RUNNING: "green"}


SHORT = {Word.AS_ORDERED: "as ordered"}


class Column(NamedTuple):
    """A column of the list. rank: the column with the greatest rank is the first to be left out on a narrow
    terminal."""

    title: str
    key: str
    rank: int
    is_text: bool = False


COLUMNS = (
    Column("run", "number", 0), Column("name", "name", 4, True), Column("chain", "chain", 7, True),
    Column("began", "began", 1, True), Column("lasted", "lasted", 5), Column("state", "state", 0, True),
    Column("verdict", "word", 0, True),
    Column("quality", "quality", 3, True), Column("events/s", "rate", 3), Column("lost", "lost", 2),
    Column("p99.9", "p999", 3), Column("notices", "notices", 6), Column("comment", "comment", 8, True),
)  # fmt: skip


def listed(runs: Sequence[Row], console: Console) -> None:
    """Prints one line for each run."""
    cells = [_cells(run) for run in runs]
    shown = fitting(COLUMNS, cells, console.width)
    table = plain_table("", *(column.title for column in shown))
    for column, one in zip(table.columns, shown, strict=True):
        column.justify = "left" if one.is_text else "right"
    for run, line in zip(runs, cells, strict=True):
        table.add_row(*(Text(line[column.key]) for column in shown), style=STYLES.get(run["state"], ""))
    console.print(table)


def fitting(columns: Sequence[Column], cells: Sequence[Mapping[str, str]], width: int) -> list[Column]:
    """The columns that fit into the terminal's width."""
    shown = [column for column in columns if any(line[column.key] for line in cells)]
    widths = {column: max([len(column.title), *(len(line[column.key]) for line in cells)]) for column in shown}
    while sum(widths[one] + GAP for one in shown) > width and any(one.rank for one in shown):
        shown.remove(max(shown, key=lambda one: one.rank))
    return shown


def _cells(run: Row) -> dict[str, str]:
    return {
        "number": str(run["number"]), "name": run["name"], "chain": run["chain"],
        "word": SHORT.get(run["word"], run["word"] or ""),
        "began": at(run["started_ns"]), "lasted": lasted(run), "state": run["state"],
        "quality": "" if run["quality"] == "unknown" else run["quality"], "rate": number(run["rate_hz"]),
        "lost": number(run["lost"]), "p999": milliseconds(run["p999_ns"]),
        "notices": number(run["notices"]), "comment": run["comment"],
    }  # fmt: skip


def logged(entries: Sequence[Row], console: Console) -> None:
    """Prints entries of the log book."""
    for entry in entries:
        run = "" if entry["run"] is None else f"run {entry['run']}: "
        console.print(Text(f"{at(entry['t_ns'])}  {entry['author']}: {run}{entry['text']}"), soft_wrap=True)


def configured(configurations: Sequence[Row], console: Console) -> None:
    """Prints one line for each configuration."""
    table = plain_table("", "configuration", "chain", "name", "runs", "first", "last", "first used", "by")
    for column in (table.columns[i] for i in (1, 2, 6, 7)):
        column.justify = "left"
    for one in configurations:
        runs = (number(one[key]) for key in ("runs", "first_run", "last_run"))
        table.add_row(one["digest"], one["chain"], one["name"], *runs, at(one["at_ns"]), Text(one["author"]))
    console.print(table)


# --- One run ------------------------------------------------------------------------------------------------------
def shown(run: Row, console: Console) -> None:
    """Prints everything of a run except counters and bins, which --json has."""
    console.print(Text(f"Run {run['number']}: {run['name']}", style="bold"))
    for label, words in _heading(run):
        if words:
            console.print(f"{label:>13}  {words}", soft_wrap=True, highlight=False, markup=False)
    for table in _tables(run):
        console.print(table)


def _heading(run: Row) -> Iterator[tuple[str, str]]:
    yield "state", f"{run['state']}, exit code {run['exit_code']}" if run["exit_code"] is not None else run["state"]
    yield "verdict", run["verdict"] or ""
    yield "quality", run["quality"]
    yield "comment", run["comment"]
    yield "began", f"{iso(run['started_ns'])}, lasted {lasted(run) or 'until nobody knows when'}"
    yield "by", f"{run['operator']} on {run['host']}, process {run['process']}"
    yield "program", f"Anello {run['version']} {run['commit_sha']}".rstrip()
    yield "command", run["command"]
    yield "chain", f"{run['chain']}, configuration {run['config']}"
    yield "directory", run["directory"]
    if run["events"] is not None:
        rate = "" if run["rate_hz"] is None else f", {number(run['rate_hz'])} /s"
        yield "events", f"{run['events']:,}{rate}; {number(run['bytes'])} bytes came in"
    if run["balanced"] is not None:
        yield "ledger", "balanced" if run["balanced"] else "OFF"
    if run["p50_ns"] is not None:
        yield run["leg"], f"p50 {milliseconds(run['p50_ns'])}, p99.9 {milliseconds(run['p999_ns'])}"


def _tables(run: Row) -> Iterator[Table]:
    if run["losses"]:
        table = plain_table("Not delivered", "cause", "number", "configured")
        for loss in run["losses"]:
            table.add_row(loss["cause"], f"{loss['n']:,}", "yes" if loss["ordered"] else "no")
        yield table
    if run["files"]:
        table = plain_table("Files", "file", "bytes", "SHA-256")
        for file in run["files"]:
            table.add_row(file["path"], f"{file['bytes']:,}", file["sha256"] or "not computed")
        yield table
    for title, lines in (("Alarms", _alarms(run)), ("Notices", _notices(run)), ("Log", _log(run))):
        table = plain_table(title, "time", "what")
        table.columns[1].justify = "left"
        for t_ns, words in lines:
            table.add_row(at(t_ns), Text(words))
        if table.row_count:
            yield table


def _alarms(run: Row) -> Iterator[tuple[int, str]]:
    for alarm in run["alarms"]:
        cleared = f", cleared {at(alarm['cleared_ns'])}" if alarm["cleared_ns"] else ", still raised"
        seen = f", acknowledged by {alarm['acked_by']}" if alarm["acked_by"] else ""
        yield alarm["raised_ns"], f"{alarm['severity']}: {alarm['text']}{cleared}{seen}"


def _notices(run: Row) -> Iterator[tuple[int, str]]:
    for notice in run["notices"]:
        yield notice["t_ns"], Notice(notice["t_ns"], notice["text"], notice["severity"], notice["times"]).words


def _log(run: Row) -> Iterator[tuple[int, str]]:
    for entry in run["log"]:
        yield entry["t_ns"], f"{entry['author']}: {entry['text']}"


# --- Words --------------------------------------------------------------------------------------------------------
def at(time_ns: int | None) -> str:
    """2026-03-01 12:00:00"""
    return "" if time_ns is None else iso(time_ns)[:19].replace("T", " ")


def lasted(run: Row) -> str:
    """The run's duration; empty where it has no end."""
    return "" if run["ended_ns"] is None else f"{(run['ended_ns'] - run['started_ns']) * 1e-9:,.0f} s"


def number(value: Any) -> str:
    return "" if value is None else f"{value:,.0f}"


def milliseconds(value_ns: float | None) -> str:
    """The time with two digits, as a bin is 3 % wide."""
    return "" if value_ns is None else f"{value_ns * 1e-6:.2g} ms"
