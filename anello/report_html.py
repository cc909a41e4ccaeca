# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file: it needs nothing else, not even a network."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

from anello import plot
from anello.identity import in_words
from anello.ledger import Ledger, Row
from anello.presentation import Presentation
from anello.record import Record
from anello.registry import presentation_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_LOSSES = 40  # shown; all are in summary.json
STYLE = f"""
:root {{ color-scheme: light; }}
body {{ font: 15px/1.55 {plot.FONT}; color: {plot.INK}; background: #f6f8fa; margin: 0; }}
main {{ max-width: 1160px; margin: 0 auto; padding: 28px 24px 64px; }}
h1 {{ font-size: 28px; font-weight: 650; margin: 0; letter-spacing: -0.01em; }}
h2 {{ font-size: 18px; font-weight: 650; margin: 0 0 2px; }}
p.about {{ color: #52606d; margin: 0 0 10px; max-width: 74ch; }}
header p {{ color: #52606d; margin: 2px 0 20px; }}
section {{ background: white; border: 1px solid {plot.FAINT}; border-radius: 8px; padding: 18px 22px; margin: 18px 0; }}
.tiles {{ display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px; }}
.tile {{ background: white; border: 1px solid {plot.FAINT}; border-radius: 8px; padding: 10px 12px; }}
.tile b {{ display: block; font-size: 22px; font-weight: 650; font-variant-numeric: tabular-nums; }}
.tile span {{ color: #52606d; font-size: 13px; }}
.good b {{ color: {plot.GREEN}; }} .bad b {{ color: {plot.RED}; }}
.pair {{ display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px 24px; }}
.three {{ display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 8px; }}
table {{ border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }}
th {{ text-align: left; font-weight: 600; color: #52606d; border-bottom: 1px solid {plot.SOFT}; }}
td {{ border-bottom: 1px solid {plot.FAINT}; vertical-align: top; }}
th, td {{ padding: 4px 10px 4px 0; }}
.n {{ text-align: right; white-space: nowrap; }} .off td {{ color: {plot.RED}; font-weight: 600; }}
.parts span {{ color: #52606d; }} code {{ font-size: 12.5px; white-space: pre-wrap; }}
.key {{ margin: 0; font-size: 13.5px; }} .key b {{ margin-left: 18px; }} .key b:first-child {{ margin-left: 0; }}
@media (max-width: 800px) {{ .pair, .three {{ grid-template-columns: minmax(0, 1fr); }} }}
details summary {{ cursor: pointer; color: #52606d; }}
"""

CONFIG = {"displayModeBar": False, "responsive": True}


def page(record: Record) -> str:
    """The whole report."""
    presentation = presentation_of(record)
    parts = [*_head(record, presentation), *presentation.sections(), _ledger(record.ledger())]
    return document(f"Anello: {record.config.run.name}", "\n".join([*parts, _details(record, presentation)]))


def document(title: str, body: str) -> str:
    """A page with our style and the plotting library in it; body is HTML."""
    from plotly.offline import get_plotlyjs

    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style>'
        f"<script>{get_plotlyjs()}</script></head><body><main>{body}</main></body></html>\n"
    )


def _head(record: Record, presentation: Presentation) -> Iterator[str]:
    when = f"{datetime.now():%Y-%m-%d %H:%M}, {record.wall_s:.0f} s" + (", interrupted" if record.interrupted else "")
    about = f"{when}. {presentation.about()}"
    balanced = record.ledger().balanced
    tiles = [*presentation.tiles(), tile("balanced" if balanced else "off", "ledger", "good" if balanced else "bad")]
    line = f"<p><b>{escape(record.verdict().line)}</b></p>"
    yield f"<header><h1>{escape(record.config.run.name)}</h1><p>{escape(about)}</p>{line}</header>"
    yield f'<div class="tiles">{"".join(tiles)}</div>'


