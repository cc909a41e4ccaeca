# SPDX-License-Identifier: Apache-2.0
"""`anello plan`: makes farms from its options, simulates them, shows and writes the results."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from anello.configuration.load import load
from anello.errors import ConfigError
from anello.exchange.configuration.config import (
    ALIGNMENT_BYTES,
    BYTES_BESIDE_FRAGMENT,
    MFP_HEADER_BYTES,
    ExchangeConfig,
)
from anello.plan import calibration
from anello.plan import report as plan_report
from anello.plan.farm import MAX_NODES, PROTOCOLS, Costs, Farm
from anello.plan.simulation import Plan, simulate, simulate_all
from anello.report import report as reports
from anello.system import run_directory

EXIT_NOT_CARRIED = 4
CURVE_NODES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
LEAST_MESSAGES = 40_000  # of a small farm, so that its time window holds enough messages
BUFFERS_PER_NODE = 3
ROUNDS_BY = 4


@dataclass(frozen=True)
class Options:
    """Options of the command line."""

    n_nodes: int = 500
    demand_tbps: float | None = None
    protocol: str | None = None
    steps_ahead: int | None = None
    link_gbps: float = 100.0
    card_sum_gbps: float = 0.0
    uplink_gbps: float | None = None
    radix: int = 40
    oversubscription: float = 1.0
    routing: str = "destination"
    n_failed_links: int = 0
    port_kb: float = 128.0
    latency_us: float = 1.2
    jitter_us: float = 1.0
    max_in_flight: int = 64
    n_buffers: int | None = None
    n_cores: int = 0
    packet_bytes: int = 4096
    packet_overhead_bytes: int = 82
    calibrate: tuple[Path, ...] = ()
    rounds: int = 4
    cell_kb: float = 16.0
    curve: bool = True
    n_jobs: int = 0
    seed: int = 1

    def check(self) -> None:
        """Checks what Farm.check() cannot check. Raises ConfigError."""
        for holds, option, rule, given in self._checks():
            if not holds:
                raise ConfigError(option, rule, str(given), "See anello plan --help")

    def _checks(self) -> Iterator[tuple[bool, str, str, object]]:
        demand = self.demand_tbps
        yield demand is None or 0 < demand < math.inf, "--demand-tbps", "must be above 0", demand
        yield 2 <= self.n_nodes <= MAX_NODES, "--nodes", f"must be 2 to {MAX_NODES}", self.n_nodes
        yield 2 <= self.radix <= 4096, "--radix", "must be 2 to 4096", self.radix
        yield 0.01 <= self.oversubscription <= 100, "--oversubscription", "must be 0.01 to 100", self.oversubscription
        for option, kilobytes in (("--port-kb", self.port_kb), ("--cell-kb", self.cell_kb)):
            yield 0.25 <= kilobytes <= 1e6, option, "must be 0.25 to 1000000", kilobytes
        for option, time_us in (("--latency-us", self.latency_us), ("--jitter-us", self.jitter_us)):
            yield 0 <= time_us <= 1e6, option, "must be 0 to 1000000", time_us
        yield 1 <= self.rounds <= 1000, "--rounds", "must be 1 to 1000", self.rounds
        yield 0 <= self.n_jobs <= 1024, "--jobs", "must be 0 to 1024", self.n_jobs

    def farm(self, config: ExchangeConfig) -> Farm:
        """The farm of these options. Raises ConfigError and InputError."""
        self.check()
        packing, fragment_bytes = config.exchange.packing, config.generator.fragment_mean_bytes
        n_spines = max(1, round(self.radix / (1 + self.oversubscription)))
        farm = Farm(
            n_nodes=self.n_nodes,
            protocol=self.protocol or config.exchange.protocol,
            steps_ahead=config.exchange.steps_ahead if self.steps_ahead is None else self.steps_ahead,
            payload_bytes=packing * fragment_bytes,
            message_bytes=_message_bytes(packing, fragment_bytes),
            mep_interval_ns=self._interval_ns(config),
            n_meps=self.n_meps(self.n_nodes),
            n_credits=config.exchange.credits,
            n_buffers=BUFFERS_PER_NODE * self.n_nodes if self.n_buffers is None else self.n_buffers,
            max_in_flight=self.max_in_flight,
            costs=calibration.calibrate(self.calibrate, Costs()),
            n_cores=self.n_cores,
            link_gbps=self.link_gbps,
            card_sum_gbps=self.card_sum_gbps,
            uplink_gbps=self.uplink_gbps or self.link_gbps or 1.0,
            latency_ns=self.latency_us * 1e3,
            jitter_ns=self.jitter_us * 1e3,
            nodes_per_leaf=max(1, self.radix - n_spines),
            n_spines=n_spines,
            routing=self.routing,
            n_failed_links=self.n_failed_links,
            port_bytes=int(self.port_kb * 1024),
            packet_bytes=self.packet_bytes,
            packet_overhead_bytes=self.packet_overhead_bytes,
            cell_bytes=int(self.cell_kb * 1024),
            seed=self.seed,
        )
        farm.check()
        return farm

    def n_meps(self, n_nodes: int) -> int:
        """Number of multi-event packets, in whole rounds, so that the time window begins and ends with one."""
        rounds = max(self.rounds, LEAST_MESSAGES / n_nodes**2)
        return math.ceil(rounds / ROUNDS_BY) * ROUNDS_BY * n_nodes

    def _interval_ns(self, config: ExchangeConfig) -> float:
        """Time between multi-event packets, from the required rate or from the generator's rate."""
        packing, generator = config.exchange.packing, config.generator
        if self.demand_tbps is not None:
            return packing * generator.fragment_mean_bytes * self.n_nodes * 8 / (self.demand_tbps * 1e3)
        return packing / generator.rate_hz * 1e9 if generator.rate_hz else 0.0


