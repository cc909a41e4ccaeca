# SPDX-License-Identifier: Apache-2.0
"""The style that all figures share: colours, axes, fonts."""

from typing import Any, Protocol, TypeVar

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
VIRIDIS = [  # Plotly's colour scale, in the form of its Python package
    [step / 9, colour]
    for step, colour in enumerate(
        ("#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725")
    )
]
FONT = "Inter, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"


NO_TEMPLATE = {"data": {"scatter": [{"type": "scatter"}]}}  # Plotly's template "none"


class Updatable(Protocol):
    """A figure of ours or of Plotly's."""

    def update_layout(self, **layout: Any) -> Any: ...
    def update_xaxes(self, **axis: Any) -> Any: ...
    def update_yaxes(self, **axis: Any) -> Any: ...


AnyFigure = TypeVar("AnyFigure", bound=Updatable)


def styled(figure: AnyFigure, *, x: str, y: str, height: int = 380, **layout: Any) -> AnyFigure:
    """Gives a figure, ours or Plotly's, the common style; x and y are axis titles with units."""
    # fmt: off
    axis = {
        "showline": True, "linecolor": SOFT, "gridcolor": FAINT, "zeroline": False, "ticks": "outside",
        "tickcolor": SOFT, "automargin": True,
    }
    # fmt: on
    figure.update_layout(
        template=NO_TEMPLATE,
        height=height,
        font={"family": FONT, "size": 13, "color": INK},
        paper_bgcolor="white",
        plot_bgcolor="white",
        margin={"l": 72, "r": 16, "t": 16, "b": 52},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        hoverlabel={"font": {"family": FONT}},
        bargap=0.05,
        **layout,
    )
    figure.update_xaxes(title={"text": x, "standoff": 12}, **axis)
    figure.update_yaxes(title={"text": y, "standoff": 12}, **axis)
    return figure
