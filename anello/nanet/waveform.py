# SPDX-License-Identifier: Apache-2.0
"""A picture of the words on the card's ports, cycle by cycle."""

from collections.abc import Iterator, Mapping
from html import escape

CYCLE_PX, LANE_PX, HIGH_PX, LEFT_PX, TOP_PX = 7, 46, 22, 190, 34
EVERY = 10  # cycles between two marks of the axis
LANES = {
    "rx": "frame in: 64-bit words",
    "m_axi_aw": "AXI4 write address",
    "m_axi_w": "AXI4 write data",
    "m_axi_b": "AXI4 answer",
}
COLOURS = {"=": "#4477aa", "#": "#cc6677", "w": "#ddcc77"}  # a word, the last word of a packet, a word that waits


def picture(trace: Mapping[str, str], title: str) -> str:
    """The picture as SVG. trace: a letter for each cycle of each port, '.' where it is empty."""
    n_cycles = max(len(line) for line in trace.values())
    width, height = LEFT_PX + n_cycles * CYCLE_PX + 20, TOP_PX + len(LANES) * LANE_PX + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="10" y="20" font-weight="bold">{escape(title)}</text>',
        *_axis(n_cycles, height),
    ]
    for number, (name, words) in enumerate(LANES.items()):
        parts += _lane(TOP_PX + number * LANE_PX, words, trace[name])
    return "\n".join([*parts, "</svg>", ""])


def _axis(n_cycles: int, height: int) -> Iterator[str]:
    bottom = height - 32
    for cycle in range(0, n_cycles + 1, EVERY):
        x = LEFT_PX + cycle * CYCLE_PX
        yield f'<line x1="{x}" y1="{TOP_PX - 6}" x2="{x}" y2="{bottom}" stroke="#ddd"/>'
        yield f'<text x="{x}" y="{bottom + 14}" text-anchor="middle" fill="#555" font-size="11">{cycle}</text>'
    words = "cycles of 6.4 ns from the first word in"
    yield f'<text x="{LEFT_PX}" y="{bottom + 28}" fill="#555" font-size="11">{words}</text>'


def _lane(top: int, words: str, line: str) -> Iterator[str]:
    base = top + HIGH_PX
    yield f'<text x="{LEFT_PX - 10}" y="{base - 6}" text-anchor="end">{escape(words)}</text>'
    yield f'<line x1="{LEFT_PX}" y1="{base}" x2="{LEFT_PX + len(line) * CYCLE_PX}" y2="{base}" stroke="#999"/>'
    for cycle, letter in enumerate(line):
        if letter in COLOURS:
            x = LEFT_PX + cycle * CYCLE_PX
            yield (f'<rect x="{x}" y="{top}" width="{CYCLE_PX - 1}" height="{HIGH_PX}" fill="{COLOURS[letter]}"/>')
