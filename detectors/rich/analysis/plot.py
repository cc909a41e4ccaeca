# SPDX-License-Identifier: Apache-2.0
"""Draws events with their rings, in the style of all figures (anello.plot)."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anello.report.drawing import Figure
from anello.report.plot import GREEN, INK, ORANGE, SOFT, styled

from .rings import Rings

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["event", "styled"]


def event(
    hit_x_mm: NDArray[Any],
    hit_y_mm: NDArray[Any],
    *,
    true: Rings | None = None,
    found: Rings | None = None,
    in_time: NDArray[np.bool_] | None = None,
    reference_name: str = "true ring",
    title: str = "",
    height: int = 420,
    legend: bool = True,
) -> "go.Figure":
    """Draws one event. hit_x_mm, hit_y_mm: real[N] in the fit frame; true, found: its rings, all of which are drawn;
    in_time: bool[N], hits out of time are drawn faint. Raises ValueError when shapes differ."""
    return draw_event(
        hit_x_mm,
        hit_y_mm,
        true=true,
        found=found,
        in_time=in_time,
        reference_name=reference_name,
        title=title,
        height=height,
        legend=legend,
    ).plotly()


def draw_event(
    hit_x_mm: NDArray[Any],
    hit_y_mm: NDArray[Any],
    *,
    true: Rings | None,
    found: Rings | None,
    in_time: NDArray[np.bool_] | None,
    reference_name: str,
    title: str,
    height: int,
    legend: bool,
) -> Figure:
    """Draws the same figure as event(), for a report."""
    x_mm, y_mm = np.asarray(hit_x_mm), np.asarray(hit_y_mm)
    used = np.ones(x_mm.shape, bool) if in_time is None else np.asarray(in_time, bool)
    if x_mm.ndim != 1 or not x_mm.shape == y_mm.shape == used.shape:
        raise ValueError(
            f"hit_x_mm {x_mm.shape}, hit_y_mm {y_mm.shape} and in_time {used.shape} must have one shape (N,)"
        )
    figure = Figure()
    _add_hits(figure, x_mm[~used], y_mm[~used], "hit out of time", {"color": SOFT, "symbol": "circle-open"})
    _add_hits(figure, x_mm[used], y_mm[used], "hit", {"color": INK})
    _add_rings(figure, true, reference_name, GREEN, "dash")
    _add_rings(figure, found, "found ring", ORANGE, "solid")
    styled(figure, x="x, mm", y="y, mm", height=height)
    figure.update_yaxes(scaleanchor="x", scaleratio=1, range=[-420, 420])
    figure.update_xaxes(range=[-520, 320], constrain="domain")
    figure.update_layout(showlegend=legend)
    if title:
        layout = {"text": title, "x": 0.5, "y": 1, "yanchor": "top", "pad": {"t": 8}, "font": {"size": 13}}
        figure.update_layout(title=layout, margin={"t": 64 if legend else 32})
    return figure


def _add_hits(figure: Figure, x: NDArray[Any], y: NDArray[Any], name: str, look: dict[str, str]) -> None:
    if len(x):
        figure.add_scatter(x=x.tolist(), y=y.tolist(), mode="markers", name=name, marker={"size": 6, **look})


def _add_rings(figure: Figure, rings: Rings | None, name: str, colour: str, dash: str) -> None:
    """Adds all rings as one line with gaps, so that the legend has one entry."""
    if rings is None or not len(rings):
        return
    phi = np.append(np.linspace(0, 2 * np.pi, 73), np.nan)
    x = (rings.x_mm[:, None] + rings.radius_mm[:, None] * np.cos(phi)).ravel()
    y = (rings.y_mm[:, None] + rings.radius_mm[:, None] * np.sin(phi)).ravel()
    line = {"color": colour, "width": 2, "dash": dash}
    figure.add_scatter(
        x=_rounded(x), y=_rounded(y), mode="lines", name=name, line=line, hoverinfo="skip", connectgaps=False
    )


def _rounded(values: NDArray[Any]) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 1) for value in values]
