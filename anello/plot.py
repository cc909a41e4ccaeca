# SPDX-License-Identifier: Apache-2.0
"""Plotly figures of events and the style that all figures share."""

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from anello.drawing import Figure
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
VIRIDIS = [  # a scale, as Plotly's Python writes it
    [step / 9, colour]
    for step, colour in enumerate(
        ("#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725")
    )
]
FONT = "Inter, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"


NO_TEMPLATE = {"data": {"scatter": [{"type": "scatter"}]}}  # what Plotly calls "none"


class Updatable(Protocol):
    """A figure of ours or of Plotly's."""

    def update_layout(self, **layout: Any) -> Any: ...
    def update_xaxes(self, **axis: Any) -> Any: ...
    def update_yaxes(self, **axis: Any) -> Any: ...


AnyFigure = TypeVar("AnyFigure", bound=Updatable)


def styled(figure: AnyFigure, *, x: str, y: str, height: int = 380, **layout: Any) -> AnyFigure:
    """The same dark-on-light look for each figure, ours or Plotly's; x and y are axis titles with units."""
    axis = {
        "showline": True, "linecolor": SOFT, "gridcolor": FAINT, "zeroline": False, "ticks": "outside",
        "tickcolor": SOFT, "automargin": True,
    }  # fmt: skip
    figure.update_layout(
        template=NO_TEMPLATE, height=height, font={"family": FONT, "size": 13, "color": INK},
        paper_bgcolor="white", plot_bgcolor="white", margin={"l": 72, "r": 16, "t": 16, "b": 52},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        hoverlabel={"font": {"family": FONT}}, bargap=0.05, **layout,
    )  # fmt: skip
    figure.update_xaxes(title={"text": x, "standoff": 12}, **axis)
    figure.update_yaxes(title={"text": y, "standoff": 12}, **axis)
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
    return draw_event(
        hit_x_mm, hit_y_mm, true=true, found=found, in_time=in_time, reference_name=reference_name, title=title,
        height=height, legend=legend,
    ).plotly()  # fmt: skip


def draw_event(
    hit_x_mm: NDArray[Any], hit_y_mm: NDArray[Any], *, true: Rings | None, found: Rings | None,
    in_time: NDArray[np.bool_] | None, reference_name: str, title: str, height: int, legend: bool,
) -> Figure:  # fmt: skip
    """As event() has it, for a report."""
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
