# SPDX-License-Identifier: Apache-2.0
"""The figures of the exchange's report. Each takes plain values and returns a figure, or None when there is
nothing."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anello.exchange.account.node_record import NodeRecord, Sample
from anello.exchange.report.summary import WAITED
from anello.report import plot
from anello.report.drawing import Figure

MAX_LINES = 16  # nodes with a line of their own
N_STEPS = 400  # points of the sum over many nodes


def bandwidth(nodes: Sequence[NodeRecord]) -> Figure | None:
    """Bandwidth of built events against time: the sum, and each node where there are few."""
    builders = [node for node in nodes if node.builds and len(node.series) > 1]
    if not builders:
        return None
    lines = [(f"node {node.rank}", *_rates(node.series)) for node in builders[:MAX_LINES]] if len(builders) > 1 else []
    figure = _against_time(lines, "built, Gb/s")
    x, y = _total(builders)
    figure.add_scatter(x=x, y=y, mode="lines", name="all", line={"color": plot.INK, "width": 2})
    return figure


def credit(nodes: Sequence[NodeRecord], n_credits: int) -> Figure | None:
    """Free packet buffers of the builders against time."""
    builders = [node for node in nodes if node.builds and node.series]
    if not builders:
        return None
    lines = [
        (f"node {node.rank}", [one.time_s for one in node.series], [one.credits_free for one in node.series])
        for node in builders[:MAX_LINES]
    ]
    figure = _against_time(lines, "free, multi-event packets")
    figure.update_yaxes(range=[0, 1.05 * n_credits])
    return figure


def _against_time(lines: Iterable[tuple[str, Sequence[float], Sequence[float]]], y: str) -> Figure:
    """A figure of lines against time. lines: name, times in s, values."""
    figure = Figure()
    for index, (name, times_s, values) in enumerate(lines):
        line = {"color": plot.SERIES[index % len(plot.SERIES)], "width": 1}
        figure.add_scatter(x=times_s, y=values, mode="lines", name=name, line=line, opacity=0.8)
    plot.styled(figure, x="time since the start, s", y=y)
    figure.update_yaxes(rangemode="tozero")
    return figure


def _rates(series: Sequence[Sample]) -> tuple[list[float], list[float]]:
    """Middle of each interval, and the bandwidth of events built in it, Gb/s."""
    pairs = [(old, new) for old, new in itertools.pairwise(series) if new.time_s > old.time_s]
    return (
        [round((old.time_s + new.time_s) / 2, 4) for old, new in pairs],
        [round((new.bytes_built - old.bytes_built) * 8e-9 / (new.time_s - old.time_s), 4) for old, new in pairs],
    )


def _total(nodes: Sequence[NodeRecord]) -> tuple[list[float], list[float]]:
    """The sum over the nodes. Nodes sample at different times: each node's total is interpolated between its
    samples."""
    import numpy as np

    end_s = max(node.series[-1].time_s for node in nodes)
    n_steps = min(N_STEPS, max(len(node.series) for node in nodes))
    times = np.linspace(0, end_s, n_steps + 1)
    built = sum(
        np.interp(times, [one.time_s for one in node.series], [one.bytes_built for one in node.series])
        for node in nodes
    )
    rates = np.diff(built) * 8e-9 / np.diff(times)
    return ((times[1:] + times[:-1]) / 2).round(4).tolist(), rates.round(4).tolist()


def by_node(nodes: Sequence[NodeRecord], point_to_point_gbit_per_s: float) -> Figure | None:
    """Bandwidth of events built by each node, compared with the transport's point-to-point bandwidth."""
    builders = [node for node in nodes if node.builds]
    if not builders:
        return None
    figure = Figure()
    figure.add_bar(
        x=[node.rank for node in builders],
        y=[round(node.gbit_per_s, 4) for node in builders],
        name="built",
        marker={"color": plot.BLUE},
    )
    if point_to_point_gbit_per_s:
        figure.add_hline(y=point_to_point_gbit_per_s, line={"color": plot.GREEN, "dash": "dash"})
        figure.add_annotation(
            x=1,
            xref="x domain",
            y=point_to_point_gbit_per_s,
            yref="y",
            text="between two idle nodes",
            showarrow=False,
            xanchor="right",
            yanchor="bottom",
        )
    plot.styled(figure, x="node", y="Gb/s", height=280)
    figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero")
    return figure


def cpu(nodes: Sequence[NodeRecord]) -> Figure | None:
    """Cores that each node used, on average."""
    if not nodes:
        return None
    figure = Figure()
    figure.add_bar(
        x=[node.rank for node in nodes], y=[round(node.cores, 3) for node in nodes], marker={"color": plot.ORANGE}
    )
    plot.styled(figure, x="node", y="cores", height=280)
    figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero")
    return figure


def waiting(nodes: Sequence[NodeRecord]) -> Figure | None:
    """Share of each node's time in which it waited, by cause."""
    shown = [node for node in nodes if node.wall_s]
    if not shown:
        return None
    figure = Figure()
    for index, (name, words) in enumerate(WAITED.items()):
        waited_s = [node.counters.get("station", {}).get(name, 0) * 1e-9 for node in shown]
        shares = [round(100 * seconds / node.wall_s, 3) for node, seconds in zip(shown, waited_s, strict=True)]
        colour = plot.SERIES[index % len(plot.SERIES)]
        figure.add_bar(x=[node.rank for node in shown], y=shares, name=words, marker={"color": colour})
    plot.styled(figure, x="node", y="waited, % of the time", height=300, barmode="stack")
    figure.update_xaxes(type="category")
    figure.update_yaxes(range=[0, 100])
    return figure


def against(runs: Sequence[Mapping[str, Any]], key: str, words: str, *, is_log: bool) -> Figure | None:
    """Total bandwidth, and that of one node, against the quantity in which the runs differ. runs: rows of
    curve.curve_of."""
    if not runs:
        return None
    figure = Figure()
    x = [run[key] for run in runs]
    lines = (
        ("all nodes", "built_gbit_per_s", plot.BLUE),
        ("per node", "per_node_gbit_per_s", plot.ORANGE),
        ("between two idle nodes", "point_to_point_gbit_per_s", plot.GREEN),
    )
    for name, values, colour in lines:
        y = [run[values] or None for run in runs]
        if any(y):
            figure.add_scatter(
                x=x, y=y, name=name, mode="lines+markers", line={"color": colour, "width": 2}, marker={"size": 8}
            )
    plot.styled(figure, x=words, y="Gb/s")
    figure.update_yaxes(rangemode="tozero")
    if is_log:
        figure.update_xaxes(type="log")
    else:
        figure.update_xaxes(tickvals=sorted(set(x)))
    return figure
