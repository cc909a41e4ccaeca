# SPDX-License-Identifier: Apache-2.0
"""Output of a run: lines on the terminal, summary.json, report.html."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anello import summary
from anello.ledger import Ledger
from anello.record import Record
from anello.registry import presentation_of
from anello.report_html import page

MOST_LOSSES = 6


def new_directory(record_directory: str, name: str) -> Path:
    """A new directory for one run; a second run in the same second gets a number."""
    base = Path(record_directory) / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    for number in range(1, 1000):
        path = base if number == 1 else base.with_name(f"{base.name}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{base}: there are a thousand like it")


def write(record: Record, directory: Path) -> Path:
    """Writes summary.json and report.html; returns the latter's path."""
    summary.write(record, directory / "summary.json")
    report = directory / "report.html"
    report.write_text(page(record), encoding="utf-8")
    return report


# --- The terminal -------------------------------------------------------------------------------------------------
def show(record: Record, console: Console) -> None:
    """The summary for people."""
    ledger, presentation = record.ledger(), presentation_of(record)
    console.print()
    console.print(Text("\n".join(presentation.headlines())))
    console.print(verdict_text(record), soft_wrap=True)
    console.print(_latency_table(record.latency, presentation.legs))
    for part in presentation.tables():
        console.print(part)
    console.print(ledger_table(ledger))
    for notice in record.notices[-5:]:
        console.print(Text(notice, style="yellow"))
    for line in losses_in_words(ledger):
        console.print(Text(line, style="yellow"), soft_wrap=True)
    for problem in ledger.problems:
        console.print(Text(problem, style="bold red"), soft_wrap=True)
    verdict = "the ledger balances" if ledger.balanced else "THE LEDGER DOES NOT BALANCE"
    console.print(Text(verdict, style="bold green" if ledger.balanced else "bold red"))


def verdict_text(record: Record) -> Text:
    """What is wrong with the run, in one line."""
    verdict = record.verdict()
    return Text(verdict.line, style="bold green" if verdict.is_whole else "bold red" if verdict.exit_code else "yellow")


def losses_in_words(ledger: Ledger) -> list[str]:
    """Which numbers were lost for causes that were not configured, in a few lines; the others are in summary.json."""
    listed = [loss for loss in ledger.losses if loss.n and not loss.ordered]
    more = len(listed) - MOST_LOSSES
    return [loss.line for loss in listed[:MOST_LOSSES]] + ([f"and {more} more such lines"] if more > 0 else [])


def _latency_table(stages: Mapping[str, Mapping[str, Any]], legs: Mapping[str, str]) -> Table:
    table = plain_table("Latency, µs", "stage", "p50", "p99", "p99.9", "p99.99", "max", "above 1 ms")
    for name, label in legs.items():
        stage = stages.get(name, {})
        if stage.get("count"):
            values = [stage[key] for key in ("p50_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")]
            table.add_row(label, *(f"{value * 1e-3:,.1f}" for value in values), f"{stage['above_1ms']:,}")
    return table


def plain_table(title: str, *columns: str) -> Table:
    """A table of ours; the first column is text, the others are numbers."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    return table


def ledger_table(ledger: Ledger) -> Table:
    table = plain_table("Ledger", "level", "what", "total", "where it went")
    table.columns[1].justify = table.columns[3].justify = "left"
    for row in ledger.rows:
        parts = "  +  ".join(f"{value:,} {label}" for label, value in row.parts)
        table.add_row(row.level, row.name, f"{row.total:,}", parts, style="" if row.balanced else "bold red")
    return table
