# SPDX-License-Identifier: Apache-2.0
"""What a run leaves for people and programs: lines on the terminal, summary.json, report.html."""

import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import rich.box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from anello.ledger import Ledger
from anello.physics import Score, Share
from anello.record import LEGS, RunRecord, receive_blocks


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
    from anello.report_html import page

    (directory / "summary.json").write_text(json.dumps(_no_nan(summary(record)), indent=1) + "\n")
    report = directory / "report.html"
    report.write_text(page(record), encoding="utf-8")
    return report


# --- summary.json -------------------------------------------------------------------------------------------------
def summary(record: RunRecord) -> dict[str, Any]:
    """All results as plain values; docs/reference/summary.md explains them."""
    scores, agreement = record.scores(), record.agreement()
    return {
        "name": record.config.run.name,
        "balanced": record.ledger().balanced,
        "interrupted": record.interrupted,
        "wall_s": record.wall_s,
        "rates": rates(record),
        "losses": losses(record),
        "rings_per_event": rings_per_event(record),
        "latency": {name: _statistics(stage) for name, stage in record.latency.items()},
        "quality": scores.as_dict() if scores else None,
        "agreement": _agreement(agreement.near) if agreement else None,
        "ledger": record.ledger().as_dict(),
        "states": dict(record.states),
        "notices": list(record.notices),
        "counters": {"node": record.node, "source": record.source},
        "config": record.config.flat(),
    }


def _statistics(stage: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in stage.items() if name not in ("bins_ns", "bin_counts")}


def _agreement(near: Share) -> dict[str, Any]:
    return {"rings_of_reference": near.total, "found": near.n, "share": near.value, "low": near.low, "high": near.high}


def rates(record: RunRecord) -> dict[str, float]:
    """Events and payload per second of beam (bursts without gaps); 0 when no burst ended."""
    n_bytes = sum(block.get("bytes", 0) for block in receive_blocks(record.node).values())
    beam_s = record.beam_s
    return {
        "beam_s": beam_s,
        "events": record.n_events,
        "events_per_s": record.n_events / beam_s if beam_s else 0.0,
        "payload_gbit_per_s": n_bytes * 8e-9 / beam_s if beam_s else 0.0,
    }


LOSSES = {
    "kernel_dropped": "dropped by the kernel",
    "dropped_packets": "dropped, no free buffer",
    "overwritten_packets": "overwritten",
    "lost_sequences": "never came",
    "duplicate_packets": "duplicate",
    "stray_packets": "stray",
}


def losses(record: RunRecord) -> dict[str, int]:
    """Packets not used, by cause, all boards; causes with none are left out."""
    blocks = receive_blocks(record.node)
    counts = {label: sum(block.get(name, 0) for block in blocks.values()) for name, label in LOSSES.items()}
    for block in blocks:
        for verdict, n in record.node.get(f"{block}.verdict", {}).items():
            if verdict != "ok":
                counts[f"malformed: {verdict}"] = counts.get(f"malformed: {verdict}", 0) + n
    return {label: n for label, n in counts.items() if n}


def rings_per_event(record: RunRecord) -> float:
    trigger = record.node.get("trigger", {})
    return trigger.get("rings", 0) / trigger["events"] if trigger.get("events") else 0.0


def _no_nan(value: Any) -> Any:
    """JSON knows no NaN: it becomes null."""
    if isinstance(value, dict):
        return {key: _no_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_no_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


def headlines(record: RunRecord) -> list[str]:
    """The run in three lines."""
    rate = rates(record)
    lost = ", ".join(f"{n:,} {label}" for label, n in losses(record).items()) or "none"
    return [
        f"{record.n_events:,} events decided, {rate['events_per_s']:,.0f} /s of beam, "
        f"{rate['payload_gbit_per_s']:.2f} Gb/s payload, {rings_per_event(record):.2f} rings per event",
        f"packets not used: {lost}",
    ]


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


def percent(share: Share) -> str:
    """With its interval of one standard deviation, rounded to what it says."""
    if not share.total:
        return "-"
    return f"{100 * share.value:.1f} ± {50 * (share.high - share.low):.1f} %"


def ledger_table(ledger: Ledger) -> Table:
    table = _table("Ledger", "level", "what", "total", "where it went")
    table.columns[1].justify = table.columns[3].justify = "left"
    for row in ledger.rows:
        parts = "  +  ".join(f"{value:,} {label}" for label, value in row.parts)
        table.add_row(row.level, row.name, f"{row.total:,}", parts, style="" if row.balanced else "bold red")
    return table
