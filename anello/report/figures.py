# SPDX-License-Identifier: Apache-2.0
"""The figures that every chain's report has."""

from collections.abc import Mapping

import numpy as np

from anello.account.leg import LegLatency
from anello.account.over_time import Together
from anello.report import plot
from anello.report.drawing import Figure


def latency(
    stages: Mapping[str, LegLatency], legs: Mapping[str, str], *, whole: str, deadline_us: float | None = None
) -> Figure | None:
    """Latency histogram of each of these legs, the total in black."""
    figure = Figure()
    drawn = [name for name in legs if stages.get(name, {}).get("count")]
    for name, colour in zip(drawn, plot.SERIES, strict=False):
        x_us, share = _coarse(stages[name])
        is_whole = name == whole
        line = {"color": plot.INK if is_whole else colour, "width": 3 if is_whole else 1.6, "shape": "hvh"}
        figure.add_scatter(x=x_us, y=share, name=legs[name], mode="lines", line=line)
    if not drawn:
        return None
    plot.styled(figure, x="latency, µs", y="share of events per bin")
    figure.update_xaxes(type="log", dtick=1, tickformat=",")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    if deadline_us is not None:
        _add_deadline(figure, deadline_us)
    return figure


def over_time(
    together: Together | None, words: str, *, watched: bool, deadline_us: float | None = None
) -> Figure | None:
    """The greatest and the mean of this latency against time, and the machine's longest hiccup where it was watched."""
    if together is None:
        return None
    series = together.latency
    time_s = (np.arange(len(series.count)) + 0.5) * series.bin_ns * 1e-9
    has_events = series.count > 0
    mean_ns = series.sum_ns / np.maximum(series.count, 1)
    figure = Figure()
    lines = [("greatest", series.max_ns, has_events, plot.BLUE, 1.2), ("mean", mean_ns, has_events, plot.INK, 1.6)]
    if watched:
        lines.append(("the machine's own", together.hiccup_ns, together.hiccup_ns > 0, plot.ORANGE, 1.2))
    for label, values_ns, known, colour, width in lines:
        y_us = np.where(known, np.maximum(values_ns * 1e-3, 1.0), np.nan).round(1)
        figure.add_scatter(
            x=time_s.round(4).tolist(),
            y=[None if np.isnan(one) else float(one) for one in y_us],
            name=label,
            mode="lines",
            line={"color": colour, "width": width},
            connectgaps=False,
        )
    plot.styled(figure, x=f"time, s, in bins of {series.bin_ns * 1e-6:g} ms", y=f"{words}, µs")
    figure.update_yaxes(type="log", dtick=1, tickformat=",")
    if deadline_us is not None:
        figure.add_hline(y=deadline_us, line={"color": plot.RED, "width": 2, "dash": "dash"})
        figure.add_annotation(
            x=1,
            xref="paper",
            y=np.log10(deadline_us),
            text=f"deadline {deadline_us * 1e-3:g} ms",
            showarrow=False,
            xanchor="right",
            yanchor="bottom",
            font={"color": plot.RED},
        )
    return figure


def _add_deadline(figure: Figure, deadline_us: float) -> None:
    figure.add_vline(x=deadline_us, line={"color": plot.RED, "width": 2, "dash": "dash"})
    figure.add_annotation(
        x=np.log10(deadline_us),
        y=1,
        yref="paper",
        text=f"deadline {deadline_us * 1e-3:g} ms",
        showarrow=False,
        xanchor="left",
        xshift=6,
        yanchor="top",
        font={"color": plot.RED},
    )


def _coarse(stage: LegLatency, bins_per_decade: int = 12) -> tuple[list[float], list[float | None]]:
    """The histogram in equal steps of the logarithm: middle of the bin in us, share of events or None."""
    counts = np.asarray(stage["bin_counts"], dtype=float)
    low_us = np.maximum(np.asarray(stage["bins_ns"], dtype=float)[: len(counts)], 50.0) * 1e-3
    step = np.floor(np.log10(low_us) * bins_per_decade).astype(int)
    first = int(step.min())
    sums = np.bincount(step - first, weights=counts)
    filled = np.flatnonzero(sums)
    filled = np.arange(filled[0], filled[-1] + 1)
    middle = 10 ** ((filled + first + 0.5) / bins_per_decade)
    return middle.round(4).tolist(), [value or None for value in (sums[filled] / counts.sum()).tolist()]
