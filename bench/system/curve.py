# SPDX-License-Identifier: Apache-2.0
"""A plot as an SVG file, for pages that show no script: lines over a linear axis against a logarithmic one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from anello.report import plot

WIDTH, HEIGHT = 860, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 20, 56


@dataclass(frozen=True)
class Curve:
    """points: x, y (None: not known), and whether the point is solid. dash: stroke-dasharray, empty: solid."""

    name: str
    colour: str
    dash: str
    points: Sequence[tuple[float, float | None, bool]]

    @property
    def known(self) -> list[tuple[float, float, bool]]:
        return [(x, y, solid) for x, y, solid in self.points if y is not None and y > 0]


class Axes:
    """From values to places in the picture."""

    def __init__(self, curves: Sequence[Curve], limit: float) -> None:
        points = [point for curve in curves for point in curve.known]
        values = [y for _, y, _ in points] + [limit]
        self.x_end = max((x for x, _, _ in points), default=1.0) * 1.03
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def x(self, value: float) -> float:
        return LEFT + value / self.x_end * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        share = (math.log10(value) - self.low) / max(self.high - self.low, 1)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def x_ticks(self) -> Iterator[float]:
        step = 10 ** math.floor(math.log10(self.x_end))
        step = next(one for one in (step / 5, step / 4, step / 2, step, 2 * step) if self.x_end / one <= 8)
        return (step * i for i in range(int(self.x_end / step) + 1))


def write_svg(curves: Sequence[Curve], *, x: str, y: str, limit: tuple[float, str], hollow: str) -> str:
    """x, y: titles of the axes, with units; limit: a horizontal line and its words; hollow: what such points mean."""
    axes = Axes(curves, limit[0])
    parts = [*_grid(axes, x, y), *_limit(axes, *limit)]
    for number, curve in enumerate(curves):
        parts += [*_line(axes, curve), *_legend(number, curve)]
    if any(not solid for curve in curves for _, _, solid in curve.known):
        parts.append(_text(WIDTH - RIGHT + 14, TOP + 24 + 20 * len(curves), f"○ {hollow}"))
    body = "\n".join(parts)
    font = escape(plot.FONT, quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{font}" font-size="13" '
        f'fill="{plot.INK}">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>'


def _stroke(begin: tuple[float, float], end: tuple[float, float], colour: str, more: str = "") -> str:
    (x1, y1), (x2, y2) = begin, end
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'


def _grid(axes: Axes, x: str, y: str) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for decade in range(axes.low, axes.high + 1):
        level = axes.y(10.0**decade)
        yield _stroke((LEFT, level), (right, level), plot.FAINT)
        yield _text(LEFT - 8, level + 4, f"{10.0**decade:,.6g}", 'text-anchor="end"')
    for tick in axes.x_ticks():
        yield _stroke((axes.x(tick), bottom), (axes.x(tick), bottom + 5), plot.SOFT)
        yield _text(axes.x(tick), bottom + 20, f"{tick:g}", 'text-anchor="middle"')
    yield _stroke((LEFT, bottom), (right, bottom), plot.SOFT)
    yield _stroke((LEFT, TOP), (LEFT, bottom), plot.SOFT)
    middle = (TOP + bottom) / 2
    yield _text((LEFT + right) / 2, HEIGHT - 12, x, 'text-anchor="middle"')
    yield _text(18, middle, y, f'text-anchor="middle" transform="rotate(-90 18 {middle:.1f})"')


def _limit(axes: Axes, level: float, words: str) -> Iterator[str]:
    at = axes.y(level)
    yield _stroke((LEFT, at), (WIDTH - RIGHT, at), plot.RED, 'stroke-width="2" stroke-dasharray="7 5"')
    yield _text(LEFT + 8, at - 6, words, f'fill="{plot.RED}"')


def _line(axes: Axes, curve: Curve) -> Iterator[str]:
    places = [(axes.x(x), axes.y(y), solid) for x, y, solid in curve.known]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    dash = f' stroke-dasharray="{curve.dash}"' if curve.dash else ""
    yield f'<polyline points="{path}" fill="none" stroke="{curve.colour}" stroke-width="2"{dash}/>'
    for x, y, solid in places:
        fill = curve.colour if solid else "white"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{curve.colour}" stroke-width="1.5"/>'


def _legend(number: int, curve: Curve) -> Iterator[str]:
    x, y = WIDTH - RIGHT + 14, TOP + 14 + 20 * number
    dash = f'stroke-width="2" stroke-dasharray="{curve.dash}"' if curve.dash else 'stroke-width="2"'
    yield _stroke((x, y - 4), (x + 28, y - 4), curve.colour, dash)
    yield _text(x + 34, y, curve.name)
