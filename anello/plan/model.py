# SPDX-License-Identifier: Apache-2.0
"""The exchange simulated without data: readout units, builder units and the event manager on SimPy.

What engine/exchange does is done here, message by message: the same protocols, credits and buffers. Each message takes
its sender's processor, the ports on its way, and its receiver's processor; control messages are so small that they take
processors and time only. Hot functions are written for speed: a farm of 500 nodes moves a million messages.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import simpy

from anello.plan.farm import Farm
from anello.plan.network import Network

BEGIN_SHARE, END_SHARE = 0.3, 0.8  # of all messages: the window in which rates are taken
SHOW_EVERY = 4096
NOBODY, NEVER = -1, -1.0

Job = tuple[int, int]  # multi-event packet, builder


class Processors:
    """Threads of the nodes, first come, first served; and the cores that they share, as one core of their sum."""

    def __init__(self, farm: Farm) -> None:
        self._free_ns = [[0.0] * farm.n_nodes for _ in range(farm.n_threads)]
        self._n_cores, self._cores_free_ns = farm.n_cores, 0.0

    def work(self, node: int, side: int, now_ns: float, cost_ns: float) -> float:
        """Side: 0 sends, 1 receives. Returns when it is done."""
        threads = self._free_ns[side if len(self._free_ns) > 1 else 0]
        done_ns = max(now_ns, threads[node]) + cost_ns
        if self._n_cores:
            self._cores_free_ns = max(now_ns, self._cores_free_ns) + cost_ns / self._n_cores
            done_ns = max(done_ns, self._cores_free_ns)
        threads[node] = done_ns
        return done_ns


class Cell:
    """A part of a message (or all of it) on its way."""

    __slots__ = ("at", "bytes", "job", "route", "source", "tail_ns")

    def __init__(self, source: int, job: Job, route: Sequence[int], n_bytes: float) -> None:
        self.source, self.job, self.route, self.bytes = source, job, route, n_bytes
        self.at, self.tail_ns = 0, 0.0


class Readout:
    """What a readout unit holds and owes."""

    __slots__ = ("asked_by", "in_order", "jobs", "n_ready", "n_sent", "slots_ns")

    def __init__(self, farm: Farm) -> None:
        self.in_order: deque[Job] = deque()  # push, shift: assigned, to be sent in this order
        self.asked_by = [NOBODY] * (farm.n_meps_whole if farm.protocol == "pull" else 0)
        self.jobs: deque[Job] = deque()  # may be sent now
        self.slots_ns = deque([0.0] * farm.n_sends)  # when a place for a message in flight is free again
        self.n_ready = self.n_sent = 0


class Exchange:
    """One simulation. progress: called with the share that is done."""

    def __init__(self, farm: Farm, progress: Callable[[float], None] = lambda _: None) -> None:
        self.farm, self._progress = farm, progress
        self.network = Network(farm)
        self._ports, self._routes = self.network.ports, self.network.routes
        self._env = simpy.Environment()
        self._processors = Processors(farm)
        self._moved_ns, self._own_ns = farm.message_ns, farm.costs.own_share * farm.message_ns  # of one side
        self._readouts = [Readout(farm) for _ in range(farm.n_nodes)]
        self._jitter_ns: Iterator[float] = iter(())
        self._random = np.random.default_rng(farm.seed)
        self._shift = farm.protocol == "shift"
        n_meps, n = farm.n_meps_whole, farm.n_nodes
        # --- Builders
        self._cells_missing: dict[tuple[int, int], int] = {}
        self._n_received = [0] * n_meps
        self._n_open, self._n_held = [0] * n, [0] * n
        # --- The manager
        self._credits = [farm.n_credits] * n
        self._returned: list[int] = []
        self._next_mep = self._next_builder = 0
        self._manager_busy = False
        # --- Statistics
        self.n_messages = n_meps * n
        self._n_begin, self._n_end = (int(self.n_messages * share) for share in (BEGIN_SHARE, END_SHARE))
        self.n_in_window = self._n_end - self._n_begin
        self.n_due = self.n_delivered = self.n_built = 0
        self.window_ns = (0.0, 0.0)
        self.window_bytes: list[float] = []
        self._ready_ns = [NEVER] * n_meps  # first at any readout unit
        self.latencies_ns: list[float] = []
        self.readout_high = self.builder_high = self.builder_messages_high = 0
        self.behind_ns = self.manager_busy_ns = self.end_ns = 0.0

    def run(self) -> None:
        self._manage(None)
        if self.farm.mep_interval_ns:
            self._on_due(None)
        else:
            self.n_due = self.farm.n_meps_whole
            self._ready_all()
        self._env.run()

    def _at(self, when_ns: float, call: Callable[[Any], None], value: object = None) -> None:
        timeout = self._env.timeout(max(when_ns - self._env.now, 0.0), value)
        timeout.callbacks.append(call)

    # --- Readout units
    def _on_due(self, _: Any) -> None:
        """Detectors do not wait: the next multi-event packet comes, whether there is room or not."""
        self.n_due += 1
        self._ready_all()
        if self.n_due < self.farm.n_meps_whole:
            self._at(self.n_due * self.farm.mep_interval_ns, self._on_due)

    def _ready_all(self) -> None:
        for node in range(self.farm.n_nodes):
            self._on_room(node)

    def _on_room(self, node: int) -> None:
        """Takes what is due into buffers that are free."""
        readout, farm, now = self._readouts[node], self.farm, self._env.now
        while readout.n_ready < self.n_due and readout.n_ready - readout.n_sent < farm.n_buffers:
            mep = readout.n_ready
            readout.n_ready += 1
            if self._ready_ns[mep] == NEVER:
                self._ready_ns[mep] = now
            if farm.mep_interval_ns:
                self.behind_ns = max(self.behind_ns, now - mep * farm.mep_interval_ns)
            if readout.asked_by and readout.asked_by[mep] != NOBODY:
                readout.jobs.append((mep, readout.asked_by[mep]))
        self.readout_high = max(self.readout_high, readout.n_ready - readout.n_sent)
        self._release_in_order(readout)
        self._send(node)

    def _release_in_order(self, readout: Readout) -> None:
        while readout.in_order and readout.in_order[0][0] < readout.n_ready:
            readout.jobs.append(readout.in_order.popleft())

    def _on_assigned(self, event: Any) -> None:
        node, jobs = event.value
        readout = self._readouts[node]
        if not self._shift:
            readout.in_order.extend(jobs)
        else:
            n, first = self.farm.n_nodes, (node + 1) % self.farm.n_nodes
            for start in range(0, len(jobs), n):
                readout.in_order.extend(jobs[start + first : start + n])
                readout.in_order.extend(jobs[start : start + first])
        self._release_in_order(readout)
        self._send(node)

    def _on_asked(self, event: Any) -> None:
        node, jobs = event.value
        readout = self._readouts[node]
        self._processors.work(node, 0, self._env.now, self.farm.costs.per_control_ns)
        for mep, builder in jobs:
            readout.asked_by[mep] = builder
            if mep < readout.n_ready:
                readout.jobs.append((mep, builder))
        self._send(node)

    def _send(self, node: int) -> None:
        readout, farm = self._readouts[node], self.farm
        while readout.jobs and readout.slots_ns:
            job, slot_ns = readout.jobs.popleft(), readout.slots_ns.popleft()
            now = self._env.now
            cost_ns = self._own_ns if job[1] == node else self._moved_ns
            start_ns = max(self._processors.work(node, 0, now, cost_ns) + self._jitter(), slot_ns)
            route = self._routes[node][job[1]]
            if farm.n_cells > 1:
                self._cells_missing[node, job[0]] = farm.n_cells
            for _ in range(farm.n_cells):
                self._leave(Cell(node, job, route, farm.message_bytes / farm.n_cells), start_ns)

    def _jitter(self) -> float:
        """Of the next message."""
        if not self.farm.jitter_ns:
            return 0.0
        try:
            return next(self._jitter_ns)
        except StopIteration:
            self._jitter_ns = iter(np.abs(self._random.normal(0, self.farm.jitter_ns, 4096)).tolist())
            return next(self._jitter_ns)

    # --- The network
    def _leave(self, cell: Cell, start_ns: float) -> None:
        """Onto the sender's own port, which nobody else uses: no event is needed."""
        ports, port = self._ports, cell.route[0]
        start_ns = max(start_ns, ports.free_ns[port])
        finish_ns = start_ns + cell.bytes / ports.rate[port]
        ports.free_ns[port] = finish_ns
        cell.at = 1
        if len(cell.route) == 1:
            return self._at(finish_ns, self._on_received, cell)
        cell.tail_ns = finish_ns + self.farm.latency_ns
        rate = ports.rate[cell.route[1]]
        return self._at(max(start_ns + self.farm.latency_ns, cell.tail_ns - cell.bytes / rate), self._on_hop, cell)

    def _on_hop(self, event: Any) -> None:
        """The head of a cell reaches a port. It goes on as soon as it can without waiting for its own tail."""
        cell, now, ports = event.value, self._env.now, self._ports
        port = cell.route[cell.at]
        rate, start_ns = ports.rate[port], ports.free_ns[port]
        if start_ns <= now:
            start_ns = now
        elif (start_ns - now) * rate > ports.queue_bytes[port]:
            ports.queue_bytes[port] = (start_ns - now) * rate
        finish_ns = max(start_ns + cell.bytes / rate, cell.tail_ns)
        ports.free_ns[port] = finish_ns
        cell.at += 1
        cell.tail_ns = finish_ns
        if cell.at == len(cell.route):
            self._at(finish_ns, self._on_received, cell)
        else:
            self._at(max(start_ns, finish_ns - cell.bytes / ports.rate[cell.route[cell.at]]), self._on_hop, cell)

    def _on_received(self, event: Any) -> None:
        cell = event.value
        for port in cell.route:
            self._ports.passed_bytes[port] += cell.bytes
        if self.farm.n_cells > 1:
            key = (cell.source, cell.job[0])
            self._cells_missing[key] -= 1
            if self._cells_missing[key]:
                return
            del self._cells_missing[key]
        cost_ns = self._own_ns if cell.job[1] == cell.source else self._moved_ns
        done_ns = self._processors.work(cell.job[1], 1, self._env.now, cost_ns)
        self._at(done_ns, self._on_delivered, cell)

    # --- Builder units
    def _on_delivered(self, event: Any) -> None:
        cell, now, n = event.value, self._env.now, self.farm.n_nodes
        mep, builder = cell.job
        self._n_received[mep] += 1
        self._n_open[builder] += self._n_received[mep] == 1
        self._n_held[builder] += 1
        self.builder_high = max(self.builder_high, self._n_open[builder])
        self.builder_messages_high = max(self.builder_messages_high, self._n_held[builder])
        self._see_delivered(now)
        if self._n_received[mep] == n:
            self._on_built(mep, builder, now)
        readout = self._readouts[cell.source]
        readout.n_sent += 1
        readout.slots_ns.append(now + self.farm.latency_ns)  # the sender hears of it
        self._on_room(cell.source)

    def _on_built(self, mep: int, builder: int, now: float) -> None:
        self._n_open[builder] -= 1
        self._n_held[builder] -= self.farm.n_nodes
        self.n_built += 1
        if self._n_begin < self.n_delivered <= self._n_end:
            self.latencies_ns.append(now - self._ready_ns[mep])
        if self._next_mep < self.farm.n_meps_whole:
            told_ns = self._processors.work(builder, 1, now, self.farm.costs.per_control_ns)
            self._at(told_ns + self.farm.latency_ns, self._on_credit, builder)

    def _see_delivered(self, now: float) -> None:
        self.n_delivered += 1
        if self.n_delivered == self._n_begin:
            self.window_ns, self.window_bytes = (now, now), list(self._ports.passed_bytes)
        elif self.n_delivered == self._n_end:
            begin = self.window_bytes
            self.window_ns = (self.window_ns[0], now)
            self.window_bytes = [end - one for end, one in zip(self._ports.passed_bytes, begin, strict=True)]
        if self.n_delivered % SHOW_EVERY == 0:
            self._progress(self.n_delivered / self.n_messages)
        self.end_ns = now

    # --- The event manager
    def _on_credit(self, event: Any) -> None:
        self._returned.append(event.value)
        if not self._manager_busy:
            self._manage(None)

    def _manage(self, _: Any) -> None:
        """Takes all credits that came, assigns what it can, tells the nodes concerned; then looks again."""
        cost_ns, now = self.farm.costs.per_control_ns, self._env.now
        told_ns = now + len(self._returned) * cost_ns
        for builder in self._returned:
            self._credits[builder] += 1
        self._returned.clear()
        jobs = self._assign_rounds() if self._shift else self._assign()
        if jobs and self.farm.protocol == "pull":
            told_ns = self._tell_builders(jobs, told_ns)
        elif jobs:
            told_ns = self._tell_readouts(jobs, told_ns)
        self.manager_busy_ns += told_ns - now
        self._manager_busy = True
        self._at(told_ns, self._on_manager_free)

    def _on_manager_free(self, _: Any) -> None:
        self._manager_busy = False
        if self._returned:
            self._manage(None)

    def _assign(self) -> list[Job]:
        jobs: list[Job] = []
        n, n_without = self.farm.n_nodes, 0
        while n_without < n and self._next_mep < self.farm.n_meps_whole:
            builder = self._next_builder
            self._next_builder = (builder + 1) % n
            if not self._credits[builder]:
                n_without += 1
                continue
            n_without = 0
            self._credits[builder] -= 1
            jobs.append((self._next_mep, builder))
            self._next_mep += 1
        return jobs

    def _assign_rounds(self) -> list[Job]:
        n = self.farm.n_nodes
        n_rounds = min(*self._credits, (self.farm.n_meps_whole - self._next_mep) // n)
        first = self._next_mep
        self._next_mep += n_rounds * n
        self._credits = [credit - n_rounds for credit in self._credits]
        return [(mep, mep % n) for mep in range(first, self._next_mep)]

    def _tell_readouts(self, jobs: list[Job], when_ns: float) -> float:
        for node in range(self.farm.n_nodes):
            when_ns += self.farm.costs.per_control_ns
            self._at(when_ns + self.farm.latency_ns, self._on_assigned, (node, jobs))
        return when_ns

    def _tell_builders(self, jobs: list[Job], when_ns: float) -> float:
        by_builder: dict[int, list[Job]] = {}
        for job in jobs:
            by_builder.setdefault(job[1], []).append(job)
        for builder, own in by_builder.items():
            when_ns += self.farm.costs.per_control_ns
            self._at(when_ns + self.farm.latency_ns, self._on_told, (builder, own))
        return when_ns

    def _on_told(self, event: Any) -> None:
        """Pull: the builder asks all readout units, starting with the one after itself."""
        builder, jobs = event.value
        n = self.farm.n_nodes
        for step in range(1, n + 1):
            asked_ns = self._processors.work(builder, 0, self._env.now, self.farm.costs.per_control_ns)
            self._at(asked_ns + self.farm.latency_ns, self._on_asked, ((builder + step) % n, jobs))
