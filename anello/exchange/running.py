# SPDX-License-Identifier: Apache-2.0
"""One node's part in a run: it meets the others, starts together with them, follows their states, and hands in its
record. One node leads: it shows progress, ends the run, and collects all records."""

import resource
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from anello.account.leg import LegLatency, slim
from anello.account.notices import Notices, each_once
from anello.account.record import CounterDict
from anello.catalogue.entry import Entry
from anello.configuration.origin import node_values, write_beside
from anello.errors import engine_errors
from anello.exchange.account.node_record import NodeRecord, Sample, SampleSeries
from anello.exchange.account.numbers import Account
from anello.exchange.account.record import ExchangeRecord, PointToPoint, together
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.feed import Feed
from anello.exchange.feed_of import feed_of
from anello.exchange.rendezvous.group import Group, GroupEndedError
from anello.exchange.report.progress import ExchangeMeter
from anello.run import display
from anello.run.source_process import SourceFailedError, SourceProcess
from anello.system.cpu import CpuTime
from anello.system.interruption import Interruption
from anello.system.json_messages import encode

SAMPLE_S = 0.1
POINT_TO_POINT_S = 1.0
DRAIN_S = 10.0  # s from the order to stop to the end of the threads, in addition to the exchange's own timeouts


class EngineNode(Protocol):
    """The interface of anello._engine.ExchangeNode."""

    def address(self) -> bytes: ...
    def connect(self, node: int, address: bytes) -> None: ...
    def disconnect(self, node: int) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def abort(self) -> None: ...
    def finished(self) -> bool: ...
    def set_state(self, word: str) -> None: ...
    def counters(self) -> CounterDict: ...
    def account(self) -> dict[str, Any]: ...
    def latency(self) -> dict[str, LegLatency]: ...
    def states(self) -> dict[str, str]: ...
    def notices(self) -> list[Any]: ...
    def progress(self) -> dict[str, int]: ...
    def ports(self) -> list[int]: ...
    def failure(self) -> str: ...


MakeNode = Callable[[dict[str, Any]], EngineNode]
Measure = Callable[[dict[str, Any]], PointToPoint]


def engine_node(values: dict[str, Any]) -> EngineNode:
    """Makes the engine's node. Raises ConfigError, EngineMissingError."""
    from anello.engine import _engine

    with engine_errors():
        node: EngineNode = _engine.ExchangeNode(values)
    return node


def engine_values(
    config: ExchangeConfig, group: Group, directory: Path, before: Feed[Any] | None = None, entry: Entry | None = None
) -> dict[str, Any]:
    """The values for the engine: keys (those of fabric and publish in full, the others without the name of their
    section) and the node's place in the farm."""
    given = config.as_given()
    values = node_values(entry.origin if entry else None) | {
        key.partition(".")[2]: value
        for key, value in given.items()
        if key.partition(".")[0] in ("exchange", "input", "generator", "output", "threads")
    }
    values |= before.values(directory) if before else {}
    values |= {key: value for key, value in given.items() if key.startswith(("fabric.", "publish."))}
    return values | {
        "file": str(directory / config.output.file.replace("{node}", str(group.rank))),
        "publish.address": config.publish.address.replace("{node}", str(group.rank)),
        "node": group.rank,
        "n_nodes": group.size,
        "farm_id": group.farm_id,
        "comes_again": group.comes_again,
        "seed": config.run.seed,
        "roles": config.roles_of(group.size),
    }


def engine_point_to_point(values: dict[str, Any]) -> PointToPoint:
    """Measures the transport between two idle nodes in this process."""
    from anello.engine import _engine

    with engine_errors():
        measured = _engine.point_to_point(values | {"duration_s": POINT_TO_POINT_S, "counter_page": ""})
    return PointToPoint(float(measured["gbit_per_s"]), str(measured["about"]))


@dataclass
class Watched:
    """What a node records while it runs."""

    series: SampleSeries = field(default_factory=SampleSeries)
    gone: dict[int, str] = field(default_factory=dict)  # by rank, why; also of nodes that returned


@dataclass(frozen=True)
class Ended:
    """How a node's run ended. record: at the leading node, of the whole run. alone: the record of this node, if it
    could not hand it in, or does not know whether it was collected."""

    failure: str
    interrupted: bool
    record: ExchangeRecord | None
    alone: NodeRecord | None = None
    entry: Entry | None = None  # still open


