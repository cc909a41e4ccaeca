# SPDX-License-Identifier: Apache-2.0
"""How summary, terminal and report show a run of the RICH: rates, latency, rings against truth, some events."""

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import numpy as np

from anello.account.quantiles import microseconds, rounded
from anello.report.html import figure, frequency, latency_section, over_time, rows, section, tile, verdict_tile, words
from anello.report.report import plain_table
from anello.report.summary import percent
from rich.console import RenderableType
from rich.table import Table

from ..account.record import LEGS, RichRecord
from ..analysis.physics import Score, Scores
from . import figures
from . import summary as rich_summary
from .summary import rates, rings_per_event

DEADLINE_US = 1000.0  # latency of NA62's level 0
NOT_DRAWN = ("sent_to_emitted", "event_to_sent", "event_to_emitted")


class RichPresentation:
    """Implements anello.report.presentation.Presentation for the RICH."""

    legs = LEGS

    def __init__(self, record: RichRecord) -> None:
        self._record = record

    def results(self) -> dict[str, Any]:
        return rich_summary.results(self._record)

    def headlines(self) -> list[str]:
        return rich_summary.headlines(self._record)

    def tables(self) -> Iterator[RenderableType]:
        scores = self._record.scores()
        if scores:
            lines = [*((f"{n} true", score) for n, score in scores.by_n_rings.items()), ("all", scores.all_events)]
            yield _quality_table(lines)

    def about(self) -> str:
        config = self._record.config
        sent = f"{config.n_bursts} bursts of {config.source.burst_ms:g} ms at {config.source.rate_hz:,.0f} events/s"
        return f"{sent}, algorithm {config.trigger.algorithm}."

    def tiles(self) -> Iterator[str]:
        rate, leg = rates(self._record), self._record.whole_way
        whole = self._record.latency.get(leg, {})
        yield tile(f"{self._record.n_events:,}", "events decided")
        yield tile(frequency(rate["events_per_s"]), "event rate in bursts")
        yield tile(f"{rate['payload_gbit_per_s']:.2f} Gb/s", "payload received")
        if whole.get("count"):
            yield tile(f"{microseconds(whole['p50_ns'])} µs", f"{LEGS[leg]}, median")
            late_ns = whole["p999_ns"]
            if late_ns is not None:
                kind = "good" if late_ns < DEADLINE_US * 1e3 else "bad"
                yield tile(f"{microseconds(late_ns)} µs", f"{LEGS[leg]}, 99.9 %", kind)
        yield tile(f"{rings_per_event(self._record):.2f}", "rings per event")
        yield verdict_tile(self._record)

    def sections(self) -> Iterator[str]:
        record = self._record
        drawn = {name: words for name, words in LEGS.items() if name not in NOT_DRAWN}
        yield latency_section(
            record,
            LEGS,
            "From the packet that carried an event's earliest fragment to its decision, stage by stage, "
            "for every event; and from the event itself, by the front ends' clock: what kept them from sending it "
            "counts there. Both axes are logarithmic.",
            drawn=drawn,
            deadline_us=DEADLINE_US,
        )
        yield over_time(record, LEGS[record.whole_way], DEADLINE_US)
        yield section(
            "Execution time",
            "Time spent on a batch of events by merging and by ring finding, against the events in "
            "it: median, and the range that holds 80 % of the batches.",
            figure(figures.execution(record.execution), _execution_words(record.execution)),
        )
        scores, agreement = record.scores(), record.agreement()
        if scores:
            yield _quality(scores)
        if agreement:
            found = f"{agreement.near.n} of {agreement.near.total} reference rings ({percent(agreement.near)})"
            about = f"{found} have a found ring within 15 mm of the centre and 6 mm in radius."
            yield section("Against the reference", "", words(about))
        pictures = figures.displays(record)
        if pictures:
            cells = "".join(
                f"<div>{figure(one.figure, one.words or 'an event as it was decided')}</div>" for one in pictures
            )
            about = (
                "Hits in the common frame of both disks, as they were decided. Chosen by the truth, where it is known: "
            )
            about += "of events where all was found, where a ring was missed, and where one was found that is none."
            yield section("Events", about, f'{_display_legend(record)}<div class="three">{cells}</div>')


