# SPDX-License-Identifier: Apache-2.0
"""Plotly figures of events and the style that all figures share."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anello.rings import Rings

if TYPE_CHECKING:
    import plotly.graph_objects as go

INK = "#1f2933"
SOFT = "#8a97a6"
FAINT = "#e4e9ef"
BLUE = "#1f6feb"
ORANGE = "#e8590c"
GREEN = "#2b8a3e"
RED = "#c92a2a"
PURPLE = "#7048a8"
TEAL = "#0b7285"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, TEAL, RED, SOFT)
FONT = "Inter, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"


def styled(figure: "go.Figure", *, x: str, y: str, height: int = 380, **layout: Any) -> "go.Figure":
    """The same dark-on-light look for each figure; x and y are axis titles with units."""
    axis = {
        "showline": True, "linecolor": SOFT, "gridcolor": FAINT, "zeroline": False, "ticks": "outside",
        "tickcolor": SOFT, "title_standoff": 12, "automargin": True,
    }  # fmt: skip
    figure.update_layout(
        template="none", height=height, font={"family": FONT, "size": 13, "color": INK},
        paper_bgcolor="white", plot_bgcolor="white", margin={"l": 72, "r": 16, "t": 16, "b": 52},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        hoverlabel={"font": {"family": FONT}}, bargap=0.05, **layout,
    )  # fmt: skip
    figure.update_xaxes(title_text=x, **axis)
    figure.update_yaxes(title_text=y, **axis)
    return figure


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
    """One event: hit_x_mm, hit_y_mm: real[N] in the fit frame; true, found: its rings (all rings given are drawn);
    in_time: bool[N], hits that are not are drawn faint. Raises ValueError when shapes differ."""
    import plotly.graph_objects as go

    x_mm, y_mm = np.asarray(hit_x_mm), np.asarray(hit_y_mm)
    used = np.ones(x_mm.shape, bool) if in_time is None else np.asarray(in_time, bool)
    if x_mm.ndim != 1 or not x_mm.shape == y_mm.shape == used.shape:
        raise ValueError(
            f"hit_x_mm {x_mm.shape}, hit_y_mm {y_mm.shape} and in_time {used.shape} must have one shape (N,)"
        )
    figure = go.Figure()
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


def _add_hits(figure: "go.Figure", x: NDArray[Any], y: NDArray[Any], name: str, look: dict[str, str]) -> None:
    if len(x):
        figure.add_scatter(x=x.tolist(), y=y.tolist(), mode="markers", name=name, marker={"size": 6, **look})


def _add_rings(figure: "go.Figure", rings: Rings | None, name: str, colour: str, dash: str) -> None:
    """All rings as one line with gaps, so that the legend has one entry."""
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
