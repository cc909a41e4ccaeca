# SPDX-License-Identifier: Apache-2.0
"""The results of a run of numbered packets, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from anello.account.ledger import Ledger
from anello.account.record import Record
from anello.account.verdict import Flaw
from anello.packet_chain.config import PacketConfig
from anello.packet_chain.ledger import OwnRows, build_ledger, flaws


@dataclass(frozen=True)
class PacketRecord(Record):
    """One run. own_rows: the detector's rows of the ledger; meanings: block -> name -> meaning of a counter."""

    config: PacketConfig
    own_rows: OwnRows = lambda node: iter(())
    meanings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def _ledger(self) -> Ledger:
        return build_ledger(
            self.node,
            self.whole_source,
            self.own_rows,
            n_boards=self.config.boards.count,
            one_host=self.one_host,
            made=self.made,
            came=self.came,
        )

    def ledger(self) -> Ledger:
        return self._ledger

    def flaws(self) -> list[Flaw]:
        return flaws(self.node, self.source, self.config.run.duration_s)

    @property
    def own_counters(self) -> dict[str, Mapping[str, int]]:
        """Counters of the blocks that the detector itself added."""
        return {block: counters for block, counters in self.node.items() if not block.startswith("receive.")}
