# SPDX-License-Identifier: Apache-2.0
"""Figures made without Plotly's Python package are the same as with it."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from anello.report import plot
from anello.report.drawing import Figure


def scatters(figure: Any) -> None:
    figure.add_scatter(x=[1, 2.5, 3], y=[1, None, 2], name="a", mode="lines", line={"color": "red", "width": 2})
    figure.add_scatter(x=["a", "b"], y=[1, 2], marker={"size": 3}, error_y={"type": "data", "array": [1, 2]})


def lines_and_words(figure: Any) -> None:
    figure.add_bar(x=[1, 2], y=[3, 4], marker={"color": plot.RED, "line": {"width": 0}})
    figure.add_hline(y=3.5, line={"color": plot.RED, "dash": "dash"})
    figure.add_vline(x=2, line={"color": plot.GREEN})
    figure.add_annotation(x=1, xref="paper", y=3.5, text="limit", showarrow=False, font={"color": plot.RED})
    figure.add_shape(type="rect", x0=1, x1=2, y0=1, y1=2, fillcolor=plot.RED, opacity=0.2)


def layouts(figure: Any) -> None:
    plot.styled(figure, x="x, mm", y="y, mm", height=420, barmode="stack")
    figure.update_xaxes(type="log", dtick=np.log10(2), tickformat=",d")
    figure.update_yaxes(range=[0, 104], tickvals=[0, 50, 100], ticktext=["a", "b", "c"])
    figure.update_layout(title={"text": "one", "font": {"size": 13}}, margin={"t": 64}, showlegend=False)
    figure.update_xaxes(title={"text": "x, cm"})


def heatmap(figure: Any) -> None:
    figure.add_heatmap(z=[[1, 2], [3, 4]], colorscale=plot.VIRIDIS, colorbar={"title": {"text": "kHz"}})


def no_numbers(figure: Any) -> None:
    figure.add_scatter(x=[1.0, math.nan, math.inf], y=[-math.inf, np.float64(2), np.int64(3)])


@pytest.mark.parametrize("draw", [scatters, lines_and_words, layouts, heatmap, no_numbers])
def test_the_same_calls_make_what_plotly_makes(draw: Callable[[Any], None]) -> None:
    ours, theirs = Figure(), go.Figure(layout={"template": plot.NO_TEMPLATE})
    ours.update_layout(template=plot.NO_TEMPLATE)
    draw(ours)
    draw(theirs)
    assert json.loads(ours.to_json()) == json.loads(theirs.to_json())
    assert json.loads(ours.plotly().to_json()) == json.loads(theirs.to_json())


def test_the_scale_and_no_template_are_plotly_s() -> None:
    named = go.Figure(layout={"template": "none"}).add_heatmap(z=[[1]], colorscale="Viridis")
    assert json.loads(named.to_json()) == {
        "data": [{"type": "heatmap", "z": [[1]], "colorscale": plot.VIRIDIS}], "layout": {"template": plot.NO_TEMPLATE},
    }  # fmt: skip


def test_no_text_ends_its_element() -> None:
    figure, theirs = Figure(), go.Figure(layout={"template": plot.NO_TEMPLATE})
    theirs.add_annotation(text="</script>")
    figure.update_layout(template=plot.NO_TEMPLATE).add_annotation(text="</script>")
    assert figure.to_json().partition("annotations")[2] == theirs.to_json().partition("annotations")[2]


def test_what_is_given_stays_as_it_is() -> None:
    given = {"font": {"size": 13}}
    figure = Figure().update_layout(title=given).update_layout(title={"font": {"size": 9}})
    assert (given, figure.layout) == ({"font": {"size": 13}}, {"title": {"font": {"size": 9}}})


def test_what_plotly_does_not_know_is_refused_by_its_check() -> None:
    figure = Figure()
    figure.add_scatter(x=[1], colour="red")
    with pytest.raises(ValueError, match="colour"):
        figure.plotly()
