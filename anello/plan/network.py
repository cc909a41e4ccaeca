# SPDX-License-Identifier: Apache-2.0
"""A fat tree of leaf and spine switches: its ports, and the ports that a message passes."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from anello.errors import ConfigError
from anello.plan.farm import Farm


@dataclass
class Ports:
    """All ports that send: of nodes' memories and cards, of leaf switches to spines and to nodes, of spines to leaves.

    A port passes one message (or cell) after another, first come, first served; what waits lies in its buffer, which
    has no limit: the highest filling says what a switch would have to hold.
    """

    kind: list[str] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    free_ns: list[float] = field(default_factory=list)
    passed_bytes: list[float] = field(default_factory=list)  # of cells that have arrived
    queue_bytes: list[float] = field(default_factory=list)  # highest so far

    def add(self, kind: str, rate: float) -> int:
        self.kind.append(kind)
        self.rate.append(rate)
        for values in (self.free_ns, self.passed_bytes, self.queue_bytes):
            values.append(0.0)
        return len(self.kind) - 1

    def of(self, kind: str) -> Iterator[int]:
        return (port for port, one in enumerate(self.kind) if one == kind)


class Network:
    """Raises ConfigError if cut cables leave two leaf switches without a path."""

    def __init__(self, farm: Farm) -> None:
        self._farm, self.ports = farm, Ports()
        n = farm.n_nodes
        self._leaf = [node * farm.n_leaves // n for node in range(n)]
        self._place = [node - self._leaf.index(self._leaf[node]) for node in range(n)]
        self._memory = [self.ports.add("memory", farm.memory_rate) for _ in range(n)]
        if farm.link_rate:
            self._out = [self.ports.add("out", farm.link_rate) for _ in range(n)]
            self._in = [self.ports.add("in", farm.link_rate) for _ in range(n)]
            self._make_tree()
        self.routes = [[self._route(source, to) for to in range(n)] for source in range(n)]

    def _make_tree(self) -> None:
        farm = self._farm
        self._whole: list[list[int]] = [list(range(farm.n_spines)) for _ in range(farm.n_leaves)]
        cables = [(leaf, spine) for leaf in range(farm.n_leaves) for spine in range(farm.n_spines)]
        for leaf, spine in random.Random(farm.seed).sample(cables, farm.n_failed_links):
            self._whole[leaf].remove(spine)
        if farm.n_leaves > 1 and not all(self._whole):
            raise self._cut_off()
        self._up, self._down = ([self._cables(kind, leaf) for leaf in range(farm.n_leaves)] for kind in ("up", "down"))

    def _cables(self, kind: str, leaf: int) -> dict[int, int]:
        """Ports of a leaf by spine; where packets are spread, all cables are one port."""
        farm, whole = self._farm, self._whole[leaf]
        if farm.n_leaves < 2:
            return {}
        if farm.routing == "spread":
            return {0: self.ports.add(kind, farm.uplink_rate * len(whole))}
        return {spine: self.ports.add(kind, farm.uplink_rate) for spine in whole}

    def _route(self, source: int, to: int) -> tuple[int, ...]:
        if source == to or not self._farm.link_rate:
            return (self._memory[source],)
        here, there = self._leaf[source], self._leaf[to]
        if here == there:
            return self._out[source], self._in[to]
        spine = self._spine(source, to)
        return self._out[source], self._up[here][spine], self._down[there][spine], self._in[to]

    def _spine(self, source: int, to: int) -> int:
        if self._farm.routing == "spread":
            return 0
        there = set(self._whole[self._leaf[to]])
        common = [spine for spine in self._whole[self._leaf[source]] if spine in there]
        if not common:
            raise self._cut_off()
        if self._farm.routing == "hashed":
            return random.Random(f"{self._farm.seed} {source} {to}").choice(common)
        wanted = self._place[to] % self._farm.n_spines
        return min(common, key=lambda spine: (spine - wanted) % self._farm.n_spines)

    def _cut_off(self) -> ConfigError:
        rule = "must leave a way between any two leaf switches"
        return ConfigError("--failed-links", rule, str(self._farm.n_failed_links), "Cut fewer, or take another seed")