class NodeRun:
    """One run of a node. When it is made, the engine's node has its memory and is not connected yet."""

    def __init__(
        self,
        config: ExchangeConfig,
        group: Group,
        directory: Path,
        make: MakeNode = engine_node,
        measure: Measure | None = None,
        *,
        placement: str = "",
        notices: Notices | None = None,
        entry: Entry | None = None,
    ) -> None:
        """Makes the node. measure: the reference bandwidth, measured where all nodes are on one machine; None: no
        measurement. placement: where this process was put, in words. notices: another listener for them. entry:
        the run's, in the catalogue, at the leading node."""
        config.roles_of(group.size)
        if config.output.to != "nothing":
            directory.mkdir(parents=True, exist_ok=True)
        self._config, self._group, self._notices = config, group, notices or Notices()
        self._feed = feed_of(config, group.rank, group.size)
        self._source: SourceProcess | None = None
        self._entry = entry or Entry.none(config, directory)
        self._notices.listeners.append(self._entry.hear)
        self._values = engine_values(config, group, directory, self._feed, self._entry)
        self._node, self._measure = make(self._values), measure
        if "bu" in config.roles_of(group.size)[group.rank].split("+"):  # other nodes write no data
            write_beside(directory, config.raw_files, self._entry.origin, node=group.rank)
        self._watched, self._placement = Watched(), placement
        self._left_alone = ""  # why the group has ended

    def run(self, console: Console, interrupted: Interruption, start: str) -> Ended:
        """Runs the node to its end. start: how nodes were started, in words. Raises StartError where the run cannot
        continue."""
        self._notices.report(f"node {self._group.rank} of {self._group.size}, {start}", "detail")
        with ExitStack() as stack:
            if self._feed and self._feed.has_front_ends:
                arguments = self._feed.source_arguments(self._node.ports())
                self._source = stack.enter_context(SourceProcess(arguments, self._entry.origin))
            return self._run(console, interrupted, start)

    def _run(self, console: Console, interrupted: Interruption, start: str) -> Ended:
        group, node = self._group, self._node
        try:
            for rank, address in group.meet(node.address()).items():
                if rank != group.rank:
                    node.connect(rank, address)
            if self._source:
                self._source.wait_ready()
            node.set_state("ready")
            self._entry.state("ready")
            group.barrier()
            began, own_s = CpuTime.now(), _own_cpu_s()
            node.start()
            node.set_state("running")
            if self._source:
                self._source.start()
            self._entry.state("running")
            has_left = self._watch_or_end_alone(console, interrupted, began.wall_s)
        except BaseException:
            node.abort()
            raise
        cpu = CpuTime.now().since(began)
        own = self._own_record(cpu.wall_s, _own_cpu_s() - own_s, has_left)
        if has_left:
            group.leave(own.as_bytes(), own.failure or "interrupted")
            return Ended(own.failure, interrupted.is_set(), None, own if own.failure else None, self._entry)
        try:
            records = group.gather(own.as_bytes())
            self._hear()
        except GroupEndedError as error:
            own = replace(own, has_left=True, failure=str(error))
            return Ended(str(error), interrupted.is_set(), None, own, self._entry)
        whole = self._whole(records, cpu, interrupted.is_set(), start) if group.leads else None
        return Ended(own.failure, interrupted.is_set(), whole, entry=self._entry)

    def _watch_or_end_alone(self, console: Console, interrupted: Interruption, began_s: float) -> bool:
        """True: this node leaves before the others. Without the group no node leads, and the run ends in order: data
        in transit are built and counted."""
        try:
            return self._watch(console, interrupted, began_s)
        except GroupEndedError as error:
            self._left_alone = str(error)
            self._stop_front_ends()
            self._node.stop()
            self._notices.report_all([str(error), *self._node.notices()])
            return True

    # --- While it runs ----------------------------------------------------------------------------------------------
    def _watch(self, console: Console, interrupted: Interruption, began_s: float) -> bool:
        """Watches the run until its end. True: this node leaves before the others."""
        meter = ExchangeMeter(self._group.size, self._watched.gone)
        refresh_s = self._config.run.refresh_ms * 1e-3
        next_show_s, stop_s = began_s, None
        with display.make(self._config.run.display if self._group.leads else "off", console) as shown:
            while not self._node.finished():
                interrupted.nap(SAMPLE_S)
                now_s, leads = time.monotonic(), self._group.leads
                self._hear()
                if self._source:
                    self._source.poll()
                    if self._source.ended_badly:
                        raise SourceFailedError(self._source.ended_badly)
                self._sample(now_s - began_s)
                if leads and now_s >= next_show_s:
                    next_show_s = now_s + refresh_s
                    shown.show(meter.look(self._group.reports(), now_s - began_s))
                if interrupted.is_set() and not leads and self._group.may_leave:
                    self._node.abort()
                    return True
                stop_s = stop_s or self._stop_if_wanted(now_s, began_s, interrupted)
                if stop_s and now_s - stop_s > self._patience_s:
                    self._notices.report(f"node {self._group.rank} did not end in {self._patience_s:g} s")
                    self._node.abort()
                    break
        self._stop_front_ends()
        self._node.stop()
        self._node.set_state("failed" if self._node.failure() else "ended")
        self._hear()
        self._sample(time.monotonic() - began_s)
        return bool(self._node.failure()) and not self._group.leads

    @property
    def _patience_s(self) -> float:
        exchange = self._config.exchange
        return DRAIN_S + (exchange.timeout_ms + exchange.peer_timeout_ms) * 1e-3

    @property
    def _longest_s(self) -> float:
        """The time after which the leader asks for the end, s; 0: the run ends by itself. It includes the time that
        the front ends need to send, but does not wait longer for those that died."""
        if not self._values["n_meps"]:
            return self._config.run.duration_s
        return self._feed.duration_s + DRAIN_S if self._feed and self._feed.duration_s else 0

    def _stop_if_wanted(self, now_s: float, began_s: float, interrupted: Interruption) -> float | None:
        """Ends the run if requested: the leader asks, and the manager carries it out. Returns the time of the
        request."""
        duration_s = self._longest_s
        if self._group.leads:
            if interrupted.is_set():
                self._group.stop_all("interrupted")
            elif duration_s and now_s - began_s >= duration_s:
                self._group.stop_all("the time is over")
        if not self._group.stop_wanted():
            return None
        self._node.set_state("draining")
        self._entry.state("draining")
        self._stop_front_ends()
        self._node.stop()  # at every node: this also ends a wait for subscribers that do not read
        return now_s

    def _stop_front_ends(self) -> None:
        """Stops the front ends before the node, so that all their packets are counted."""
        if self._source:
            self._source.stop()

    def _hear(self) -> None:
        """Takes in news of other nodes and this node's own notices."""
        for news in self._group.news():
            if news.address is None:
                self._watched.gone[news.rank] = news.what
                self._node.disconnect(news.rank)
            else:
                self._node.connect(news.rank, news.address)
        self._notices.report_all([*self._group.notices(), *self._node.notices()])
        self._notices.look()

    def _sample(self, time_s: float) -> None:
        progress = self._node.progress()
        built, meps, free = (progress.get(name, 0) for name in ("bytes_built", "meps_built", "credits_free"))
        sample = Sample(time_s, built, meps, _own_cpu_s(), free)
        self._watched.series.add(sample)
        self._group.report(encode({"time_s": time_s, "progress": progress, "states": _bad(self._node.states())}))

    def _states(self) -> dict[str, str]:
        return self._node.states() | ({"placement": self._placement} if self._placement else {})

    # --- Records ----------------------------------------------------------------------------------------------------
    def _own_record(self, wall_s: float, cpu_s: float, has_left: bool) -> NodeRecord:
        node, config = self._node, self._config
        self._notices.close()
        return NodeRecord(
            rank=self._group.rank,
            host=socket.gethostname(),
            roles=config.roles_of(self._group.size)[self._group.rank],
            counters=node.counters() | (self._source.counters if self._source else {}),
            latency={name: slim(stage) for name, stage in node.latency().items()},
            series=self._watched.series.samples(),
            wall_s=wall_s,
            cpu_s=cpu_s,
            states=self._states(),
            notices=self._notices.kept(),
            failure=node.failure() or self._left_alone,
            has_left=has_left,
            account=Account.of(node.account()),
        )

    def _whole(self, records: list[tuple[int, bytes]], cpu: CpuTime, interrupted: bool, start: str) -> ExchangeRecord:
        nodes, absent = read_records(records, self._group.size, self._watched.gone)
        one_host = len({node.host for node in nodes}) == 1
        reference = self._measure(self._values) if self._measure and one_host else PointToPoint()
        return together(
            self._config,
            nodes,
            n_nodes=self._group.size,
            absent=absent,
            machine=cpu,
            interrupted=interrupted,
            rendezvous=self._group.counters(),
            start=start,
            point_to_point=reference,
            origin=self._entry.origin,
            notices=each_once(one for node in nodes for one in node.notices),
        )


