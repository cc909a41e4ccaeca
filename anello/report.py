# SPDX-License-Identifier: Apache-2.0
"""What a run leaves for people and programs: lines on the terminal, summary.json, report.html."""

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import rich.box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from anello import summary
from anello.ledger import Ledger
from anello.physics import Score
from anello.record import LEGS, RunRecord
from anello.report_html import page
from anello.summary import headlines, percent


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


def write(record: RunRecord, directory: Path) -> Path:
    """Writes summary.json and report.html; returns the latter's path."""
    summary.write(record, directory / "summary.json")
    report = directory / "report.html"
    report.write_text(page(record), encoding="utf-8")
    return report


# --- The terminal -------------------------------------------------------------------------------------------------
def show(record: RunRecord, console: Console) -> None:
    """The summary for people."""
    ledger = record.ledger()
    console.print()
    console.print(Group(*_parts(record)))
    console.print(ledger_table(ledger))
    for notice in record.notices[-5:]:
        console.print(Text(notice, style="yellow"))
    for problem in ledger.problems:
        console.print(Text(problem, style="bold red"), soft_wrap=True)
    verdict = "the ledger balances" if ledger.balanced else "THE LEDGER DOES NOT BALANCE"
    console.print(Text(verdict, style="bold green" if ledger.balanced else "bold red"))


def _parts(record: RunRecord) -> Iterator[RenderableType]:
    yield Text("\n".join(headlines(record)))
    yield _latency_table(record.latency)
    scores, agreement = record.scores(), record.agreement()
    if scores:
        rows = [*((f"{n} true", score) for n, score in scores.by_n_rings.items()), ("all", scores.all_events)]
        yield _quality_table(rows)
    if agreement:
        near = agreement.near
        yield Text(f"{near.n} of {near.total} reference rings found, {percent(near)}, within 15 mm and 6 mm in radius")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=rich.box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    return table


def _latency_table(stages: Mapping[str, Mapping[str, Any]]) -> Table:
    table = _table("Latency, µs", "stage", "p50", "p99", "p99.9", "p99.99", "max", "above 1 ms")
    for name, label in LEGS.items():
        stage = stages.get(name, {})
        if stage.get("count"):
            values = [stage[key] for key in ("p50_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")]
            table.add_row(label, *(f"{value * 1e-3:,.1f}" for value in values), f"{stage['above_1ms']:,}")
    return table


def _quality_table(rows: list[tuple[str, Score]]) -> Table:
    table = _table("Rings against truth", "rings", "events", "5 mm", "10 mm", "ghosts", "centre mm", "radius mm")
    for label, score in rows:
        shares = (score.efficiency_5mm, score.efficiency_10mm, score.ghosts)
        resolutions = (score.centre_resolution_mm, score.radius_resolution_mm)
        table.add_row(
            label, f"{score.n_events:,}", *(percent(one) for one in shares),
            *("-" if math.isnan(one) else f"{one:.2f}" for one in resolutions),
        )  # fmt: skip
    return table


def ledger_table(ledger: Ledger) -> Table:
    table = _table("Ledger", "level", "what", "total", "where it went")
    table.columns[1].justify = table.columns[3].justify = "left"
    for row in ledger.rows:
        parts = "  +  ".join(f"{value:,} {label}" for label, value in row.parts)
        table.add_row(row.level, row.name, f"{row.total:,}", parts, style="" if row.balanced else "bold red")
    return table