def _message_bytes(packing: int, fragment_bytes: float) -> float:
    """Size of a message with the packet's own headers (docs/reference/mfp.md)."""
    padded = math.ceil(fragment_bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return MFP_HEADER_BYTES + packing * (BYTES_BESIDE_FRAGMENT + padded)


def run(
    config_file: Path | None,
    settings: Sequence[str],
    options: Options,
    out: Path | None,
    console: Console,
    *,
    overwrite: bool = False,
    as_json: bool = False,
) -> int:
    """Simulates, shows, writes plan.json and plan.html. Returns the exit code; raises ConfigError and InputError."""
    config = load(config_file, settings) if config_file else load(None, ["chain=exchange", *settings])
    if not isinstance(config, ExchangeConfig):
        raise ConfigError("chain", 'must be "exchange"', config.chain, "Take configs/lhcb-exchange.toml")
    farm = options.farm(config)
    farms = list(_curve(farm, options))
    for one in farms:
        one.check()
    directory = out and run_directory.prepare(out, overwrite=overwrite)
    with plan_report.PlanWatcher(console) as watcher:
        asked = simulate(farm, watcher.progress(farm))
        watcher.done(asked)
        others = []
        for result in simulate_all(farms, options.n_jobs or os.cpu_count() or 1):
            watcher.done(result)
            others.append(result)
    plan = Plan(asked, tuple(sorted(others, key=lambda one: (one.farm.name, one.farm.n_nodes))))
    directory = directory or reports.new_directory(config.run.directory, f"{config.run.name}-plan")
    page = plan_report.write(
        plan, directory, f"{config.run.name}, plan of {farm.n_nodes} nodes", Path(config.run.directory)
    )
    plan_report.show(plan, console)
    console.print(f"report: {page}", soft_wrap=True, highlight=False)
    if as_json:
        print((directory / "plan.json").read_text(), end="", flush=True)
    return 0 if asked.carries or not farm.mep_interval_ns else EXIT_NOT_CARRIED


def _curve(farm: Farm, options: Options) -> Iterator[Farm]:
    """Farms of other sizes at full load. Only the farm of the requested size has its failed cables; the others have
    all cables."""
    if not options.curve:
        return
    in_step = farm.steps_ahead or ExchangeConfig().exchange.steps_ahead
    for protocol, steps_ahead in (*((protocol, in_step) for protocol in PROTOCOLS), ("shift", 0)):
        for n_nodes in sorted({*CURVE_NODES, farm.n_nodes}):
            n_cut = farm.n_failed_links if n_nodes == farm.n_nodes else 0
            one = farm.of(n_nodes, protocol, steps_ahead)
            one = replace(one, n_meps=options.n_meps(n_nodes), n_failed_links=n_cut)
            if one.n_leaves <= one.nodes_per_leaf + one.n_spines or not one.link_gbps:
                yield one
