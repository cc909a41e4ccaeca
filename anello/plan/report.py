# SPDX-License-Identifier: Apache-2.0
"""Output of a plan: lines on the terminal, plan.json, plan.html."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from anello.plan.farm import OUT_OF_STEP, PROTOCOLS, Farm
from anello.plan.simulation import Plan, SimulationResult
from anello.report import html, plot
from anello.report.drawing import Figure
from anello.report.files import save
from anello.report.report import plain_table

PORTS = {
    "out": "nodes to leaf switches",
    "up": "leaf to spine switches",
    "down": "spine to leaf switches",
    "in": "leaf switches to nodes",
}
COLUMNS = ("protocol", "nodes", "Gb/s each", "Tb/s total", "card", "stalled", "p99.9, µs", "builder, MB")


# --- Words --------------------------------------------------------------------------------------------------------
def named(farm: Farm) -> str:
    load = f"{farm.offered_gbps():.2f} Gb/s per node" if farm.mep_interval_ns else "full load"
    return f"{farm.n_nodes} nodes, {farm.name}, {load}"


def megabytes(n_bytes: float) -> str:
    return f"{n_bytes * 1e-6:,.3g} MB" if n_bytes < 1e9 else f"{n_bytes * 1e-9:,.3g} GB"


def headline(plan: "Plan") -> str:
    asked, farm, full = plan.asked, plan.asked.farm, plan.full
    link = f"{farm.n_nodes} x {farm.link_gbps:g} Gb/s, {farm.name}"
    if not farm.mep_interval_ns:
        return f"{link}: {asked.total_tbps:.4g} Tb/s of payload, {asked.built_gbps:.4g} Gb/s per node"
    wanted = farm.offered_gbps() * farm.n_nodes * 1e-3
    verdict = "carries" if asked.carries else "does NOT carry"
    limit = f"; the maximum is {full.total_tbps:.4g} Tb/s" if full else ""
    return f"{link}: {verdict} {wanted:.4g} Tb/s ({asked.total_tbps:.4g} Tb/s built{limit})"


def lines(plan: "Plan") -> list[str]:
    """The result for people, the headline first."""
    return [headline(plan), *(f"  {line}" for line in _details(plan.asked))]


def _details(asked: SimulationResult) -> Iterator[str]:
    farm = asked.farm
    loads = ", ".join(
        f"{words} {asked.load_mean[kind] * 100:.1f} % (busiest {asked.load_max[kind] * 100:.1f} %)"
        for kind, words in PORTS.items()
        if kind in asked.load_mean
    )
    if loads:
        yield f"links in use: {loads}"
        yield from _stalls(asked)
    said = ", ".join(f"{name} {value:,.0f}" for name, value in asked.latency_us.items())
    yield f"first fragment ready to event built, µs: {said}"
    full = " (all it has)" if asked.readout_high >= farm.n_buffers else ""
    yield f"buffers of a readout unit: {asked.readout_high} messages, {megabytes(asked.readout_bytes)}{full}"
    yield (
        f"buffers of a builder unit: {asked.builder_high} of {farm.n_credits} multi-event packets open, "
        f"{megabytes(asked.builder_bytes)}"
    )
    if asked.behind_us:
        yield f"readout units ran out of buffers: data waited up to {asked.behind_us:,.0f} µs for a free one"
    if asked.n_incomplete:
        yield f"{asked.n_incomplete} packets were built without some part, which came too late"
    if asked.n_overruled:
        yield f"{asked.n_overruled:,} messages did not wait for readout units that were behind"
    yield (
        f"nodes' threads work for {asked.busy_mean * 100:.1f} % of the time (busiest {asked.busy_max * 100:.1f} %, the "
        f"manager's {asked.busy_manager * 100:.1f} %)"
    )
    costs = farm.costs
    yield (
        f"a message costs each side {costs.per_message_ns:,.0f} ns and {costs.per_byte_ns:.4g} ns per byte; data that "
        f"stays on its node costs {costs.own_share:.3g} of both ({costs.source})"
    )


def _stalls(asked: SimulationResult) -> Iterator[str]:
    kind, most = max(asked.port_bytes.items(), key=lambda one: one[1], default=("out", 0.0))
    yield (
        f"switches stop nodes' cards for {asked.stalled_mean['out'] * 100:.1f} % of the time (longest "
        f"{asked.stalled_max['out'] * 100:.1f} %); fullest port {most / 1024:,.0f} of "
        f"{asked.farm.port_bytes / 1024:,.0f} KiB ({PORTS[kind]})"
    )


# --- The terminal -------------------------------------------------------------------------------------------------
class PlanWatcher:
    """Prints one line per simulation; on a terminal also the progress of the first one."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def __enter__(self) -> "PlanWatcher":
        if self._live:
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.__exit__(None, None, None)

    def progress(self, farm: Farm) -> Callable[[float], None]:
        def show(share: float) -> None:
            if self._live:
                self._live.update(Text(f"{named(farm)}: {share * 100:.0f} %", style="dim"), refresh=True)

        return show

    def done(self, result: SimulationResult) -> None:
        if self._live:
            self._live.update(Text(""), refresh=True)
        said = f"{named(result.farm)}: {result.built_gbps:.2f} Gb/s per node, {result.total_tbps:.4g} Tb/s"
        self._console.print(Text(f"{said}  ({result.seconds:.1f} s)", style="dim"), soft_wrap=True)


