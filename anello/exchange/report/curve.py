# SPDX-License-Identifier: Apache-2.0
"""Bandwidth against the number of nodes, or the size of messages, from a series of runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from rich.table import Table

from anello.account.quantiles import rounded
from anello.exchange.report import figures
from anello.report import html
from anello.report.files import save
from anello.report.report import plain_table

# fmt: off
COLUMNS = ("built, Gb/s", "per node", "of point to point", "p50, µs", "p99.9, µs", "cores", "balanced", "moved, Gb/s",
           "million events/s")
# fmt: on
N_SHOWN = 7  # columns shown on a terminal


@dataclass(frozen=True)
class Axis:
    """The quantity in which the runs differ. key: of row_of()."""

    key: str
    head: str
    words: str
    is_log: bool = False


NODES = Axis("n_nodes", "nodes", "the number of nodes")
MESSAGES = Axis("message_bytes", "bytes", "the size of messages", is_log=True)


def row_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the curve, from a run's summary.json."""
    rates, nodes = summary["rates"], summary["nodes"]
    n_builders = max(1, sum("bu" in node["roles"].split("+") for node in nodes))
    per_node, reference = rates["built_gbit_per_s"] / n_builders, summary["point_to_point"]["gbit_per_s"]
    whole = summary["latency"].get("ready_to_built", {})
    return {
        "n_nodes": len(nodes) + len(summary["absent"]),
        "message_bytes": _message_bytes(summary),
        "built_gbit_per_s": rates["built_gbit_per_s"],
        "per_node_gbit_per_s": per_node,
        "moved_gbit_per_s": rates["moved_gbit_per_s"],
        "point_to_point_gbit_per_s": reference,
        "of_point_to_point": per_node / reference if reference else None,
        "events_per_s": rates["events_per_s"],
        "p50_us": _us(whole.get("p50_ns")),
        "p999_us": _us(whole.get("p999_ns")),
        "cores": sum(node["cores"] for node in nodes),
        "balanced": summary["balanced"],
    }


def _us(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns * 1e-3


def _message_bytes(summary: Mapping[str, Any]) -> int:
    """Size of the average message: a readout unit's part of a multi-event packet."""
    builders = [block for name, block in summary["counters"]["node"].items() if name.endswith(".builder")]
    n_bytes, n_messages = (sum(block[name] for block in builders) for name in ("bytes_received", "mfps_received"))
    return round(n_bytes / n_messages) if n_messages else 0


def curve_of(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """One row for each run that left a summary; folder: its name."""
    files = [folder / "summary.json" for folder in folders]
    return [row_of(json.loads(file.read_text())) | {"folder": file.parent.name} for file in files if file.exists()]


def _cells(row: Mapping[str, Any], axis: Axis) -> list[str]:
    share = row["of_point_to_point"]
    return [
        f"{row[axis.key]:,}",
        f"{row['built_gbit_per_s']:.2f}",
        f"{row['per_node_gbit_per_s']:.2f}",
        "-" if share is None else f"{100 * share:.0f} %",
        rounded(row["p50_us"]),
        rounded(row["p999_us"]),
        f"{row['cores']:.2f}",
        "yes" if row["balanced"] else "NO",
        f"{row['moved_gbit_per_s']:.2f}",
        f"{row['events_per_s'] * 1e-6:.3f}",
    ]


def table(curve: Sequence[Mapping[str, Any]], axis: Axis = NODES) -> Table:
    """A table with those columns that fit on a terminal."""
    shown = plain_table(f"Against {axis.words}", axis.head, *COLUMNS[:N_SHOWN])
    for row in curve:
        shown.add_row(*_cells(row, axis)[: 1 + N_SHOWN])
    return shown


def write(curve: Sequence[Mapping[str, Any]], directory: Path, name: str, axis: Axis = NODES) -> Path:
    """Writes curve.json and report.html; returns the latter's path."""
    (directory / "curve.json").write_text(json.dumps(list(curve), indent=1) + "\n")
    links = ", ".join(f'<a href="{row["folder"]}/report.html">{row[axis.key]:,} {axis.head}</a>' for row in curve)
    drawing = figures.against(curve, axis.key, axis.head, is_log=axis.is_log)
    best = max((row["built_gbit_per_s"] for row in curve), default=0.0)
    drawn = html.figure(drawing, f"At most {best:.2f} Gb/s built by all nodes.") + html.rows(
        [axis.head, *COLUMNS], [_cells(row, axis) for row in curve]
    )
    head = f"<header><h1>{escape(name)}</h1><p>Each run by itself: {links}</p></header>"
    about = f"What all nodes build together, and each of them, against {axis.words}."
    section = html.section("Bandwidth", about, drawn)
    return save(directory / "report.html", html.document(f"Anello: {name}", f"{head}{section}"))
