# SPDX-License-Identifier: Apache-2.0
"""A figure that Plotly draws in the browser, made without Plotly's Python package: loading that and checking every
value costs a short run as much time as all the rest. Methods have the names of plotly.graph_objects.Figure and
give the same result; the tests of reports have Plotly check each figure."""

import json
from collections.abc import Mapping
from typing import Any, Self

IN_HTML = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>/"}


class Figure:
    """A figure. data: its traces. layout: everything else."""

    def __init__(self) -> None:
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}

    def add_scatter(self, **trace: Any) -> None:
        self.data.append(trace | {"type": "scatter"})

    def add_bar(self, **trace: Any) -> None:
        self.data.append(trace | {"type": "bar"})

    def add_heatmap(self, **trace: Any) -> None:
        self.data.append(trace | {"type": "heatmap"})

    def add_hline(self, y: float, **look: Any) -> None:
        """Adds a horizontal line over the whole width."""
        self.add_shape(type="line", x0=0, x1=1, xref="x domain", y0=y, y1=y, yref="y", **look)

    def add_vline(self, x: float, **look: Any) -> None:
        """Adds a vertical line over the whole height."""
        self.add_shape(type="line", x0=x, x1=x, xref="x", y0=0, y1=1, yref="y domain", **look)

    def add_shape(self, **shape: Any) -> None:
        self.layout.setdefault("shapes", []).append(shape)

    def add_annotation(self, **annotation: Any) -> None:
        self.layout.setdefault("annotations", []).append(annotation)

    def update_layout(self, **layout: Any) -> Self:
        _update(self.layout, layout)
        return self

    def update_xaxes(self, **axis: Any) -> Self:
        return self.update_layout(xaxis=axis)

    def update_yaxes(self, **axis: Any) -> Self:
        return self.update_layout(yaxis=axis)

    def to_json(self) -> str:
        """JSON for a page of HTML: no text in it ends the element that contains it. Values that are not finite
        become null."""
        values = {"data": self.data, "layout": self.layout}
        try:
            text = json.dumps(values, default=_plain, allow_nan=False, separators=(",", ":"))
        except ValueError:
            numbers = json.loads(json.dumps(values, default=_plain), parse_constant=lambda _: None)
            text = json.dumps(numbers, separators=(",", ":"))
        return text.translate(IN_HTML)

    def plotly(self) -> Any:
        """The figure as a plotly.graph_objects.Figure, which checks it. Raises ValueError."""
        import plotly.graph_objects as go

        return go.Figure(self.data, self.layout)


def _update(into: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Merges tables and replaces other values; keys that are not given stay as they are."""
    for key, value in given.items():
        into[key] = _update(into.get(key, {}), value) if isinstance(value, dict) else value
    return into


def _plain(value: Any) -> Any:
    """Converts numbers and arrays of NumPy to plain values."""
    return value.tolist()
