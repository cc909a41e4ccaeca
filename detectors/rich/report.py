# SPDX-License-Identifier: Apache-2.0
"""A run of the RICH chain for people: rates, latency, rings against truth, some events."""

import math
from collections.abc import Iterator
from html import escape
from typing import Any

from anello import plot
from anello.figures import latency
from anello.physics import Score, Scores
from anello.report import plain_table
from anello.report_html import figure, frequency, latency_table, rows, section, tile, verdict_tile
from anello.summary import percent
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from . import figures
from . import summary as rich_summary
from .record import LEGS, RichRecord, whole_leg
from .summary import rates, rings_per_event

DEADLINE_US = 1000.0  # of NA62's level 0
NOT_DRAWN = ("sent_to_emitted", "event_to_sent", "event_to_emitted")


class RichPresentation:
    """What anello.presentation.Presentation asks for."""

    legs = LEGS

    def __init__(self, record: RichRecord) -> None:
        self._record = record

    def results(self) -> dict[str, Any]:
        return rich_summary.results(self._record)

    def headlines(self) -> list[str]:
        return rich_summary.headlines(self._record)

    def tables(self) -> Iterator[RenderableType]:
        scores, agreement = self._record.scores(), self._record.agreement()
        if scores:
            lines = [*((f"{n} true", score) for n, score in scores.by_n_rings.items()), ("all", scores.all_events)]
            yield _quality_table(lines)
        if agreement:
            near = agreement.near
            yield Text(
                f"{near.n} of {near.total} reference rings found, {percent(near)}, within 15 mm and 6 mm in radius"
            )

    def about(self) -> str:
        config = self._record.config
        sent = f"{config.n_bursts} bursts of {config.source.burst_ms:g} ms at {config.source.rate_hz:,.0f} events/s"
        return f"{sent}, algorithm {config.trigger.algorithm}."

    def tiles(self) -> Iterator[str]:
        rate, leg = rates(self._record), whole_leg(self._record.latency)
        whole = self._record.latency.get(leg, {})
        yield tile(f"{self._record.n_events:,}", "events decided")
        yield tile(frequency(rate["events_per_s"]), "event rate in bursts")
        yield tile(f"{rate['payload_gbit_per_s']:.2f} Gb/s", "payload received")
        if whole.get("count"):
            on_time = whole["p999_ns"] < 1e6
            yield tile(f"{whole['p50_ns'] * 1e-3:,.0f} µs", f"{LEGS[leg]}, median")
            yield tile(f"{whole['p999_ns'] * 1e-3:,.0f} µs", f"{LEGS[leg]}, 99.9 %", "good" if on_time else "bad")
        yield tile(f"{rings_per_event(self._record):.2f}", "rings per event")
        yield verdict_tile(self._record)

    def sections(self) -> Iterator[str]:
        record = self._record
        drawn = {name: words for name, words in LEGS.items() if name not in NOT_DRAWN}
        picture = latency(record.latency, drawn, whole=whole_leg(record.latency), deadline_us=DEADLINE_US)
        yield section(
            "Latency", "From the packet that carried an event's earliest fragment to its decision, stage by stage, for "
            "every event; and from the event itself, by the front ends' clock: what kept them from sending it counts "
            "there. Both axes are logarithmic.", figure(picture) + latency_table(record.latency, LEGS),
        )  # fmt: skip
        yield section(
            "Execution time", "Time spent on a batch of events by merging and by ring finding, against the events in "
            "it: median, and the range that holds 80 % of the batches.", figure(figures.execution(record.execution)),
        )  # fmt: skip
        scores, agreement = record.scores(), record.agreement()
        if scores:
            yield _quality(scores)
        if agreement:
            found = f"{agreement.near.n} of {agreement.near.total} reference rings ({percent(agreement.near)})"
            about = f"{found} have a found ring within 15 mm of the centre and 6 mm in radius."
            yield section("Against the reference", about, "")
        pictures = figures.displays(record)
        if pictures:
            cells = "".join(f"<div>{figure(picture)}</div>" for picture in pictures)
            about = "Hits in the common frame of both disks, as they were decided."
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
            label, f"{score.n_events:,}", f"{score.n_independent:,}", *(percent(one) for one in shares),
            *("-" if math.isnan(one) else f"{one:.2f}" for one in resolutions),
        )  # fmt: skip
    return table


# --- HTML ---------------------------------------------------------------------------------------------------------
def _display_legend(record: RichRecord) -> str:
    known = "true ring" if record.reference is None else "reference ring"
    hits = (("●", plot.INK, "hit"), ("○", plot.SOFT, "hit out of time, not used"))
    marks = (*hits, ("╌╌", plot.GREEN, known), ("━", plot.ORANGE, "found ring"))
    return '<p class="key">' + "".join(f'<b style="color:{c}">{m}</b> {escape(t)}' for m, c, t in marks) + "</p>"


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
    plots = f"<div>{figure(figures.efficiency(scores))}</div><div>{figure(figures.resolution(scores))}</div>"
    return section("Quality of the rings", about, f'<div class="pair">{plots}</div>{rows(head, lines)}')


def _quality_row(label: str, score: Score) -> list[str]:
    shares = (score.efficiency_5mm, score.efficiency_10mm, score.ghosts)
    lengths = (score.centre_resolution_mm, score.radius_resolution_mm, score.radius_bias_mm)
    shown = ["-" if math.isnan(length) else f"{length:.2f}" for length in lengths]
    numbers = [f"{score.n_events:,}", f"{score.n_independent:,}"]
    return [label, *numbers, *(percent(share) for share in shares), *shown]