def show(plan: "Plan", console: Console) -> None:
    console.print()
    if plan.curve:
        console.print(_table(plan.curve))
    good = plan.asked.carries or not plan.asked.farm.mep_interval_ns
    first, *rest = lines(plan)
    console.print(Text(first, style="bold green" if good else "bold red"), soft_wrap=True)
    for line in rest:
        console.print(Text(line), soft_wrap=True)


def _table(results: Sequence[SimulationResult]) -> Table:
    table = plain_table("At full load", *COLUMNS)
    for result in results:
        table.add_row(*_cells(result))
    return table


def _cells(result: SimulationResult) -> list[str]:
    card, stalled = result.load_mean.get("out"), result.stalled_mean.get("out")
    return [
        result.farm.name,
        str(result.farm.n_nodes),
        f"{result.built_gbps:.2f}",
        f"{result.total_tbps:.3f}",
        "-" if card is None else f"{card * 100:.1f} %",
        "-" if stalled is None else f"{stalled * 100:.1f} %",
        f"{result.latency_us['p99.9']:,.0f}",
        f"{result.builder_bytes * 1e-6:,.1f}",
    ]


# --- Files --------------------------------------------------------------------------------------------------------
def as_dict(plan: "Plan") -> dict[str, Any]:
    """The values of plan.json; docs/reference/plan.md explains them."""
    return {
        "words": lines(plan),
        "carries": plan.asked.carries if plan.asked.farm.mep_interval_ns else None,
        "asked": _result_dict(plan.asked),
        "curve": [_result_dict(result) for result in plan.curve],
    }


def _result_dict(result: SimulationResult) -> dict[str, Any]:
    sums = {
        "total_tbps": result.total_tbps,
        "readout_bytes": result.readout_bytes,
        "builder_bytes": result.builder_bytes,
    }
    return asdict(result) | sums


def write(plan: "Plan", directory: Path, title: str, shared: Path | None = None) -> Path:
    """Writes plan.json and plan.html; returns the latter's path."""
    (directory / "plan.json").write_text(json.dumps(as_dict(plan), indent=1) + "\n")
    return save(directory / "plan.html", page(plan, title), shared=shared)


def page(plan: "Plan", title: str) -> str:
    first, *rest = lines(plan)
    said = "".join(f"<p class='about'>{escape(line)}</p>" for line in rest)
    parts = [f"<header><h1>{escape(title)}</h1><p>{escape(first)}</p></header><section>{said}</section>"]
    if plan.curve:
        about = "Payload built per node at full load, against the number of nodes."
        parts.append(
            html.section(
                "Bandwidth",
                about,
                html.figure(
                    bandwidth(plan), f"At {plan.asked.farm.n_nodes:,} nodes {plan.asked.built_gbps:.3g} Gb/s per node."
                ),
            )
        )
        about = (
            "Share of the time that switches without room stop a node's card, all that it has to send with it: on the "
            "average of all nodes, at full load."
        )
        words = f"At {plan.asked.farm.n_nodes:,} nodes {100 * plan.asked.stalled_mean.get('out', 0.0):.3g} %."
        parts.append(html.section("Stopped by switches", about, html.figure(stalls(plan), words)))
        cells = [[escape(cell) for cell in _cells(result)] for result in plan.curve]
        parts.append(html.section("All of them", "", html.rows(list(COLUMNS), cells)))
    keys = "\n".join(f"{name} = {value}" for name, value in asdict(plan.asked.farm).items())
    folded = f"<details><summary>The farm</summary><code>{escape(keys)}</code></details>"
    parts.append(f"<section>{folded}</section>")
    return html.document(f"Anello: {title}", "\n".join(parts))


def bandwidth(plan: "Plan") -> Figure:
    figure = Figure()
    if plan.asked.farm.link_gbps:
        figure.add_hline(y=plan.asked.farm.link_gbps, line={"color": plot.SOFT, "dash": "dot"})
    _add_curves(figure, plan.curve, lambda result: result.built_gbps)
    return _by_nodes(plot.styled(figure, x="nodes", y="built per node, Gb/s"))


def stalls(plan: "Plan") -> Figure:
    figure = Figure()
    _add_curves(figure, plan.curve, lambda result: 100 * result.stalled_mean.get("out", 0.0))
    return _by_nodes(plot.styled(figure, x="nodes", y="stopped, % of the time"))


def _add_curves(
    figure: Figure, results: Sequence[SimulationResult], value: Callable[[SimulationResult], float]
) -> None:
    for name, colour in zip((*PROTOCOLS, OUT_OF_STEP), plot.SERIES, strict=False):
        chosen = [result for result in results if result.farm.name == name]
        figure.add_scatter(
            x=[result.farm.n_nodes for result in chosen],
            y=[value(result) for result in chosen],
            mode="lines+markers",
            name=name,
            line={"color": colour},
        )


def _by_nodes(figure: Figure) -> Figure:
    ticks = [2**power for power in range(1, 11)]
    figure.update_xaxes(type="log", tickvals=ticks)
    figure.update_yaxes(rangemode="tozero")
    return figure
