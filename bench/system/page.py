# SPDX-License-Identifier: Apache-2.0
"""Plots of benchmarks as one HTML file that needs nothing else, not even a network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from anello.report import plot

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Series:
    """One line of a plot; low and high are the ends of its bars, empty: none."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def lines(series: Sequence[Series], *, x: str, y: str, log_y: bool = False, limits: Mapping[str, float] | None = None,
          log_x: bool = True) -> Any:  # fmt: skip
    """A figure; limits are horizontal lines by their text."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for index, one in enumerate(series):
        bars = None
        if one.low:
            up = [high - middle for high, middle in zip(one.high, one.y, strict=True)]
            down = [middle - low for low, middle in zip(one.low, one.y, strict=True)]
            bars = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "width": 3, "thickness": 1}
        colour = plot.SERIES[index % len(plot.SERIES)]
        figure.add_scatter(x=list(one.x), y=list(one.y), name=one.name, mode="lines+markers", error_y=bars,
                           line={"color": colour, "width": 2}, marker={"size": 6})  # fmt: skip
    plot.styled(figure, x=x, y=y)
    if log_x:
        figure.update_xaxes(type="log", dtick=np.log10(2), tickformat=",d")
    if log_y:
        figure.update_yaxes(type="log", dtick=1, tickformat=",")
    for text, level in (limits or {}).items():
        figure.add_hline(y=level, line={"color": plot.RED, "dash": "dash"})
        figure.add_annotation(x=0, xref="paper", y=np.log10(level) if log_y else level, text=text, showarrow=False,
                              xanchor="left", yanchor="bottom", font={"color": plot.RED})  # fmt: skip
    return figure


def write(path: Path, title: str, about: str, sections: Sequence[tuple[str, str, Any]]) -> Path:
    """sections: (heading, text, figure)."""
    from plotly.offline import get_plotlyjs

    style = (f"body{{font:15px/1.55 {plot.FONT};color:{plot.INK};max-width:960px;margin:2em auto;padding:0 1em}}"
             f"h1{{font-size:26px}}h2{{font-size:18px;margin-top:2em}}p{{color:#52606d;max-width:76ch}}")  # fmt: skip
    body = [f"<h1>{escape(title)}</h1><p>{escape(about)}</p>"]
    for heading, text, figure in sections:
        drawn = figure.to_html(full_html=False, include_plotlyjs=False, config={"displayModeBar": False})
        body.append(f"<h2>{escape(heading)}</h2><p>{escape(text)}</p>{drawn}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{style}</style><script>{get_plotlyjs()}</script></head><body>{''.join(body)}</body></html>\n"
    )
    return path
