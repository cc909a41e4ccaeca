# SPDX-License-Identifier: Apache-2.0
"""The figures of this chain's report. Each function takes plain values and returns a figure, or None when there is
nothing to draw."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.report import plot
from anello.report.drawing import Figure

from .rates import Rates, k40_hz


def pmt_rates(rates: Rates) -> Figure | None:
    """Rate of each PMT, by DOM from the sea bed up, in kHz."""
    if not rates.dom_seconds:
        return None
    figure = Figure()
    figure.add_heatmap(
        z=(rates.by_pmt * 1e-3).round(3).tolist(),
        colorscale=plot.VIRIDIS,
        colorbar={"title": {"text": "kHz"}},
        hovertemplate="DOM %{y}, channel %{x}: %{z} kHz<extra></extra>",
    )
    return plot.styled(figure, x="channel", y="DOM")


def pair_rates(rates: Rates) -> Figure | None:
    """Coincidence rates of the 465 pairs of PMTs without random coincidences, compared with the rates from 40K."""
    if not rates.dom_seconds:
        return None
    cos, found_hz = rates.pairs_above_chance_hz()
    figure = Figure()
    figure.add_scatter(
        x=cos.round(3).tolist(),
        y=found_hz.round(4).tolist(),
        mode="markers",
        name="found",
        marker={"color": plot.BLUE, "size": 5},
    )
    line = np.linspace(-1, 0.9, 100)
    figure.add_scatter(x=line.tolist(), y=k40_hz(line).tolist(), name="40K, expected", line={"color": plot.ORANGE})
    return plot.styled(figure, x="cosine of the angle between two PMTs", y="coincidences of a pair, Hz per DOM")


def event(one: Mapping[str, Any], height_m: NDArray[np.float64]) -> Figure:
    """Hits of an event: their time against the height of their DOM; L1 in colour."""
    figure = Figure()
    is_l1 = one["is_l1"].astype(bool)
    for name, chosen, colour, size in (("hit", ~is_l1, plot.SOFT, 4), ("first of an L1", is_l1, plot.ORANGE, 9)):
        figure.add_scatter(
            x=one["hit_time_ns"][chosen].round(1).tolist(),
            y=height_m[one["dom"][chosen]].round(1).tolist(),
            mode="markers",
            name=name,
            marker={"color": colour, "size": size},
        )
    return plot.styled(figure, x="time, ns", y="height above the sea bed, m", height=320)


def sizes(n_doms: list[int]) -> Figure | None:
    """Histogram of the number of DOMs with an L1 in an event."""
    if not n_doms:
        return None
    values, counts = np.unique(np.asarray(n_doms), return_counts=True)
    figure = Figure()
    figure.add_bar(x=values.tolist(), y=counts.tolist(), marker={"color": plot.BLUE})
    return plot.styled(figure, x="DOMs with an L1 in the event", y="events", height=320)
