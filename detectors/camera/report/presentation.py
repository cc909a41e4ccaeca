# SPDX-License-Identifier: Apache-2.0
"""Report of a camera run: rates, latency, completeness, the filter's effect, some images."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType
from rich.table import Table

from anello.account.ledger import numbered
from anello.account.quantiles import microseconds
from anello.report.html import figure, frequency, latency_section, over_time, section, tile, verdict_tile, words
from anello.report.report import plain_table
from anello.report.summary import in_percent, percent

from ..account.record import LEGS, CameraRecord, KeptByTruth
from . import figures as camera_figures
from . import summary as camera_summary
from .summary import named, rates

MAX_IMAGES = 6


class CameraPresentation:
    """Implements anello.report.presentation.Presentation."""

    def __init__(self, record: CameraRecord) -> None:
        self._record = record

    @property
    def legs(self) -> Mapping[str, str]:
        return LEGS

    def results(self) -> dict[str, Any]:
        return camera_summary.results(self._record)

    def headlines(self) -> list[str]:
        return camera_summary.headlines(self._record)

    def tables(self) -> Iterator[RenderableType]:
        by_truth = self._record.kept_by_truth()
        if by_truth:
            yield _filter_table(by_truth)

    def about(self) -> str:
        camera, source = self._record.config.camera, self._record.config.camera_source
        shape = f"{camera.boards} boards, {camera.fragment_payload_bytes:,} B each"
        way = "all at once" if source.burst else f"spread over {source.spread_us:g} µs"
        return f"{shape}, {source.rate_hz:,.0f} events/s, {way}; {self._record.states.get('receive', '')}".rstrip("; ")

    def tiles(self) -> Iterator[str]:
        record, rate, result = self._record, rates(self._record), self.results()
        silent = result["boards"]["silent"]
        whole = record.latency.get(record.whole_way, {})
        yield tile(f"{record.n_events:,}", "events built")
        yield tile(frequency(rate["events_per_s"]), "event rate")
        yield tile(f"{rate['payload_gbit_per_s']:.2f} Gb/s", "payload received")
        yield tile(in_percent(result["complete"]), "complete", "good" if result["complete"] == 1 else "")
        yield tile(in_percent(result["kept"]), "kept by the filter")
        if result["compression"]:
            yield tile(f"{result['compression']['ratio']:.2f}", "compression")
        if whole.get("count"):
            yield tile(f"{microseconds(whole['p50_ns'])} µs", "first fragment to sent, median")
        if silent:
            yield tile(named(silent), "silent boards", "bad")
        yield verdict_tile(record)

    def sections(self) -> Iterator[str]:
        record = self._record
        yield latency_section(
            record,
            LEGS,
            "From an event's first fragment until the builder passes it on, and until it is sent or "
            "rejected, for every event. Both axes are logarithmic.",
        )
        yield over_time(record, LEGS[record.whole_way])
        missing = np.array([block.get("missing", 0) for _, block in numbered(record.node, "build.board")], np.int64)
        yield section(
            "Completeness",
            f"{in_percent(self.results()['complete'])} of the events have a fragment of every board. "
            "For each board, the share of events that went out without it.",
            figure(camera_figures.completeness(missing, record.n_events), _missing_words(missing, record.n_events))
            or words("No board was missing from any event." if record.n_events else ""),
        )
        yield self._filter_section()
        yield self._image_section()

    def _filter_section(self) -> str:
        events, by_truth = self._record.events, self._record.kept_by_truth()
        about = f"{in_percent(self.results()['kept'])} of the events were kept. The spectrum is of the "
        about += f"{len(events.number):,} events that were sampled."
        n_kept = int(events.kept.sum())
        content = figure(
            camera_figures.spectrum(events), f"Of {len(events.kept):,} sampled events {n_kept:,} were kept."
        )
        if by_truth:
            about += f" Of those with a simulated shower {percent(by_truth.showers)} were kept, of those with noise "
            about += f"alone {percent(by_truth.noise)}."
            second = figure(
                camera_figures.efficiency(by_truth), f"Of the sampled showers {percent(by_truth.showers)} were kept."
            )
            content = f'<div class="pair"><div>{content}</div><div>{second}</div></div>'
        return section("Filter", about, content)

    def _image_section(self) -> str:
        images, positions = self._record.events.images[:MAX_IMAGES], self._record.positions
        if positions is None or not images:
            return ""
        pictures = [camera_figures.image(one, positions[: len(one.charge)]) for one in images]
        captions = [
            f"Event {one.event_number:,}, {'kept' if one.kept else 'rejected'}, {one.charge_sum:,.0f} counts"
            for one in images
        ]
        cells = "".join(f"<div>{figure(*one)}</div>" for one in zip(pictures, captions, strict=True))
        about = "Charge of each pixel at its place: the brightest events that were kept, and some that were rejected."
        return section("Events", about, f'<div class="three">{cells}</div>')


def _missing_words(missing: NDArray[np.int64], n_events: int) -> str:
    if not n_events or not missing.any():
        return ""
    worst = int(missing.argmax())
    return f"Board {worst} is missing most often, from {in_percent(float(missing[worst] / n_events))} of the events."


def _filter_table(by_truth: KeptByTruth) -> Table:
    table = plain_table("Filter against truth, by the events looked at", "events with", "events", "kept")
    for label, share in (("a shower", by_truth.showers), ("noise alone", by_truth.noise)):
        table.add_row(label, f"{share.total:,}", percent(share))
    return table