# --- Blocks -------------------------------------------------------------------------------------------------------
def frequency(per_s: float) -> str:
    """A rate with a fitting unit."""
    for scale, unit in ((1e6, "MHz"), (1e3, "kHz")):
        if per_s >= scale:
            return f"{per_s / scale:.3g} {unit}"
    return f"{per_s:.3g} Hz"


def tile(value: str, label: str, kind: str = "") -> str:
    """kind: good, bad, or neither."""
    return f'<div class="tile {kind}"><b>{value}</b><span>{label}</span></div>'


def verdict_tile(record: Record) -> str:
    """Green only where nothing is wrong."""
    verdict = record.verdict()
    words = "ok" if verdict.is_as_ordered else "problems"
    return tile(words, "the run", "good" if verdict.is_whole else "bad" if verdict.exit_code else "")


def section(title: str, about: str, content: str) -> str:
    return (
        f'<section><h2>{escape(title)}</h2><p class="about">{escape(about)}</p>{content}</section>'
        if content or about
        else ""
    )


def figure(figure: "go.Figure | None") -> str:
    if figure is None:
        return "<p class='about'>Nothing was recorded.</p>"
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG))


def rows(head: list[str], rows: list[list[str]], text_columns: tuple[int, ...] = (0,)) -> str:
    def cell(tag: str, index: int, text: str) -> str:
        kind = "" if index in text_columns else ' class="n"'
        return f"<{tag}{kind}>{text}</{tag}>"

    lines = ["".join(cell("th", index, text) for index, text in enumerate(head))]
    lines += ["".join(cell("td", index, text) for index, text in enumerate(row)) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def latency_table(latency: Mapping[str, Mapping[str, Any]], legs: Mapping[str, str]) -> str:
    """legs: stages of the latency and their words, in order."""
    keys = ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")
    lines = [
        [label, *(f"{latency[name][key] * 1e-3:,.1f}" for key in keys), f"{latency[name]['above_1ms']:,}"]
        for name, label in legs.items()
        if latency.get(name, {}).get("count")
    ]
    return rows(["µs", "mean", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "max", "above 1 ms"], lines)


# --- Of every run -------------------------------------------------------------------------------------------------
def _ledger(ledger: Ledger) -> str:
    about = "Everything that was sent is accounted for: each line holds exactly, over the whole run."
    content = _ledger_table(ledger.rows)
    losses = [
        [one.where, f"{one.n:,}", one.level, escape(one.words), escape(in_words(one.numbers, 20))]
        for one in ledger.losses[:MOST_LOSSES]
    ]
    if losses:
        content += "<h3>What did not arrive</h3>" + rows(
            ["where", "how many", "of", "why", "which"], losses, (0, 2, 3, 4)
        )
    if ledger.boards:
        content += f"<details><summary>Every board</summary>{_ledger_table(ledger.boards)}</details>"
    return section("Ledger", about, content)


def _ledger_table(ledger_rows: Sequence[Row]) -> str:
    lines = []
    for row in ledger_rows:
        parts = " + ".join(f"{value:,} <span>{escape(label)}</span>" for label, value in row.parts)
        problem = f"<br>{escape(row.problem)}" if row.problem else ""
        lines.append(
            f'<tr class="{"" if row.balanced else "off"}"><td>{row.level}</td><td>{escape(row.name)}</td>'
            f'<td class="n">{row.total:,}</td><td class="parts">= {parts}{problem}</td></tr>'
        )
    head = "<tr><th>level</th><th>what</th><th class='n'>total</th><th>where it went</th></tr>"
    return f"<table>{head}{''.join(lines)}</table>"


def _details(record: Record, presentation: Presentation) -> str:
    states = rows(["what", "state"], [[escape(k), escape(v)] for k, v in record.states.items()], (0, 1))
    notices = "<br>".join(escape(notice) for notice in record.notices) or "none"
    config = "\n".join(f"{key} = {value}" for key, value in record.config.flat().items())
    folded = f"<details><summary>Configuration</summary><code>{escape(config)}</code></details>"
    content = f"{states}<p>Notices: {notices}</p>{folded}"
    return section("This run", " ".join(presentation.headlines()), content)
