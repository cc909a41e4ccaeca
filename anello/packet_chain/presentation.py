# SPDX-License-Identifier: Apache-2.0
"""A run of numbered packets for summary, terminal and report: packets, and every counter of the detector."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from anello.account.ledger import total
from anello.packet_chain.ledger import losses
from anello.packet_chain.record import PacketRecord
from anello.report.html import frequency, latency_section, rows, section, tile, verdict_tile
from anello.report.report import plain_table
from anello.report.summary import in_percent

LEGS = {"came_to_used": "received by the kernel → used"}


class PacketPresentation:
    """Implements anello.report.presentation.Presentation."""

    def __init__(self, record: PacketRecord) -> None:
        self._record = record

    @property
    def legs(self) -> Mapping[str, str]:
        return LEGS

    def results(self) -> dict[str, Any]:
        node, wall_s = self._record.node, self._record.wall_s
        n_used, n_bytes = total(node, "receive.board", "used"), total(node, "receive.port", "bytes")
        n_made = total(self._record.whole_source or {}, "source.board", "packets")
        return {
            "rates": {
                "seconds": wall_s,
                "events": n_used,
                "events_per_s": n_used / wall_s if wall_s else 0.0,
                "payload_mbit_per_s": n_bytes * 8e-6 / wall_s if wall_s else 0.0,
            },
            "losses": losses(node),
            "node_losses": {},
            "complete": n_used / n_made if n_made else None,
            "detector": self._record.own_counters,
        }

    def headlines(self) -> list[str]:
        result = self.results()
        rates, lost = result["rates"], ", ".join(f"{n:,} {words}" for words, n in result["losses"].items())
        return [
            f"{rates['events']:,} packets used, {in_percent(result['complete'])} of those made, "
            f"{rates['payload_mbit_per_s']:,.1f} Mb/s",
            *([f"packets not used: {lost}"] if lost else []),
        ]

    def tables(self) -> Iterator[RenderableType]:
        table: Table = plain_table("What the detector counted", "counter", "number", "meaning")
        table.columns[2].justify = "left"
        for line in self._counted():
            table.add_row(*line)
        yield table

    def _counted(self) -> Iterator[list[str]]:
        for block, counters in self._record.own_counters.items():
            for name, n in counters.items():
                yield [f"{block}.{name}", f"{n:,}", self._record.meanings.get(block, {}).get(name, "")]

    def about(self) -> str:
        n_boards, state = self._record.config.boards.count, self._record.states.get("receive", "")
        return f"{n_boards} boards; {state}".rstrip("; ")

    def tiles(self) -> Iterator[str]:
        result = self.results()
        yield tile(f"{result['rates']['events']:,}", "packets used")
        yield tile(in_percent(result["complete"]), "of those made", "good" if result["complete"] == 1 else "")
        yield tile(frequency(result["rates"]["events_per_s"]), "packets")
        yield verdict_tile(self._record)

    def sections(self) -> Iterator[str]:
        about = "Counters of the detector's own blocks, over the whole run."
        yield section("Counted", about, rows(["counter", "number", "meaning"], list(self._counted()), (0, 2)))
        yield latency_section(self._record, LEGS, "Both axes are logarithmic.", whole="came_to_used")
