# SPDX-License-Identifier: Apache-2.0
"""The combined record of the nodes of an exchange."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anello.account.ledger import Ledger, count_of
from anello.account.leg import merged
from anello.account.record import CounterDict, Record
from anello.account.verdict import Flaw, Word
from anello.exchange.account.causes import flaws
from anello.exchange.account.ledger import NodeCounters, build_exchange_ledger
from anello.exchange.account.node_record import NodeRecord
from anello.exchange.configuration.config import ExchangeConfig
from anello.system.cpu import CpuTime

WHOLE_WAY = "ready_to_built"
LEGS = {"first_to_built": "first part come → packet built", WHOLE_WAY: "part ready → packet built"}


@dataclass(frozen=True)
class PointToPoint:
    """The bandwidth and latency that the same transport reaches between two idle nodes; 0: it was not measured."""

    gbit_per_s: float = 0.0
    about: str = ""


@dataclass(frozen=True)
class ExchangeRecord(Record):
    """One run of the exchange. node: the counters of all nodes, blocks by `node3.builder`."""

    config: ExchangeConfig
    n_nodes: int = 1
    nodes: tuple[NodeRecord, ...] = ()
    absent: Mapping[int, str] = field(default_factory=dict)  # nodes without a final record of their own, and why
    point_to_point: PointToPoint = field(default_factory=PointToPoint)
    rendezvous: Mapping[str, int] = field(default_factory=dict)  # peers refused at the start, by cause
    start: str = ""  # how nodes were started, in words

    def ledger(self) -> Ledger:
        nodes = self.node_counters()
        may_lose = self.config.fabric.transport == "udp"
        return build_exchange_ledger(nodes, absent=self.absent, may_lose=may_lose)

    def node_counters(self) -> list[NodeCounters]:
        return [NodeCounters(node.rank, node.roles, node.counters, node.has_left, node.account) for node in self.nodes]

    def proof(self) -> list[Flaw]:
        n_built = self.total("builder", "meps_complete") + self.total("builder", "meps_incomplete")
        return [] if n_built else [Flaw("nothing was built", word=Word.UNKNOWN)]

    def flaws(self) -> list[Flaw]:
        return flaws(self, self.ledger())

    @property
    def seconds(self) -> float:
        """Duration of the run from start to end, s: that of its longest-running node."""
        return max((node.wall_s for node in self.nodes), default=0.0)

    def total(self, block: str, name: str) -> int:
        """A counter over all nodes."""
        return sum(count_of(node.counters, block, name) for node in self.nodes)


def together(
    config: ExchangeConfig, nodes: Sequence[NodeRecord], *, n_nodes: int, absent: Mapping[int, str],
    machine: CpuTime | None = None, **other: Any,
) -> ExchangeRecord:  # fmt: skip
    """The record of the run, made from its nodes' records. machine: activity of rank 0's machine during the run."""
    counters: CounterDict = {}
    for node in nodes:
        for block, values in node.counters.items():
            add_up(counters.setdefault(f"node{node.rank}.{block}", {}), values)
    states = {f"node {node.rank}": _state_of(node) for node in nodes}
    states |= {f"node {rank}": f"gone: {why}" for rank, why in absent.items()}
    names = sorted({name for node in nodes for name in node.latency})
    latency = {name: merged([node.latency[name] for node in nodes if name in node.latency]) for name in names}
    return ExchangeRecord(
        config=config, node=counters, source=None, n_nodes=n_nodes, nodes=tuple(nodes), absent=absent,
        latency=latency, wall_s=max((node.wall_s for node in nodes), default=0.0), states=states,
        one_host=_on_one_host(nodes), cpu=_cpu(nodes, machine),
        **other,
    )  # fmt: skip


def _cpu(nodes: Sequence[NodeRecord], machine: CpuTime | None) -> dict[str, float]:
    cpu = {"node_cores": sum(node.cores for node in nodes)}
    if machine and _on_one_host(nodes):
        cpu |= {"wall_s": machine.wall_s, "other_cores": max(0.0, machine.machine_cores - cpu["node_cores"])}
    return cpu


def _on_one_host(nodes: Iterable[NodeRecord]) -> bool:
    return len({node.host for node in nodes}) == 1


def _state_of(node: NodeRecord) -> str:
    own = ", ".join(f"{name}: {state}" for name, state in node.states.items() if not name.startswith("node"))
    return "; ".join(part for part in (f"{node.roles} on {node.host}", own, node.failure) if part)


def add_up(sums: dict[str, int], values: Mapping[str, int]) -> None:
    for name, value in values.items():
        sums[name] = max(sums.get(name, 0), value) if name.endswith("_max") else sums.get(name, 0) + value
