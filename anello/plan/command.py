# SPDX-License-Identifier: Apache-2.0
"""`anello plan`: its options become farms, the farms are simulated, the results shown and written."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from anello import report as reports
from anello import run_directory
from anello.config import load
from anello.errors import ConfigError
from anello.exchange.config import ALIGNMENT_BYTES, BYTES_BESIDE_FRAGMENT, MFP_HEADER_BYTES, ExchangeConfig
from anello.plan import calibration
from anello.plan import report as plan_report
from anello.plan.farm import GBPS, PROTOCOLS, Costs, Farm
from anello.plan.simulation import Plan, simulate, simulate_all

EXIT_NOT_CARRIED = 4
CURVE_NODES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
LEAST_MESSAGES = 4000  # of a small farm, so that its window holds enough messages
BUFFERS_PER_NODE = 3


@dataclass(frozen=True)
class Options:
    """As given on the command line."""

    n_nodes: int = 500
    demand_tbps: float | None = None
    protocol: str | None = None
    link_gbps: float = 100.0
    uplink_gbps: float | None = None
    radix: int = 40
    oversubscription: float = 1.0
    routing: str = "destination"
    n_failed_links: int = 0
    latency_us: float = 1.0
    jitter_us: float = 1.0
    n_sends: int = 8
    n_buffers: int | None = None
    n_threads: int = 1
    n_cores: int = 0
    memory_gbps: float = 106.0
    packet_bytes: int = 4096
    packet_overhead_bytes: int = 82
    calibrate: tuple[Path, ...] = ()
    rounds: int = 3
    n_cells: int = 1
    curve: bool = True
    n_jobs: int = 0
    seed: int = 1

    def check(self) -> None:
        """What Farm.check() cannot see. Raises ConfigError."""
        for holds, option, rule, given in self._checks():
            if not holds:
                raise ConfigError(option, rule, str(given), "See anello plan --help")

    def _checks(self) -> Iterator[tuple[bool, str, str, object]]:
        demand = self.demand_tbps
        yield demand is None or 0 < demand < math.inf, "--demand-tbps", "must be above 0", demand
        yield 2 <= self.n_nodes <= 1024, "--nodes", "must be 2 to 1024", self.n_nodes
        yield 2 <= self.radix <= 4096, "--radix", "must be 2 to 4096", self.radix
        yield 0.01 <= self.oversubscription <= 100, "--oversubscription", "must be 0.01 to 100", self.oversubscription
        yield 64 <= self.packet_bytes <= 2**20, "--packet-bytes", "must be 64 to 1048576", self.packet_bytes
        overhead = self.packet_overhead_bytes
        yield 0 <= overhead <= 4096, "--packet-overhead", "must be 0 to 4096", overhead
        yield 1 <= self.rounds <= 1000, "--rounds", "must be 1 to 1000", self.rounds
        yield 0 <= self.n_jobs <= 1024, "--jobs", "must be 0 to 1024", self.n_jobs

    def farm(self, config: ExchangeConfig) -> Farm:
        """Raises ConfigError and InputError."""
        self.check()
        packing, fragment_bytes = config.exchange.packing, config.generator.fragment_mean_bytes
        payload_bytes = packing * fragment_bytes
        n_spines = max(1, round(self.radix / (1 + self.oversubscription)))
        farm = Farm(
            n_nodes=self.n_nodes, protocol=self.protocol or config.exchange.protocol, payload_bytes=payload_bytes,
            message_bytes=self._on_wire(packing, fragment_bytes), mep_interval_ns=self._interval_ns(config),
            n_meps=self.n_meps(self.n_nodes), n_credits=config.exchange.credits,
            n_buffers=BUFFERS_PER_NODE * self.n_nodes if self.n_buffers is None else self.n_buffers,
            n_sends=self.n_sends, costs=calibration.calibrate(self.calibrate, Costs()), n_threads=self.n_threads,
            n_cores=self.n_cores, jitter_ns=self.jitter_us * 1e3, memory_rate=self.memory_gbps * GBPS,
            link_rate=self.link_gbps * GBPS,
            uplink_rate=(self.uplink_gbps or self.link_gbps or 1.0) * GBPS, latency_ns=self.latency_us * 1e3,
            nodes_per_leaf=max(1, self.radix - n_spines), n_spines=n_spines, routing=self.routing,
            n_failed_links=self.n_failed_links, n_cells=self.n_cells, seed=self.seed,
        )  # fmt: skip
        farm.check()
        return farm

    def n_meps(self, n_nodes: int) -> int:
        return max(self.rounds * n_nodes, LEAST_MESSAGES // n_nodes)

    def _on_wire(self, packing: int, fragment_bytes: float) -> float:
        """A message with its own header (docs/reference/mfp.md) and those of its packets."""
        padded = math.ceil(fragment_bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        message = MFP_HEADER_BYTES + packing * (BYTES_BESIDE_FRAGMENT + padded)
        return message * (1 + self.packet_overhead_bytes / self.packet_bytes)

    def _interval_ns(self, config: ExchangeConfig) -> float:
        """Between multi-event packets, from the demand or from the generator's rate."""
        packing, generator = config.exchange.packing, config.generator
        if self.demand_tbps is not None:
            return packing * generator.fragment_mean_bytes * self.n_nodes / (self.demand_tbps * 1e3 * GBPS)
        return packing / generator.rate_hz * 1e9 if generator.rate_hz else 0.0


