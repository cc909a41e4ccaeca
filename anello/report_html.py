# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file: it needs nothing else, not even a network."""

import math
from collections.abc import Iterator
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING

from anello import figures, plot
from anello.ledger import Ledger
from anello.physics import Score, Scores
from anello.record import LEGS, RunRecord
from anello.summary import headlines, losses, percent, rates, rings_per_event

if TYPE_CHECKING:
    import plotly.graph_objects as go

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


def page(record: RunRecord) -> str:
    """The whole report."""
    return document(f"Anello: {record.config.run.name}", "\n".join([*_head(record), *_sections(record)]))


def document(title: str, body: str) -> str:
    """A page with our style and the plotting library in it; body is HTML."""
    from plotly.offline import get_plotlyjs

    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style>'
        f"<script>{get_plotlyjs()}</script></head><body><main>{body}</main></body></html>\n"
    )


def _head(record: RunRecord) -> Iterator[str]:
    when = f"{datetime.now():%Y-%m-%d %H:%M}, {record.wall_s:.0f} s" + (", interrupted" if record.interrupted else "")
    about = f"{when}. {record.config.n_bursts} bursts of {record.config.source.burst_ms:g} ms at "
    about += f"{record.config.source.rate_hz:,.0f} events/s, algorithm {record.config.trigger.algorithm}."
    yield f"<header><h1>{escape(record.config.run.name)}</h1><p>{escape(about)}</p></header>"
    yield f'<div class="tiles">{"".join(_tiles(record))}</div>'


def _tiles(record: RunRecord) -> Iterator[str]:
    rate, whole = rates(record), record.latency.get("sent_to_decided", {})
    balanced, n_lost = record.ledger().balanced, sum(losses(record).values())
    yield _tile(f"{record.n_events:,}", "events decided")
    yield _tile(_frequency(rate["events_per_s"]), "event rate in bursts")
    yield _tile(f"{rate['payload_gbit_per_s']:.2f} Gb/s", "payload received")
    if whole.get("count"):
        on_time = whole["p999_ns"] < 1e6
        yield _tile(f"{whole['p50_ns'] * 1e-3:,.0f} µs", "sent to decided, median")
        yield _tile(f"{whole['p999_ns'] * 1e-3:,.0f} µs", "sent to decided, 99.9 %", "good" if on_time else "bad")
    yield _tile(f"{rings_per_event(record):.2f}", "rings per event")
    yield _tile(f"{n_lost:,}", "packets not used", "" if n_lost else "good")
    yield _tile("balanced" if balanced else "off", "ledger", "good" if balanced else "bad")


def _frequency(per_s: float) -> str:
    for scale, unit in ((1e6, "MHz"), (1e3, "kHz")):
        if per_s >= scale:
            return f"{per_s / scale:.3g} {unit}"
    return f"{per_s:.3g} Hz"


def _tile(value: str, label: str, kind: str = "") -> str:
    return f'<div class="tile {kind}"><b>{value}</b><span>{label}</span></div>'


def _sections(record: RunRecord) -> Iterator[str]:
    yield _section(
        "Latency", "From the packet that carried an event's earliest fragment to its decision, stage by stage, for "
        "every event. Both axes are logarithmic.", _figure(figures.latency(record.latency)) + _latency_table(record),
    )  # fmt: skip
    yield _section(
        "Execution time", "Time spent on a batch of events by merging and by ring finding, against the events in it: "
        "median, and the range that holds 80 % of the batches.", _figure(figures.execution(record.execution)),
    )  # fmt: skip
    scores, agreement = record.scores(), record.agreement()
    if scores:
        yield _quality(scores)
    if agreement:
        text = f"{agreement.near.n} of {agreement.near.total} reference rings ({percent(agreement.near)}) have a found "
        yield _section("Against the reference", text + "ring within 15 mm of the centre and 6 mm in radius.", "")
    pictures = figures.displays(record)
    if pictures:
        cells = "".join(f"<div>{_figure(picture)}</div>" for picture in pictures)
        about = "Hits in the common frame of both disks, as they were decided."
        yield _section("Events", about, f'{_display_legend(record)}<div class="three">{cells}</div>')
    yield _ledger(record.ledger())
    yield _details(record)


