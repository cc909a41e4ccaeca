# SPDX-License-Identifier: Apache-2.0
"""Figures of a run against time. Each function takes plain values and returns a figure, or None where there is no
data."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from anello.account.history import Moment
from anello.account.over_time import Series
from anello.report import plot
from anello.report.drawing import Figure

MOST_POINTS = 400
TIME = "time, s"
SHOWN = (("p50_ns", "50 %", plot.INK), ("p99_ns", "99 %", plot.BLUE), ("p999_ns", "99.9 %", plot.ORANGE))
LATE_US = 1000.0


def rate(series: Series | None) -> Figure | None:
    """Events per second, in bins wide enough to be visible."""
    if series is None or not len(series.count):
        return None
    bins = -(-len(series.count) // MOST_POINTS)
    n = -(-len(series.count) // bins)
    wide = series.over(series.begin_ns // (bins * series.bin_ns) * bins * series.bin_ns, bins * series.bin_ns, n + 1)
    used = np.flatnonzero(wide.count)
    if len(used) < 2:
        return None
    used = np.arange(used[0], used[-1] + 1)
    seconds = wide.bin_ns * 1e-9
    time_s = (wide.begin_ns - series.begin_ns) * 1e-9 + (used + 0.5) * seconds
    figure = Figure()
    figure.add_scatter(
        x=time_s.round(4).tolist(),
        y=(wide.count[used] / seconds).round(1).tolist(),
        mode="lines",
        name="events",
        line={"color": plot.BLUE, "width": 1.6, "shape": "hvh"},
    )
    plot.styled(figure, x=f"{TIME}, in bins of {seconds * 1e3:g} ms", y="events/s", height=280)
    figure.update_yaxes(rangemode="tozero")
    return figure


def quantiles(history: Sequence[Moment]) -> Figure | None:
    """Quantiles of the latency between two samples, µs."""
    lines = {
        words: ([one.quantiles_ns[name] * 1e-3 if name in one.quantiles_ns else None for one in history], colour)
        for name, words, colour in SHOWN
    }
    figure = _lines(history, {words: drawn for words, drawn in lines.items() if any(y is not None for y in drawn[0])})
    if figure is None:
        return None
    plot.styled(figure, x=TIME, y="latency, µs", height=300)
    figure.update_yaxes(type="log", dtick=1, tickformat=",")
    figure.add_hline(y=LATE_US, line={"color": plot.RED, "width": 1.5, "dash": "dash"})
    return figure


def losses(history: Sequence[Moment]) -> Figure | None:
    """Losses up to each time, by cause."""
    figure = _by_name(history, lambda one: one.lost, float)
    return None if figure is None else plot.styled(figure, x=TIME, y="not used so far", height=280)


def free(history: Sequence[Moment]) -> Figure | None:
    """Free buffers of each stage, %."""
    figure = _by_name(history, lambda one: one.free, lambda value: 100 * value)
    if figure is None:
        return None
    plot.styled(figure, x=TIME, y="buffers free, %", height=280)
    figure.update_yaxes(range=[0, 104])
    return figure


def _by_name(
    history: Sequence[Moment], values: Callable[[Moment], Mapping[str, float]], scaled: Callable[[float], float]
) -> Figure | None:
    names = dict.fromkeys(name for one in history for name in values(one))
    return _lines(
        history,
        {
            name: ([scaled(values(one).get(name, 0)) for one in history], plot.SERIES[index % len(plot.SERIES)])
            for index, name in enumerate(names)
        },
    )


def _lines(history: Sequence[Moment], lines: Mapping[str, tuple[Sequence[float | None], str]]) -> Figure | None:
    if len(history) < 2 or not lines:
        return None
    figure = Figure()
    for name, (y, colour) in lines.items():
        figure.add_scatter(
            x=[round(one.time_s, 2) for one in history],
            y=list(y),
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 1.6},
            marker={"size": 4},
            connectgaps=False,
        )
    return figure