# --- The terminal -------------------------------------------------------------------------------------------------
def _quality_table(lines: list[tuple[str, Score]]) -> Table:
    table = plain_table(
        "Rings against truth", "rings", "events", "different", "5 mm", "10 mm", "ghosts", "centre mm", "radius mm"
    )
    for label, score in lines:
        shares = (score.efficiency_5mm, score.efficiency_10mm, score.ghosts)
        resolutions = (score.centre_resolution_mm, score.radius_resolution_mm)
        table.add_row(
            label,
            f"{score.n_events:,}",
            f"{score.n_independent:,}",
            *(percent(one) for one in shares),
            *("-" if math.isnan(one) else f"{one:.2f}" for one in resolutions),
        )
    return table


# --- HTML ---------------------------------------------------------------------------------------------------------
def _display_legend(record: RichRecord) -> str:
    known = "true ring" if record.reference is None else "reference ring"
    hits = (("●", "", "hit"), ("○", "", "hit out of time, not used"))
    marks = (*hits, ("╌╌", "true", known), ("━", "found", "found ring"))
    return '<p class="key">' + "".join(f'<span><b class="{c}">{m}</b> {escape(t)}</span>' for m, c, t in marks) + "</p>"


def _execution_words(samples: Mapping[str, Any]) -> str:
    if not len(samples.get("n_events", ())):
        return ""
    build_us, trigger_us = (float(np.median(samples[name])) * 1e-3 for name in ("build_ns", "trigger_ns"))
    n = int(np.median(samples["n_events"]))
    return f"Median batch, {n:,} events: {rounded(build_us)} µs to merge, {rounded(trigger_us)} µs to find rings."


def _quality(scores: Scores) -> str:
    about = (
        "Found rings against the simulation's truth. Efficiency: share of true rings in time with at least six hits "
        "that were found within 5 (10) mm in centre and in radius. Ghosts: share of found rings without a true one "
        "within 20 mm. Bars are intervals of one standard deviation; they count different events, since the front ends "
        "send those of a pool again and again."
    )
    head = [
        "true rings",
        "events",
        "different events",
        "within 5 mm",
        "within 10 mm",
        "ghosts",
        "centre, mm (68 %)",
        "radius, mm (68 %)",
    ]
    head.append("radius bias, mm")
    lines = [_quality_row(label, score) for label, score in figures.table_of_scores(scores)]
    every = scores.all_events
    shares = (
        f"Of all true rings {percent(every.efficiency_5mm)} were found within 5 mm, {percent(every.efficiency_10mm)} "
    )
    shares += f"within 10 mm; {percent(every.ghosts)} of those found are none."
    sharp = f"68 % of the centres are within {every.centre_resolution_mm:.2f} mm, of the radii within "
    sharp += f"{every.radius_resolution_mm:.2f} mm."
    plots = (
        f"<div>{figure(figures.efficiency(scores), shares)}</div><div>{figure(figures.resolution(scores), sharp)}</div>"
    )
    return section("Quality of the rings", about, f'<div class="pair">{plots}</div>{rows(head, lines)}')


def _quality_row(label: str, score: Score) -> list[str]:
    shares = (score.efficiency_5mm, score.efficiency_10mm, score.ghosts)
    lengths = (score.centre_resolution_mm, score.radius_resolution_mm, score.radius_bias_mm)
    shown = ["-" if math.isnan(length) else f"{length:.2f}" for length in lengths]
    numbers = [f"{score.n_events:,}", f"{score.n_independent:,}"]
    return [label, *numbers, *(percent(share) for share in shares), *shown]
