# SPDX-License-Identifier: Apache-2.0
"""A record holds the results of a run of this chain as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from anello.account.ledger import Ledger
from anello.account.record import Arrays, Record
from anello.account.verdict import Flaw

from ..configuration.config import Km3netConfig
from ..engine import Node
from ..report.rates import Rates
from .ledger import build_ledger, flaws

MOST_EVENTS = 6


class Km3netKeeper:
    """Keeps the number of DOMs of at most n_events events, and the largest events with all their hits."""

    def __init__(self, n_events: int) -> None:
        self._n_events = n_events
        self.sizes: list[int] = []
        self.events: list[Mapping[str, Any]] = []

    def look(self, node: Node) -> None:
        offered = node.events()
        self.sizes += [int(event["n_doms"]) for event in offered][: max(0, self._n_events - len(self.sizes))]
        self.events = sorted([*self.events, *offered], key=lambda event: -int(event["n_doms"]))[:MOST_EVENTS]


@dataclass(frozen=True)
class Km3netRecord(Record):
    """Results of one run. rates: from Node.rates; events: the largest events; sizes: number of DOMs of each event."""

    config: Km3netConfig
    rates: Arrays = field(default_factory=dict)
    events: list[Mapping[str, Any]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    @cached_property
    def _ledger(self) -> Ledger:
        return build_ledger(
            self.node,
            self.whole_source,
            n_doms=self.config.line.doms,
            one_host=self.one_host,
            made=self.made,
            came=self.came,
        )

    @property
    def whole_way(self) -> str:
        return "last_to_decided"

    def ledger(self) -> Ledger:
        return self._ledger

    def flaws(self) -> list[Flaw]:
        return flaws(self.node, self.source, self.config, self.ledger())

    @cached_property
    def measured(self) -> Rates:
        return Rates(self.node.get("trigger", {}), self.rates, self.config.coincidences)
