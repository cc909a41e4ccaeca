# SPDX-License-Identifier: Apache-2.0
"""Output of a run: lines on the terminal, summary.json, report.html."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anello.account.ledger import Ledger, Row
from anello.account.leg import LegLatency
from anello.account.quantiles import microseconds
from anello.account.record import Record
from anello.nanet import stages
from anello.registry import presentation_of
from anello.report import summary
from anello.report.files import save
from anello.report.html import page

MOST_LOSSES = 6
MOST_ROWS = 20  # rows shown that do not balance; summary.json has all


def new_directory(record_directory: str, name: str) -> Path:
    """Makes a new directory for one run; a second run in the same second gets a number."""
    base = Path(record_directory) / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    for number in range(1, 1000):
        path = base if number == 1 else base.with_name(f"{base.name}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{base}: there are a thousand like it")


def write(record: Record, directory: Path, *, single_file: bool = False) -> Path:
    """Writes summary.json and report.html; returns the latter's path. single_file: the page needs no other file."""
    summary.write(record, directory / "summary.json")
    shared = Path(record.config.run.directory)
    return save(directory / "report.html", page(record), shared=shared, single_file=single_file)


# --- The terminal -------------------------------------------------------------------------------------------------
def show(record: Record, console: Console, *, all_of_it: bool = False) -> None:
    """Prints the summary for people: for a run that balances, at most one screen. all_of_it: also every row of the
    ledger, and the chain's own tables."""
    ledger, presentation = record.ledger(), presentation_of(record)
    console.print()
    console.print(Text("\n".join(presentation.headlines())), soft_wrap=True)
    console.print(verdict_text(record), soft_wrap=True)
    console.print(_latency_table(record.latency, presentation.legs))
    if record.machine.line:
        console.print(Text(record.machine.line), soft_wrap=True)
    if card := stages.line(record.node):
        console.print(Text(card), soft_wrap=True)
    for part in presentation.tables() if all_of_it else ():
        console.print(part)
    rows = ledger.rows if all_of_it else [row for row in ledger.all_rows if not row.balanced][:MOST_ROWS]
    if rows:
        console.print(ledger_table(rows))
    for line, style in _words(record, ledger):
        console.print(Text(line, style=style), soft_wrap=True)


def _words(record: Record, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Lines with their styles."""
    notices = [notice for notice in record.notices if notice.severity != "info"]
    if notices:
        yield (f"{len(notices):,} notices, the last at " if len(notices) > 1 else "") + notices[-1].line, "yellow"
    yield from ((line, "yellow") for line in losses_in_words(ledger))
    yield from ((problem, "bold red") for problem in _first(ledger.problems, MOST_ROWS))
    yield ledger.line, "bold green" if ledger.balanced else "bold red"


def _first(lines: Sequence[str], most: int) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], *([f"and {more} more such lines"] if more > 0 else [])]


def verdict_text(record: Record) -> Text:
    """What is wrong with the run, in one line."""
    verdict = record.verdict()
    return Text(verdict.line, style="bold green" if verdict.is_whole else "bold red" if verdict.exit_code else "yellow")


def losses_in_words(ledger: Ledger) -> list[str]:
    """The numbers that were lost for causes that were not configured, in a few lines; summary.json has the others."""
    return _first([loss.line for loss in ledger.losses if loss.n and not loss.ordered], MOST_LOSSES)


def _latency_table(stages: Mapping[str, LegLatency], legs: Mapping[str, str]) -> Table:
    table = plain_table("", "latency, µs", "p50", "p99", "p99.9", "p99.99", "max", "above 1 ms")
    for name, label in legs.items():
        stage = stages.get(name, {})
        if stage.get("count"):
            values = [stage[key] for key in ("p50_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")]
            table.add_row(label, *map(microseconds, values), f"{stage['above_1ms']:,}")
    return table


def plain_table(title: str, *columns: str) -> Table:
    """A table in our style; the first column is text, the others are numbers."""
    table = Table(
        title=title or None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        show_edge=False,
    )
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    return table


def ledger_table(rows: Iterable[Row]) -> Table:
    table = plain_table("Ledger", "level", "what", "total", "where it went")
    table.columns[1].justify = table.columns[3].justify = "left"
    for row in rows:
        parts = "  +  ".join(f"{value:,} {label}" for label, value in row.parts)
        table.add_row(row.level, row.name, f"{row.total:,}", parts, style="" if row.balanced else "bold red")
    return table
