# SPDX-License-Identifier: Apache-2.0
"""The report as a page of HTML that needs no network."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape

from anello.account.history import Moment
from anello.account.identity import in_words
from anello.account.ledger import Ledger, Row
from anello.account.leg import STATISTICS, LegLatency
from anello.account.over_time import Series, Together
from anello.account.quantiles import microseconds
from anello.account.record import Record
from anello.registry import presentation_of
from anello.report import figures, history_figures
from anello.report.drawing import Figure
from anello.report.files import LINK
from anello.report.presentation import Presentation
from anello.report.style import SCRIPT, STYLE

MOST_LOSSES = 40  # rows shown; summary.json has all


def page(record: Record) -> str:
    """The whole report as HTML; it needs the plotting library (files.py)."""
    presentation = presentation_of(record)
    parts = [*_head(record, presentation), *presentation.sections(), against_time(record), _ledger(record.ledger())]
    return document(f"Anello: {record.config.run.name}", "\n".join([*parts, _details(record, presentation)]))


def document(title: str, body: str) -> str:
    """A page with our style, for files.save; body is HTML."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style>{LINK}'
        f"</head><body><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _head(record: Record, presentation: Presentation) -> Iterator[str]:
    began = record.origin.line if record.origin else f"{datetime.now():%Y-%m-%d %H:%M}"
    when = f"{began}, {record.wall_s:.0f} s" + (", interrupted" if record.interrupted else "")
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
    """A tile with a number. kind: good, bad, or neither."""
    return f'<div class="tile {kind}"><b>{value}</b><span>{label}</span></div>'


def verdict_tile(record: Record) -> str:
    """The verdict's tile; green only where nothing is wrong."""
    verdict = record.verdict()
    words = "ok" if verdict.is_as_ordered else "problems"
    return tile(words, "the run", "good" if verdict.is_whole else "bad" if verdict.exit_code else "")


def section(title: str, about: str, content: str) -> str:
    """A section. content: HTML; a section without content is left out."""
    if not content:
        return ""
    return f'<section><h2>{escape(title)}</h2><p class="about">{escape(about)}</p>{content}</section>'


def words(text: str) -> str:
    """A section's content that is only text."""
    return f"<p>{escape(text)}</p>" if text else ""


def figure(figure: Figure | None, caption: str) -> str:
    """A plot with a description in words, for readers who cannot see it; empty where nothing was recorded."""
    if figure is None:
        return ""
    json_text = figure.to_json()
    height_px = figure.layout.get("height")
    height = f' style="min-height:{height_px}px"' if height_px else ""
    return (
        f'<figure><div class="plot" role="img" aria-label="{escape(caption)}"{height}></div>'
        f'<script type="application/json">{json_text}</script><figcaption>{escape(caption)}</figcaption></figure>'
    )


def over_time(record: Record, words: str, deadline_us: float | None = None) -> str:
    """The latency of the whole way against time, together with the machine's own delays. words: the name of this
    latency."""
    machine = record.machine
    picture = figures.over_time(machine.together, words, watched=bool(machine.hiccups), deadline_us=deadline_us)
    if picture is None:
        return ""
    about, series = "Greatest and mean latency of the events that were done in each bin of time.", machine.together
    caption = f"{words}: {greatest_words(series)}." if series else words
    if machine.hiccups:
        about += (
            " Also shown: the longest delay with which the machine woke a thread that should have run at once, on any "
            "core that this latency depends on: no program is faster than that."
        )
    if machine.line:
        about += (
            f" {machine.line.capitalize()}: there such a delay was at least half as long as the greatest latency, in "
            "the same bin or in the one before."
        )
    return section("Latency against time", about, figure(picture, caption))


def against_time(record: Record) -> str:
    """Rate, quantiles of the latency, losses and buffers of a run against time; those without data are left out."""
    series = (
        Series.of(record.latency_over_time[record.whole_way]) if record.whole_way in record.latency_over_time else None
    )
    drawn = [
        (history_figures.rate(series), _rate_words(series)),
        (history_figures.quantiles(record.history), "Quantiles of the latency between two looks at the node."),
        (history_figures.losses(record.history), _loss_words(record.history)),
        (history_figures.free(record.history), _free_words(record.history)),
    ]
    plots = "".join(figure(picture, caption) for picture, caption in drawn)
    return section("Against time", "From the first event on, and as the node was seen at each look.", plots)


