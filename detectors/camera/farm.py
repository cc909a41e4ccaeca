# SPDX-License-Identifier: Apache-2.0
"""The camera before and after the exchange, in the ledger of a farm and among its losses."""

from collections.abc import Iterator
from typing import ClassVar

from anello.account.ledger import Counters, Row
from anello.exchange.account.detector_part import DetectorPart

from .account.ledger import farm_node_rows
from .account.losses import losses, node_losses


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

    def losses(self, counters: Counters) -> dict[str, int]:
        if "pack" not in counters and "unpack" not in counters:
            return {}
        return {f"fragments {words}": n for words, n in losses(counters).items()} | node_losses(counters)
