# SPDX-License-Identifier: Apache-2.0
"""The camera before and after the exchange, in the ledger of a farm and among its losses."""

from collections.abc import Iterator
from typing import ClassVar

from anello.account.ledger import Counters, Loss, Row, front_ends_in
from anello.exchange.account.detector_part import DetectorPart

from .account.ledger import farm_board_losses, farm_node_rows
from .account.losses import board_losses_by_now, node_losses, received_not_used


class CameraPart(DetectorPart):
    """Its boards before the exchange, whole events after it."""

    packs: ClassVar = {"pack": "packed"}
    packed = ("pack", "parts_packed")
    unpacked = ("unpack", "parts_in")
    causes: ClassVar = {
        ("pack", "parts_left"): "parts of events left, no room by the end",
        ("unpack", "events_incomplete"): "events incomplete",
        ("unpack", "parts_malformed"): "parts of events malformed",
    }

    def rows_of_node_at_end(self, counters: Counters) -> Iterator[Row]:
        return farm_node_rows(counters)

    def board_losses(self, counters: Counters, *, by_now: bool) -> Iterator[Loss]:
        if "pack" not in counters:
            return iter(())
        return board_losses_by_now(counters, front_ends_in(counters)) if by_now else farm_board_losses(counters)

    def losses(self, counters: Counters) -> dict[str, int]:
        if "pack" not in counters and "unpack" not in counters:
            return {}
        return {words: n for _, words, n in received_not_used(counters)} | node_losses(counters)