def _rate_words(series: Series | None) -> str:
    if series is None or not len(series.count):
        return ""
    seconds = series.bin_ns * 1e-9 * len(series.count)
    n_events = int(series.count.sum())
    return f"{n_events:,} events in {seconds:.3g} s, {frequency(n_events / seconds)} on average."


def _loss_words(history: Sequence[Moment]) -> str:
    lost = history[-1].lost if history else {}
    return (
        f"Lost by {history[-1].time_s:.3g} s: " + ", ".join(f"{n:,} {why}" for why, n in lost.items()) if lost else ""
    )


def _free_words(history: Sequence[Moment]) -> str:
    least = {stage: min(one.free.get(stage, 1.0) for one in history) for one in history for stage in one.free}
    return "Least free: " + ", ".join(f"{stage} {100 * share:.0f} %" for stage, share in least.items()) if least else ""


def greatest_words(together: Together) -> str:
    """The time and size of the greatest latency, in words."""
    series = together.latency
    at = int(series.max_ns.argmax())
    second = (at + 0.5) * series.bin_ns * 1e-9
    return f"the latest event took {microseconds(float(series.max_ns[at]))} µs, at {second:.3g} s"


def latency_words(latency: Mapping[str, LegLatency], legs: Mapping[str, str], whole: str) -> str:
    """The leg that judges the run, in a sentence; empty where it has no events."""
    stage = latency.get(whole, {})
    if not stage.get("count"):
        return ""
    quantiles = (("50 %", stage["p50_ns"]), ("99.9 %", stage["p999_ns"]))
    known = [(share, value) for share, value in quantiles if value is not None]
    within = ", ".join(f"{share} within {microseconds(value)} µs" for share, value in known)
    latest = f"all within {microseconds(stage['max_ns'])} µs"
    return f"{legs.get(whole, whole)}, {stage['count']:,} events: {', '.join(filter(None, (within, latest)))}."


def latency_section(
    record: Record,
    legs: Mapping[str, str],
    about: str,
    *,
    whole: str = "",
    drawn: Mapping[str, str] | None = None,
    deadline_us: float | None = None,
) -> str:
    """The section on latency. legs: of the table, and of the picture unless `drawn` names others. whole: the leg
    that judges the run."""
    whole = whole or record.whole_way
    picture = figures.latency(record.latency, legs if drawn is None else drawn, whole=whole, deadline_us=deadline_us)
    if picture is None:
        return ""
    caption = latency_words(record.latency, legs, whole)
    return section("Latency", about, figure(picture, caption) + latency_table(record.latency, legs))


def rows(head: list[str], rows: list[list[str]], text_columns: tuple[int, ...] = (0,)) -> str:
    def cell(tag: str, index: int, text: str) -> str:
        kind = "" if index in text_columns else ' class="n"'
        return f"<{tag}{kind}>{text}</{tag}>"

    lines = ["".join(cell("th", index, text) for index, text in enumerate(head))]
    lines += ["".join(cell("td", index, text) for index, text in enumerate(row)) for row in rows]
    return wide(f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>", ", ".join(head))


def wide(table: str, name: str) -> str:
    """A table that scrolls by itself where the page is too narrow, also by keys. name: for screen readers."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(name)}">{table}</div>'


def latency_table(latency: Mapping[str, LegLatency], legs: Mapping[str, str]) -> str:
    """A table of latencies. legs: stages of the latency and their words, in order."""
    lines = [
        [label, *(microseconds(latency[name][key]) for key in STATISTICS), f"{latency[name]['above_1ms']:,}"]
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
    return wide(f"<table>{head}{''.join(lines)}</table>", "ledger")


def _details(record: Record, presentation: Presentation) -> str:
    states = rows(["what", "state"], [[escape(k), escape(v)] for k, v in record.states.items()], (0, 1))
    notice_rows = [[f"{one.when:%H:%M:%S}", one.severity, escape(one.text), f"{one.times:,}"] for one in record.notices]
    notices = rows(["time", "", "notice", "times"], notice_rows, (0, 1, 2)) if notice_rows else "<p>No notices.</p>"
    config = "\n".join(f"{key} = {value}" for key, value in record.config.flat().items())
    folded = f"<details><summary>Configuration</summary><code>{escape(config)}</code></details>"
    command = f"<p>Made by <code>{escape(record.origin.command)}</code></p>" if record.origin else ""
    content = f"{command}{states}{notices}{folded}"
    return section("This run", " ".join(presentation.headlines()), content)
