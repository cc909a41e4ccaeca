# SPDX-License-Identifier: Apache-2.0
"""How summary, terminal and report show a run of this chain."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from anello.account.ledger import count_of, total
from anello.report.html import figure, frequency, latency_section, over_time, rows, section, tile, verdict_tile
from anello.report.report import plain_table
from anello.report.summary import in_percent

from ..account.ledger import losses
from ..account.record import Km3netRecord
from . import figures

LEGS = {
    "opened_to_built": "slice's first datagram → built",
    "built_to_decided": "built → decided",
    "opened_to_decided": "slice's first datagram → decided",
    "last_to_decided": "slice's last datagram → decided",
}
WORDS = {
    "l1": "L1: two PMTs within coincidences.l1_ns",
    "l2": "L2: two PMTs that look to one side within coincidences.l2_ns",
    "supernova": "supernova: coincidences.sn_pmts PMTs within coincidences.l2_ns",
}
SLICE_S = 0.1
NODE_LOSSES = [
    (f"frames {kind}", "trigger", f"frames_{kind}") for kind in ("incomplete", "out_of_range", "out_of_order")
]
NODE_LOSSES += [("messages lost", "store", "lost"), ("messages without room", "store", "without_room")]


class Km3netPresentation:
    """Implements anello.report.presentation.Presentation for KM3NeT."""

    def __init__(self, record: Km3netRecord) -> None:
        self._record = record

    @property
    def legs(self) -> Mapping[str, str]:
        return LEGS

    def results(self) -> dict[str, Any]:
        node, measured = self._record.node, self._record.measured
        slices, seconds = node["build"]["slices"], node["build"]["slices"] * SLICE_S
        complete = node["build"]["slices_complete"]
        return {
            "rates": {
                "seconds": seconds,
                "events": slices,
                "triggered": node["trigger"]["events"],  # here "built" counts slices, not events
                "hits_per_s": node["trigger"]["hits_used"] / seconds if seconds else 0.0,
                "payload_mbit_per_s": total(node, "receive.port", "bytes") * 8e-6 / seconds if seconds else 0.0,
                "per_dom_hz": measured.found(),
                "expected_per_dom_hz": measured.expected(),
                "l1_any_pmts_per_dom_hz": measured.of("l1_any_pmts"),
            },
            "losses": losses(node),
            "node_losses": {words: n for words, block, name in NODE_LOSSES if (n := count_of(node, block, name))},
            "complete": complete / slices if slices else None,
        }

    def headlines(self) -> list[str]:
        result = self.results()
        rates, lost = result["rates"], ", ".join(f"{n:,} {words}" for words, n in result["losses"].items())
        return [
            f"{rates['events']:,} slices of 100 ms, {in_percent(result['complete'])} complete, "
            f"{rates['hits_per_s'] * 1e-6:.2f} million hits/s, {rates['payload_mbit_per_s']:,.0f} Mb/s",
            f"{rates['triggered']:,} events of several DOMs",
            *([f"datagrams not used: {lost}"] if lost else []),
        ]

    def tables(self) -> Iterator[RenderableType]:
        table: Table = plain_table("Coincidences, Hz per DOM", "which", "found", "expected")
        for line in self._rates():
            table.add_row(*line)
        yield table

    def _rates(self) -> Iterator[list[str]]:
        measured = self._record.measured
        expected = measured.expected()
        for name, found in measured.found().items():
            yield [WORDS[name], f"{found:,.1f}", f"{expected[name]:,.1f}"]

    def about(self) -> str:
        line, state = self._record.config.line, self._record.states.get("receive", "")
        return f"{line.doms} DOMs, {line.spacing_m:g} m apart; {state}".rstrip("; ")

    def tiles(self) -> Iterator[str]:
        result = self.results()
        rates = result["rates"]
        yield tile(f"{rates['events']:,}", "slices")
        yield tile(in_percent(result["complete"]), "complete", "good" if result["complete"] == 1 else "")
        yield tile(frequency(rates["hits_per_s"]), "hits")
        yield tile(frequency(rates["per_dom_hz"]["l1"]), "L1 per DOM")
        yield tile(f"{rates['triggered']:,}", "events")
        yield verdict_tile(self._record)

    def sections(self) -> Iterator[str]:
        record = self._record
        yield section(
            "Coincidences",
            "Of one DOM, mean of those that were looked at. Expected: pairs by chance, from the "
            "rates of the PMTs as found, and decays of 40K.",
            rows(["Hz per DOM", "found", "expected"], list(self._rates())),
        )
        yield section("PMT rates", "Hits of each PMT.", figure(figures.pmt_rates(record.measured), self._pmt_words()))
        about = "Each point is a pair of PMTs, of all DOMs together. PMTs that look to one side see the same decay."
        caption = "Coincidences fall with the angle between PMTs, as those of 40K do."
        yield section("40K", about, figure(figures.pair_rates(record.measured), caption))
        yield latency_section(
            record, LEGS, "Both axes are logarithmic; a slice lasts 100 ms.", whole="opened_to_decided"
        )
        yield over_time(record, LEGS[record.whole_way])
        yield section(
            "Events",
            "The largest ones: time and height of each hit. A muon passes at the speed of light, 36 m in 120 ns.",
            self._events(),
        )

    def _events(self) -> str:
        height_m = self._record.rates["height_m"]
        cells = [f"<div>{figure(figures.event(one, height_m), _event_words(one))}</div>" for one in self._record.events]
        pictures = f'<div class="pair">{"".join(cells)}</div>' if cells else ""
        sizes = self._record.sizes
        return pictures + figure(figures.sizes(sizes), f"{len(sizes):,} events, of up to {max(sizes, default=0)} DOMs.")

    def _pmt_words(self) -> str:
        by_pmt = self._record.measured.by_pmt
        return f"Median PMT {float(np.median(by_pmt)) * 1e-3:.3g} kHz." if by_pmt.size else ""


def _event_words(one: Mapping[str, Any]) -> str:
    n_l1 = int(one["is_l1"].astype(bool).sum())
    return f"{int(one['n_doms'])} DOMs, {len(one['hit_time_ns']):,} hits, {n_l1} first of an L1."
