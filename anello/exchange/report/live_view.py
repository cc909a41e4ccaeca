# SPDX-License-Identifier: Apache-2.0
"""The live page of a farm: parts of packets from the readout units over the network to the builders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anello.account.ledger import Counters, Ledger, count_of
from anello.account.leg import LegLatency
from anello.account.record import CounterDict
from anello.account.verdict import Flaw, losses_of
from anello.counters.farm_copy import of_nodes, state_of
from anello.counters.live import SILENT, Board, Flow, Found, Stage, view_of
from anello.counters.pages import Event
from anello.exchange.account import causes
from anello.exchange.account.ledger import DISCARDED, KEPT_BACK, NodeCounters, board_losses, live_ledger
from anello.exchange.account.node_record import NodeRecord
from anello.exchange.account.record import LEGS, WHOLE_WAY, add_up, together
from anello.exchange.configuration.config import ExchangeConfig

BEFORE = ("receive", "build", "generator")  # stages before the exchange
LOST_WITH_BUILDER = {"meps_lost_with_builder": "lost with their builder"}


class ExchangeLive:
    """Implements anello.counters.live.View for the pages of all nodes (anello.counters.farm_copy)."""

    def __init__(self, config: ExchangeConfig) -> None:
        self._config = config
        self._of_chain = view_of(config.of_chain) if config.of_chain else None

    def whole_way(self, latency: Mapping[str, LegLatency]) -> str:
        return WHOLE_WAY if WHOLE_WAY in latency else next(iter(latency), "")

    def legs(self) -> Mapping[str, str]:
        return LEGS

    def flow(self, node: Counters) -> Flow:
        """Events decided by a chain after the exchange, or else packets."""
        built, n_bytes = _sum(node, "builder", "events_built"), _sum(node, "builder", "bytes_built")
        of_chain = self._of_chain.flow(_summed(node)) if self._of_chain else None
        if of_chain and of_chain.decided:
            return replace(of_chain, built=built, n_bytes=n_bytes)
        return Flow("events", built, built, _sum(node, "builder", "meps_complete"), "complete packets", n_bytes)

    def stages(self, node: Counters) -> Sequence[Stage]:
        """The stages; those of the chain stand before and after the exchange."""
        taken = _sum(node, "readout", "mfps_taken")
        of_chain = list(self._of_chain.stages(_summed(node))) if self._of_chain else [self._generator(node, taken)]
        before = [
            replace(stage, about="fragments → parts of packets", went=taken, went_unit="parts")
            if stage.name == "build"
            else stage
            for stage in of_chain
            if stage.name in BEFORE
        ]
        behind = [stage for stage in of_chain if stage.name not in BEFORE and stage.came]
        return [*before, self._readout(node, taken), self._builder(node), *self._store(node), *behind]

    def _generator(self, node: Counters, taken: int) -> Stage:
        return Stage(
            "generator",
            "events → parts of packets",
            _sum(node, "generator", "mfps"),
            "parts",
            taken,
            "parts",
            _named(node, "generator", {"mfps_dropped": "no free buffer"}),
        )

    def _readout(self, node: Counters, taken: int) -> Stage:
        return Stage(
            "readout",
            "parts of packets → the network",
            taken,
            "parts",
            _sum(node, "readout", "mfps_sent"),
            "parts",
            _named(node, "readout", KEPT_BACK),
        )

    def _builder(self, node: Counters) -> Stage:
        incomplete = _sum(node, "builder", "meps_incomplete")
        return Stage(
            "builder",
            "parts → packets of events",
            _sum(node, "builder", "mfps_received"),
            "parts",
            _sum(node, "builder", "meps_complete") + incomplete,
            "packets",
            _named(node, "builder", DISCARDED) | _named(node, "manager", LOST_WITH_BUILDER),
            {"incomplete": incomplete} if incomplete else {},
        )

    def _store(self, node: Counters) -> Iterator[Stage]:
        if taken := _sum(node, "mep_store", "meps_taken"):
            yield Stage(
                "store",
                "packets → files",
                taken,
                "packets",
                _sum(node, "mep_store", "meps_written"),
                "packets",
                _named(node, "mep_store", {"meps_lost": "not written"}),
            )

    def flaws(self, node: Counters, source: Counters | None) -> Sequence[Flaw]:
        """Flaws as in the run's record, except those that only nodes that have ended can report."""
        records = [self._record(rank, blocks, node) for rank, blocks in of_nodes(node).items()]
        farm = together(self._config, records, n_nodes=len(records), absent={})
        with_builder = {f"packets {words}": n for words, n in _named(node, "manager", LOST_WITH_BUILDER).items()}
        living = [one for one in farm.node_counters() if not one.has_left]
        gaps = Ledger((), losses=tuple(board_losses(living, by_now=True)))
        return [*losses_of(gaps), *causes.flaws(farm, gaps), *(Flaw(words, n) for words, n in with_builder.items())]

    def _record(self, rank: int, blocks: Counters, node: Counters) -> NodeRecord:
        roles = self._roles(node)[rank]
        counters = {name: dict(values) for name, values in blocks.items()}
        return NodeRecord(rank, "", roles, counters, {}, (), wall_s=0, cpu_s=0, has_left=state_of(blocks) == SILENT)

    def ledger(self, node: Counters, source: Counters | None) -> Ledger:
        roles = self._roles(node)
        nodes = [
            NodeCounters(rank, roles[rank], blocks, state_of(blocks) == SILENT)
            for rank, blocks in of_nodes(node).items()
        ]
        return live_ledger(nodes, may_lose=self._config.fabric.transport == "udp")

    def _roles(self, node: Counters) -> list[str]:
        return self._config.roles_of(len(of_nodes(node)))

    def boards(self, node: Counters) -> Sequence[Board]:
        """Boards of the detector before the exchange. Each is read by one node, and counts as silent when that node
        is gone."""
        found: dict[int, Board] = {}
        for blocks in of_nodes(node).values():
            for board in self._of_chain.boards(blocks) if self._of_chain else ():
                seen = replace(board, state=SILENT) if board.came and state_of(blocks) == SILENT else board
                found[board.number] = max(seen, found.get(board.number, seen), key=lambda one: one.came)
        return [found[number] for number in sorted(found)]

    def found(self, node: Counters) -> Found | None:
        """The chain's reconstructed objects, if its trigger runs after the exchange."""
        return self._of_chain.found(_summed(node)) if self._of_chain and _sum(node, "trigger", "events") else None

    def drawing(self, event: Event) -> Mapping[str, Any] | None:
        return self._of_chain.drawing(event) if self._of_chain else None


def _sum(node: Counters, block: str, name: str) -> int:
    return sum(count_of(blocks, block, name) for blocks in of_nodes(node).values())


def _summed(node: Counters) -> CounterDict:
    """The blocks of all nodes, added up."""
    sums: CounterDict = {}
    for blocks in of_nodes(node).values():
        for block, values in blocks.items():
            add_up(sums.setdefault(block, {}), values)
    return sums


def _named(node: Counters, block: str, names: Mapping[str, str]) -> dict[str, int]:
    return {words: n for name, words in names.items() if (n := _sum(node, block, name))}