def _display_legend(record: RunRecord) -> str:
    known = "true ring" if record.reference is None else "reference ring"
    hits = (("●", plot.INK, "hit"), ("○", plot.SOFT, "hit out of time, not used"))
    marks = (*hits, ("╌╌", plot.GREEN, known), ("━", plot.ORANGE, "found ring"))
    return '<p class="key">' + "".join(f'<b style="color:{c}">{m}</b> {escape(t)}' for m, c, t in marks) + "</p>"


def _section(title: str, about: str, content: str) -> str:
    return (
        f'<section><h2>{escape(title)}</h2><p class="about">{escape(about)}</p>{content}</section>'
        if content or about
        else ""
    )


def _figure(figure: "go.Figure | None") -> str:
    if figure is None:
        return "<p class='about'>Nothing was recorded.</p>"
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG))


def _rows(head: list[str], rows: list[list[str]], text_columns: tuple[int, ...] = (0,)) -> str:
    def cell(tag: str, index: int, text: str) -> str:
        kind = "" if index in text_columns else ' class="n"'
        return f"<{tag}{kind}>{text}</{tag}>"

    lines = ["".join(cell("th", index, text) for index, text in enumerate(head))]
    lines += ["".join(cell("td", index, text) for index, text in enumerate(row)) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _latency_table(record: RunRecord) -> str:
    keys = ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")
    rows = [
        [label, *(f"{record.latency[name][key] * 1e-3:,.1f}" for key in keys), f"{record.latency[name]['above_1ms']:,}"]
        for name, label in LEGS.items()
        if record.latency.get(name, {}).get("count")
    ]
    return _rows(["µs", "mean", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "max", "above 1 ms"], rows)


def _quality(scores: Scores) -> str:
    about = (
        "Found rings against the simulation's truth. Efficiency: share of true rings in time with at least six hits "
        "that were found within 5 (10) mm in centre and in radius. Ghosts: share of found rings without a true one "
        "within 20 mm. Bars are intervals of one standard deviation."
    )
    head = ["true rings", "events", "within 5 mm", "within 10 mm", "ghosts", "centre, mm (68 %)", "radius, mm (68 %)"]
    head.append("radius bias, mm")
    rows = [_quality_row(label, score) for label, score in figures.table_of_scores(scores)]
    plots = f"<div>{_figure(figures.efficiency(scores))}</div><div>{_figure(figures.resolution(scores))}</div>"
    return _section("Quality of the rings", about, f'<div class="pair">{plots}</div>{_rows(head, rows)}')


def _quality_row(label: str, score: Score) -> list[str]:
    shares = (score.efficiency_5mm, score.efficiency_10mm, score.ghosts)
    lengths = (score.centre_resolution_mm, score.radius_resolution_mm, score.radius_bias_mm)
    shown = ["-" if math.isnan(length) else f"{length:.2f}" for length in lengths]
    return [label, f"{score.n_events:,}", *(percent(share) for share in shares), *shown]


def _ledger(ledger: Ledger) -> str:
    lines = []
    for row in ledger.rows:
        parts = " + ".join(f"{value:,} <span>{escape(label)}</span>" for label, value in row.parts)
        problem = f"<br>{escape(row.problem)}" if row.problem else ""
        lines.append(
            f'<tr class="{"" if row.balanced else "off"}"><td>{row.level}</td><td>{escape(row.name)}</td>'
            f'<td class="n">{row.total:,}</td><td class="parts">= {parts}{problem}</td></tr>'
        )
    head = "<tr><th>level</th><th>what</th><th class='n'>total</th><th>where it went</th></tr>"
    about = "Everything that was sent is accounted for: each line holds exactly, over the whole run."
    return _section("Ledger", about, f"<table>{head}{''.join(lines)}</table>")


def _details(record: RunRecord) -> str:
    states = _rows(["what", "state"], [[escape(k), escape(v)] for k, v in record.states.items()], (0, 1))
    notices = "<br>".join(escape(notice) for notice in record.notices) or "none"
    config = "\n".join(f"{key} = {value}" for key, value in record.config.flat().items())
    folded = f"<details><summary>Configuration</summary><code>{escape(config)}</code></details>"
    content = f"{states}<p>Notices: {notices}</p>{folded}"
    return _section("This run", " ".join(headlines(record)), content)
