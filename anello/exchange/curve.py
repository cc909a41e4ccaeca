# SPDX-License-Identifier: Apache-2.0
"""Bandwidth against the number of nodes, from runs that were made one after the other."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rich.table import Table

from anello import report_html
from anello.exchange import figures
from anello.report import plain_table

COLUMNS = ("nodes", "built, Gb/s", "per node, Gb/s", "moved, Gb/s", "of point to point", "million events/s", "p50, µs",
           "p99.9, µs", "cores", "balanced")  # fmt: skip


def row_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the curve needs of a run's summary.json."""
    rates, nodes = summary["rates"], summary["nodes"]
    n_builders = max(1, sum("bu" in node["roles"].split("+") for node in nodes))
    per_node, reference = rates["built_gbit_per_s"] / n_builders, summary["point_to_point"]["gbit_per_s"]
    whole = summary["latency"].get("ready_to_built", {})
    return {
        "n_nodes": len(nodes) + len(summary["absent"]),
        "built_gbit_per_s": rates["built_gbit_per_s"],
        "per_node_gbit_per_s": per_node,
        "moved_gbit_per_s": rates["moved_gbit_per_s"],
        "point_to_point_gbit_per_s": reference,
        "of_point_to_point": per_node / reference if reference else None,
        "events_per_s": rates["events_per_s"],
        "p50_us": whole.get("p50_ns", 0.0) * 1e-3,
        "p999_us": whole.get("p999_ns", 0.0) * 1e-3,
        "cores": sum(node["cores"] for node in nodes),
        "balanced": summary["balanced"],
    }


def curve_of(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """A row for each run that left a summary."""
    files = [folder / "summary.json" for folder in folders]
    return [row_of(json.loads(file.read_text())) for file in files if file.exists()]


def _cells(row: Mapping[str, Any]) -> list[str]:
    share = row["of_point_to_point"]
    return [
        str(row["n_nodes"]), f"{row['built_gbit_per_s']:.2f}", f"{row['per_node_gbit_per_s']:.2f}",
        f"{row['moved_gbit_per_s']:.2f}", "-" if share is None else f"{100 * share:.1f} %",
        f"{row['events_per_s'] * 1e-6:.3f}", f"{row['p50_us']:,.0f}", f"{row['p999_us']:,.0f}", f"{row['cores']:.2f}",
        "yes" if row["balanced"] else "NO",
    ]  # fmt: skip


def table(curve: Sequence[Mapping[str, Any]]) -> Table:
    shown = plain_table("Against the number of nodes", *COLUMNS)
    for row in curve:
        shown.add_row(*_cells(row))
    return shown


def write(curve: Sequence[Mapping[str, Any]], directory: Path, name: str) -> Path:
    """Writes curve.json and report.html; returns the latter's path."""
    (directory / "curve.json").write_text(json.dumps(list(curve), indent=1) + "\n")
    links = ", ".join(f'<a href="nodes-{row["n_nodes"]}/report.html">{row["n_nodes"]} nodes</a>' for row in curve)
    drawn = report_html.figure(figures.against_nodes(curve)) + report_html.rows(
        list(COLUMNS), [_cells(row) for row in curve]
    )
    head = f"<header><h1>{escape(name)}</h1><p>Each run by itself: {links}</p></header>"
    about = "What all nodes build together, and each of them, against the number of nodes."
    page = directory / "report.html"
    section = report_html.section("Bandwidth", about, drawn)
    page.write_text(report_html.document(f"Anello: {name}", f"{head}{section}"), encoding="utf-8")
    return page
