# SPDX-License-Identifier: Apache-2.0
"""A chain of numbered packets, as the command line runs it. A detector derives from PacketChain."""

from collections.abc import Iterator, Sequence
from typing import Any

from anello.account.ledger import Reader, Row, total
from anello.account.record import CounterDict
from anello.account.verdict import Flaw
from anello.packet_chain.config import PacketConfig
from anello.packet_chain.ledger import flaws
from anello.packet_chain.record import PacketRecord
from anello.run.chain import MEAN_INTERVALS, Chain, ChainNode, Look, Meter, RunEnd
from anello.run.display import Item


class PacketChain(Chain):
    """Boards that number their packets, and the detector's compiled part, which lies in the same package."""

    config: PacketConfig

    def rows(self, node: Reader) -> Iterator[Row]:
        """The detector's own rows of the ledger, made from its counters; empty if it has none."""
        return iter(())

    def keeper(self) -> "NothingKept":
        return NothingKept()

    def meter(self) -> "PacketMeter":
        return PacketMeter()

    def longest_pause_s(self) -> float:
        return MEAN_INTERVALS / self.config.boards.rate_hz

    def flaws(self, node: CounterDict, source: CounterDict | None) -> Sequence[Flaw]:
        return flaws(node, source, self.config.run.duration_s)

    def record(self, end: RunEnd) -> PacketRecord:
        node: Any = end.node
        return PacketRecord(config=self.config, **end.common(), own_rows=self.rows, meanings=node.counter_meanings())


class NothingKept:
    """A stand-in for the event samples: these nodes offer none."""

    def look(self, node: ChainNode) -> None:
        pass


class PacketMeter(Meter):
    """Counts the packets of a running node for the display."""

    def _sums(self, counters: CounterDict) -> tuple[int, ...]:
        return total(counters, "receive.port", "bytes"), total(counters, "receive.board", "used")

    def _items(self, look: Look) -> Iterator[Item]:
        n_bytes, n_packets = look.gained
        yield Item("time", f"{look.time_s:.1f} s")
        yield Item("in", f"{n_bytes * 8e-6 / look.seconds:,.1f} Mb/s")
        yield Item("packets", f"{n_packets / look.seconds:,.0f} /s, {look.sums[1]:,} in all")
