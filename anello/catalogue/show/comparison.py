# SPDX-License-Identifier: Apache-2.0
"""Two runs next to each other, as text for people. Differences that chance does not explain are marked."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anello.catalogue.show.runs import at, milliseconds
from anello.catalogue.tables.database import Row
from anello.report.report import plain_table

MARK = "beyond chance"


def shown(compared: Row, console: Console) -> None:
    """Prints the verdict, then a table of each kind of difference."""
    first, second = compared["runs"]
    for run in (first, second):
        console.print(Text(f"run {run['number']}: {run['name']}, {at(run['started_ns'])}, {run['state']}"))
    for line in compared["verdict"]:
        console.print(Text(line, style="bold yellow" if compared["n_beyond"] else "bold"), soft_wrap=True)
    for table in _tables(compared, f"run {first['number']}", f"run {second['number']}"):
        console.print()
        console.print(table)


def configurations(differing: Iterable[Row], first: str, second: str, console: Console) -> None:
    """Prints the keys in which two configurations differ."""
    rows = list(differing)
    console.print(_differing(rows, first, second) if rows else "they are the same")


def _differing(rows: Iterable[Row], first: str, second: str) -> Table:
    table = plain_table("Configuration", "key", first, second)
    for row in rows:
        table.add_row(row["key"], *(_value(row[side]) for side in ("first", "second")))
    return table


def _tables(compared: Row, first: str, second: str) -> Iterator[Table]:
    if compared["configuration"]:
        yield _differing(compared["configuration"], first, second)
    parts: Iterable[tuple[str, Iterable[Row], Callable[[Row], str], Callable[[Any], str]]] = (
        ("Rates", compared["rates"], lambda row: row["what"], lambda value: f"{value:,.5g}"),
        ("Not delivered", compared["losses"], _cause, lambda value: f"{value:,}"),
        ("Latency", list(_quantiles(compared)), lambda row: row["what"], milliseconds),
        ("Quality", compared["quality"], lambda row: row["what"], lambda value: f"{value:.3g}"),
    )
    for title, rows, label, words in parts:
        if rows:
            yield _table(title, rows, (first, second), label, words)


def _table(
    title: str, rows: Iterable[Row], sides: tuple[str, str], label: Callable[[Row], str], words: Callable[[Any], str]
) -> Table:  # fmt: skip
    table = plain_table(title, "", *sides, "ratio", "")
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}"
        table.add_row(Text(label(row)), words(row["first"]), words(row["second"]), ratio, MARK * row["beyond"],
                      style="yellow" if row["beyond"] else "")  # fmt: skip
    return table


def _quantiles(compared: Row) -> Iterator[Row]:
    """Quantiles of the legs that judge the runs, and other legs with differences beyond chance; --json has all legs."""
    judging = {run["leg"] for run in compared["runs"]}
    for leg, row in compared["latency"].items():
        for one in row["quantiles"]:
            if leg in judging or one["beyond"]:
                yield one | {"what": f"{leg} {one['quantile']}"}


def _cause(row: Row) -> str:
    return f"{row['cause']}, as configured" if row["ordered"] else str(row["cause"])


def _value(value: Any) -> str:
    return "-" if value is None else str(value)