def alone(own: NodeRecord, config: ExchangeConfig, n_nodes: int) -> ExchangeRecord:
    """The record of the run from one node's own record."""
    absent = {rank: f"its record did not reach node {own.rank}" for rank in range(n_nodes) if rank != own.rank}
    return together(config, [own], n_nodes=n_nodes, absent=absent, notices=own.notices)


def read_records(
    records: list[tuple[int, bytes]], n_nodes: int, gone: Mapping[int, str]
) -> tuple[list[NodeRecord], dict[int, str]]:
    """The nodes' records in order, and why others are missing; for a node that returned, the reason is that of its
    first life."""
    nodes, absent = [], dict(gone)
    for rank, content in sorted(records):
        try:
            nodes.append(NodeRecord.from_bytes(content))
            if nodes[-1].rank != rank:
                raise ValueError(f"it says that it is of node {nodes.pop().rank}")
        except ValueError as error:
            absent[rank] = f"its record cannot be read: {error}"
    with_record = {node.rank for node in nodes}
    for rank in range(n_nodes):
        if rank not in with_record:
            absent.setdefault(rank, "it sent no record")
    left = {node.rank for node in nodes if node.has_left}
    return nodes, {rank: why for rank, why in sorted(absent.items()) if rank not in left}


def _bad(states: Mapping[str, str]) -> dict[str, str]:
    return {name: state for name, state in states.items() if state.startswith("down")}


def _own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