def run(
    config_file: Path | None, settings: Sequence[str], options: Options, out: Path | None, console: Console, *,
    overwrite: bool = False, as_json: bool = False,
) -> int:  # fmt: skip
    """Simulates, shows, writes plan.json and plan.html. Returns the exit code; raises ConfigError and InputError."""
    config = load(config_file, settings) if config_file else load(None, ["chain=exchange", *settings])
    if not isinstance(config, ExchangeConfig):
        raise ConfigError("chain", 'must be "exchange"', config.chain, "Take configs/lhcb-exchange.toml")
    farm = options.farm(config)
    farms = list(_curve(farm, options))
    for one in farms:
        one.check()
    directory = out and run_directory.prepare(out, overwrite=overwrite)
    with plan_report.Watcher(console) as watcher:
        asked = simulate(farm, watcher.progress(farm))
        watcher.done(asked)
        others = []
        for result in simulate_all(farms, options.n_jobs or os.cpu_count() or 1):
            watcher.done(result)
            others.append(result)
    plan = Plan(asked, tuple(sorted(others, key=lambda one: (one.farm.protocol, one.farm.n_nodes))))
    directory = directory or reports.new_directory(config.run.directory, f"{config.run.name}-plan")
    page = plan_report.write(plan, directory, f"{config.run.name}, plan of {farm.n_nodes} nodes",
                             Path(config.run.directory))  # fmt: skip
    plan_report.show(plan, console)
    console.print(f"report: {page}", soft_wrap=True, highlight=False)
    if as_json:
        print((directory / "plan.json").read_text(), end="", flush=True)
    return 0 if asked.carries or not farm.mep_interval_ns else EXIT_NOT_CARRIED


def _curve(farm: Farm, options: Options) -> Iterator[Farm]:
    """Whole switches at every size, also where cables of the asked farm are cut. At full load."""
    if not options.curve:
        return
    for protocol in PROTOCOLS:
        for n_nodes in sorted({*CURVE_NODES, farm.n_nodes}):
            n_cut = farm.n_failed_links if n_nodes == farm.n_nodes else 0
            one = replace(farm.of(n_nodes, protocol), n_meps=options.n_meps(n_nodes), n_failed_links=n_cut)
            if one.n_leaves <= one.nodes_per_leaf + one.n_spines or not one.link_rate:
                yield one
