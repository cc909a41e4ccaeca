# SPDX-License-Identifier: Apache-2.0
"""The KM3NeT chain, as the command line starts, watches and stops it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from anello.account.ledger import Ledger, total
from anello.account.record import CounterDict
from anello.account.verdict import Flaw
from anello.run.chain import Chain, Look, Meter, RunEnd
from anello.run.display import Item

from .account.ledger import flaws
from .account.record import Km3netKeeper, Km3netRecord
from .configuration.config import Km3netConfig
from .engine import Node

LONGEST_PAUSE_S = 0.2  # a board sends at least once in every slice of 0.1 s


class Km3netChain(Chain):
    """The chain from the boards of a line's DOMs over slices and coincidences to events."""

    config: Km3netConfig

    def own_node_values(self, directory: Path) -> dict[str, Any]:
        messages = self.config.store.messages
        return {"store.messages": str(directory / messages)} if messages else {}

    def keeper(self) -> Km3netKeeper:
        return Km3netKeeper(self.config.run.n_report_events)

    def meter(self) -> "SliceMeter":
        return SliceMeter(self.config.n_slices)

    def longest_pause_s(self) -> float:
        return LONGEST_PAUSE_S

    def flaws(self, node: CounterDict, source: CounterDict | None) -> Sequence[Flaw]:
        return flaws(node, source, self.config, Ledger(()))

    def record(self, end: RunEnd) -> Km3netRecord:
        assert isinstance(end.kept, Km3netKeeper)
        return Km3netRecord(
            config=self.config,
            **end.common(),
            rates=cast(Node, end.node).rates(),
            events=end.kept.events,
            sizes=end.kept.sizes,
        )


class SliceMeter(Meter):
    """Shows how many slices, hits, coincidences and events a running node has counted."""

    def __init__(self, n_slices: int) -> None:
        super().__init__()
        self._n_slices = n_slices

    def _sums(self, counters: CounterDict) -> tuple[int, ...]:
        trigger = counters.get("trigger", {})
        names = ("slices", "hits_used", "l1_different_pmts", "events")
        return total(counters, "receive.port", "bytes"), *(trigger.get(name, 0) for name in names)

    def _items(self, look: Look) -> Iterator[Item]:
        n_bytes, _, n_hits, n_l1, _ = look.gained
        of = f" of {self._n_slices:,}" if self._n_slices else ""
        incomplete = look.counters.get("build", {}).get("slices_incomplete", 0)
        yield Item("time", f"{look.time_s:.1f} s")
        yield Item("in", f"{n_bytes * 8e-6 / look.seconds:,.0f} Mb/s")
        yield Item("slices", f"{look.sums[1]:,}{of}, {incomplete:,} incomplete", bad=incomplete > 0)
        yield Item("hits", f"{n_hits * 1e-6 / look.seconds:.2f} MHz, L1 {n_l1 * 1e-3 / look.seconds:.1f} kHz")
        yield Item("events", f"{look.sums[4]:,}")
