# SPDX-License-Identifier: Apache-2.0
"""Rows and losses of KM3NeT, before and after the exchange, for the ledger of a farm."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from anello.account.ledger import Counters, Loss, Row
from anello.account.verdict import Flaw
from anello.exchange.account.detector_part import DetectorPart, ExchangeLosses

from .account.ledger import (
    COSTS_NOTHING,
    builder_rows,
    farm_board_losses,
    farm_hits_rows,
    losses,
    node_flaws,
    readout_rows,
)


class Km3netPart(DetectorPart):
    """KM3NeT's part of a node: some DOMs before the exchange, slices of all DOMs after it."""

    packs: ClassVar = {"slice_pack": "packed"}
    packed = ("slice_pack", "slices_packed")
    unpacked = ("slice_unpack", "parts_in")
    causes: ClassVar = {
        ("slice_pack", "slices_left"): "parts of slices left, no room by the end",
        ("slice_unpack", "slices_incomplete"): "slices incomplete",
        ("slice_unpack", "parts_malformed"): "parts of slices malformed",
        ("slice_unpack", "parts_of_other"): "parts of slices of other DOMs, slices or runs",
        ("store", "lost"): "messages lost, the file refused",
    }

    def rows_of_node_at_end(self, counters: Counters) -> Iterator[Row]:
        if "slice_pack" in counters:
            yield from readout_rows(counters)
        if "slice_unpack" in counters:
            yield from builder_rows(counters)

    def rows_of_farm(self, nodes: Sequence[Counters], gone: ExchangeLosses) -> Iterator[Row]:
        for row in super().rows_of_farm(nodes, gone):
            yield from (row, *farm_hits_rows(nodes))

    def board_losses(self, counters: Counters, *, by_now: bool) -> Iterator[Loss]:
        return farm_board_losses(counters, by_now=by_now) if "slice_pack" in counters else iter(())

    def losses(self, counters: Counters) -> dict[str, int]:
        if "slice_pack" not in counters:
            return {}
        return {f"datagrams {words}": n for words, n in losses(counters).items() if words not in COSTS_NOTHING}

    def flaws(self, counters: Counters, most_degraded_share: float) -> list[Flaw]:
        return node_flaws(counters) if "slice_unpack" in counters else []
