# SPDX-License-Identifier: Apache-2.0
"""One simulation and its result; many of them on all cores."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from anello.plan.farm import GBPS, Farm
from anello.plan.model import Exchange

CARRIED = 0.99  # of what is offered, delivered within the window


@dataclass(frozen=True)
class Result:
    """Bandwidths are payload, per node, within the window; loads are shares of the ports' capacity."""

    farm: Farm
    n_messages: int
    n_delivered: int
    n_built: int
    window_ns: float
    built_gbps: float  # payload of the events that a node builds
    card_gbps: float  # bytes that a node's card sends, all headers included
    load_mean: dict[str, float] = field(default_factory=dict)
    load_max: dict[str, float] = field(default_factory=dict)
    queue_bytes: dict[str, float] = field(default_factory=dict)  # highest filling of a switch port's buffer
    latency_us: dict[str, float] = field(default_factory=dict)  # first fragment ready to event built
    readout_high: int = 0  # messages
    builder_high: int = 0  # multi-event packets begun
    builder_messages_high: int = 0
    behind_us: float = 0.0  # a message had to wait for a free buffer of its readout unit
    manager_busy: float = 0.0
    seconds: float = 0.0  # that the simulation took

    @property
    def total_tbps(self) -> float:
        return self.built_gbps * self.farm.n_nodes * 1e-3

    @property
    def carries(self) -> bool:
        """The offered load is delivered, and readout units never ran out of buffers."""
        return self.built_gbps >= CARRIED * self.farm.offered_gbps() and not self.behind_us

    @property
    def readout_bytes(self) -> float:
        return self.readout_high * self.farm.message_bytes

    @property
    def builder_bytes(self) -> float:
        return self.builder_messages_high * self.farm.message_bytes


def simulate(farm: Farm, progress: Callable[[float], None] = lambda _: None) -> Result:
    """Raises ConfigError."""
    farm.check()
    started = time.monotonic()
    exchange = Exchange(farm, progress)
    exchange.run()
    begin_ns, end_ns = exchange.window_ns
    window_ns = end_ns - begin_ns
    per_node = exchange.n_in_window / farm.n_nodes / window_ns / GBPS
    load_mean, load_max, queues, card_bytes = {}, {}, {}, 0.0
    ports = exchange.network.ports
    for kind in ("out", "up", "down", "in"):
        loads = [exchange.window_bytes[port] / window_ns / ports.rate[port] for port in ports.of(kind)]
        if not loads:
            continue
        load_mean[kind], load_max[kind] = sum(loads) / len(loads), max(loads)
        if kind == "out":
            card_bytes = load_mean[kind] * farm.link_rate
        else:
            queues[kind] = max(ports.queue_bytes[port] for port in ports.of(kind))
    return Result(
        farm, exchange.n_messages, exchange.n_delivered, exchange.n_built, window_ns,
        built_gbps=per_node * farm.payload_bytes, card_gbps=card_bytes / GBPS, load_mean=load_mean, load_max=load_max,
        queue_bytes=queues, latency_us=_quantiles_us(exchange.latencies_ns), readout_high=exchange.readout_high,
        builder_high=exchange.builder_high, builder_messages_high=exchange.builder_messages_high,
        behind_us=exchange.behind_ns * 1e-3, manager_busy=exchange.manager_busy_ns / exchange.end_ns,
        seconds=time.monotonic() - started,
    )  # fmt: skip


def _quantiles_us(latencies_ns: Sequence[float]) -> dict[str, float]:
    if not latencies_ns:
        return {}
    ordered = sorted(latencies_ns)
    names = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
    return {name: ordered[math.ceil(share * len(ordered)) - 1] * 1e-3 for name, share in names.items()}


def simulate_all(farms: Sequence[Farm], n_processes: int) -> Iterator[Result]:
    """The largest first; each result as it is there. Raises ConfigError before anything starts."""
    for farm in farms:
        farm.check()
    ordered = sorted(farms, key=lambda farm: -farm.n_nodes * farm.n_meps_whole)
    if n_processes <= 1:
        yield from map(simulate, ordered)
        return
    with ProcessPoolExecutor(n_processes) as pool:
        started = [pool.submit(simulate, farm) for farm in ordered]
        try:
            for future in as_completed(started):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class Plan:
    """asked: the farm as it was asked for; curve: other sizes and protocols, at full load."""

    asked: Result
    curve: tuple[Result, ...]

    @property
    def full(self) -> Result | None:
        """The asked farm at full load."""
        farm = self.asked.farm
        if not farm.mep_interval_ns:
            return self.asked
        same = [one for one in self.curve if (one.farm.n_nodes, one.farm.protocol) == (farm.n_nodes, farm.protocol)]
        return same[0] if same else None
