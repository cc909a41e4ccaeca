# SPDX-License-Identifier: Apache-2.0
"""The events of one run: lines for the terminal, and a page with a lane for each node, or each board of a chain."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from anello.report import html, plot
from anello.report.drawing import Figure
from anello.report.files import save

Line = tuple[str, int, int, int, int, str]  # kind, from ns, until ns, lane, other lane, text

MOST_MESSAGES = 2000  # the last ones; more would hide each other
MARKS = {
    "process": ("processes", plot.INK, "diamond", 10),
    "link": ("what a node sees of another", plot.PURPLE, "triangle-down", 8),
    "whole": ("complete", plot.GREEN, "circle", 6),
    "lacking": ("incomplete", plot.ORANGE, "circle", 8),
}


def events_of(trace: Sequence[Line]) -> Iterator[tuple[int, int, str]]:
    """Time in ns, node, and the event there, without messages and complete packets."""
    for kind, at_ns, _until_ns, node, _other, text in trace:
        if kind in ("process", "link", "fault") or (kind == "built" and "lacks" in text):
            yield at_ns, node, text


def write(page: Path, seed: int, run: dict[str, Any]) -> None:
    """Writes a page for a browser. Raises OSError."""
    findings = "".join(f"<li>{escape(one)}</li>" for one in run["findings"]) or "<li>all is explained</li>"
    faults = "".join(f"<li>{escape(one)}</li>" for one in run["faults"]) or "<li>none</li>"
    body = (
        f"<header><h1>Seed {seed}</h1><p>{escape(run['scenario'])}</p></header>"
        + html.section("What is wrong", "Comparison of the events expected with those built.", f"<ul>{findings}</ul>")
        + html.section("Faults", "As drawn.", f"<ul>{faults}</ul>")
        + html.section(
            "What happened",
            "Red: faults. Zoom in by drawing a box.",
            html.figure(draw(run), "A lane each; between them the last messages."),
        )
    )
    save(page, html.document(f"Anello: seed {seed}", body), single_file=True)


def draw(run: dict[str, Any]) -> Figure:
    figure = Figure()
    trace: list[Line] = run["trace"]
    lanes: list[str] = run["lanes"]
    _add_messages(figure, [line for line in trace if line[0] == "message"], lanes)
    for line in trace:
        if line[0] == "fault":
            _add_fault(figure, line)
    for kind, (label, colour, symbol, size) in MARKS.items():
        lines = [line for line in trace if _mark_of(line) == kind]
        if not lines:
            continue
        figure.add_scatter(
            x=[line[1] * 1e-6 for line in lines],
            y=[line[3] for line in lines],
            text=[f"{lanes[line[3]]}: {line[5]}" for line in lines],
            name=label,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": size},
            hovertemplate="%{x:.4f} ms, %{text}<extra></extra>",
        )
    plot.styled(figure, x="virtual time, ms", y="", height=140 + min(110 * len(lanes), 600 + 20 * len(lanes)))
    figure.update_yaxes(range=[len(lanes) - 0.5, -0.5], tickvals=list(range(len(lanes))), ticktext=lanes)
    return figure


def _mark_of(line: Line) -> str:
    kind, text = line[0], line[5]
    if kind == "built":
        return "lacking" if "lacks" in text or ":" in text else "whole"
    return kind


def _add_messages(figure: Figure, lines: Sequence[Line], lanes: Sequence[str]) -> None:
    x: list[float | None] = []
    y: list[int | None] = []
    texts: list[str | None] = []
    for _kind, at_ns, until_ns, node, other, text in lines:
        x += [at_ns * 1e-6, until_ns * 1e-6, None]
        y += [node, other, None]
        texts += [f"{text} to {lanes[other]}", f"{text} from {lanes[node]}", None]
    if x:
        figure.add_scatter(
            x=x,
            y=y,
            text=texts,
            name="messages",
            mode="lines",
            line={"color": plot.SOFT, "width": 0.7},
            hovertemplate="%{x:.4f} ms: %{text}<extra></extra>",
        )


def _add_fault(figure: Figure, line: Line) -> None:
    _kind, at_ns, until_ns, node, other, text = line
    for lane in sorted({node, other}):
        figure.add_shape(
            type="rect",
            x0=at_ns * 1e-6,
            x1=max(until_ns, at_ns + 1) * 1e-6,
            y0=lane - 0.35,
            y1=lane + 0.35,
            fillcolor=plot.RED,
            opacity=0.2,
            line={"color": plot.RED, "width": 1},
        )
    figure.add_annotation(
        x=at_ns * 1e-6,
        y=node - 0.42,
        text=escape(text.partition(": ")[2]),
        showarrow=False,
        xanchor="left",
        font={"size": 11, "color": plot.RED},
    )
