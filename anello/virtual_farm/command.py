# SPDX-License-Identifier: Apache-2.0
"""`anello simulate`: many farms, or many of a detector's chains, in virtual time, one for each seed; each run is judged
by its outcome.

A run depends only on its configuration and its seed, so a run that is not explained is reported as a command that
repeats it, with as few other settings as possible.
"""

import itertools
import json
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from anello import registry
from anello.configuration.base import Config
from anello.configuration.load import load
from anello.engine import _engine, compiled_part
from anello.errors import ConfigError, engine_errors
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.configuration.roles import IN_SHORT, LEAST_WITH_STANDBY
from anello.system import output
from anello.system.exit_codes import BAD_NEWS
from anello.virtual_farm import swarm, timeline
from anello.virtual_farm.books import VirtualChain
from anello.virtual_farm.worlds import Chains, Farms, World

SEEDS_PER_CALL = 64
FARM = "exchange"
MOST_SHOWN = 5  # failing seeds, reduced and shown; the JSON has all


@dataclass(frozen=True)
class Drawn:
    """The settings from which farms, or chains, are drawn."""

    config_file: Path | None
    settings: tuple[str, ...]
    world: tuple[str, ...]
    faults: str
    max_faults: int
    max_nodes: int
    chain: str = ""  # of a detector; empty: the configuration's, or farms

    def worlds(self) -> World:
        """What is simulated. Raises ConfigError and InputError."""
        config = self._config()
        chain = self.chain or (config.chain if config else FARM)
        return Farms(self.engine()) if chain == FARM else self._chains(chain, config)

    def _chains(self, chain: str, config: Config | None) -> Chains:
        known = [name for name in registry.names() if registry.registration(name).virtual]
        if chain not in known:
            raise ConfigError(
                "chain",
                f"must be {FARM}, or one of {', '.join(known)}, to be simulated",
                chain,
                "Give a configuration of one of them, or --chain",
            )
        virtual: VirtualChain = registry.part(chain, "virtual")
        decided = [f"{name}={value}" for name, value in virtual.settings(config).items()] if config else []
        kinds = self._kinds(_engine.chain_trouble_kinds())
        with engine_errors():
            without: list[str] = _engine.chain_troubles_only(kinds)
            return Chains(compiled_part(f"anello.{chain}"), virtual, [*without, *decided, *self.world])

    def engine(self) -> Any:
        """The engine's object that draws. Raises ConfigError and InputError."""
        with engine_errors():
            kinds = self._kinds(_engine.farm_fault_kinds())
            return _engine.FarmDraw(kinds, self.max_nodes, self.max_faults, [*self._of_config(), *self.world])

    def options(self) -> list[str]:
        """The same settings as options of the command line."""
        words = [str(self.config_file)] if self.config_file else []
        if self.chain:
            words += ["--chain", self.chain]
        for name, values in (("--set", self.settings), ("--world", self.world)):
            words += itertools.chain.from_iterable((name, value) for value in values)
        if self.faults != "all":
            words += ["--faults", self.faults]
        if self.max_faults != Drawn.usual().max_faults:
            words += ["--max-faults", str(self.max_faults)]
        if self.max_nodes != Drawn.usual().max_nodes:
            words += ["--nodes", str(self.max_nodes)]
        return words

    @classmethod
    def usual(cls) -> "Drawn":
        return cls(None, (), (), "all", 4, 5)

    def _kinds(self, known: list[str]) -> list[str]:
        if self.faults in ("all", "none"):
            return known if self.faults == "all" else []
        return self.faults.split(",")

    def _config(self) -> Config | None:
        """The configuration; None: none is given. Raises ConfigError where it is of another chain than requested."""
        if not self.config_file and not self.settings:
            return None
        settings = list(self.settings)
        if not self.config_file and not any(one.startswith("chain=") for one in settings):
            settings.insert(0, f"chain={self.chain or FARM}")
        config = load(self.config_file, settings)
        if self.chain and config.chain != self.chain:
            raise ConfigError(
                "--chain", "must be the configuration's", self.chain, f"It is of the chain {config.chain}"
            )
        return config

    def _of_config(self) -> Iterator[str]:
        """The settings of a farm from the configuration, under the engine's names."""
        config = self._config()
        if not isinstance(config, ExchangeConfig):
            return
        exchange, generator = config.exchange, config.generator
        if exchange.roles != ["all"]:
            in_short = tuple(exchange.roles) in IN_SHORT
            yield f"n_nodes={LEAST_WITH_STANDBY if in_short else len(exchange.roles)}"
            yield f"roles={','.join(exchange.roles)}"
        if exchange.n_meps:
            yield f"n_meps={exchange.n_meps}"
        yield f"protocol={exchange.protocol}"
        yield f"steps_ahead={exchange.steps_ahead}"
        yield f"packing={exchange.packing}"
        yield f"n_credits={exchange.credits}"
        yield f"n_buffers={generator.n_buffers}"
        yield f"rate_hz={generator.rate_hz}"
        yield f"fragment_bytes={round(generator.fragment_mean_bytes)}"
        yield f"when_full={generator.when_full}"
        yield f"timeout_ns={round(exchange.timeout_ms * 1e6)}"
        yield f"peer_timeout_ns={round(exchange.peer_timeout_ms * 1e6)}"
        yield f"heartbeat_ns={round(exchange.peer_timeout_ms * 1e6 / 5)}"


@dataclass(frozen=True)
class Options:
    n_seeds: int
    minutes: float
    first: int | None
    n_jobs: int
    all_ledgers: bool = False


@dataclass
class FarmSums:
    """Sums over all runs."""

    first: int
    sums: Counter[str] = field(default_factory=Counter)
    wall_s: float = 0
    failed: list[int] = field(default_factory=list)
    crashed: list[int] = field(default_factory=list)  # seeds whose process crashed

    def add(self, sums: dict[str, Any]) -> None:
        self.failed += sums["failed"]
        self.crashed += sums["crashed"]
        self.sums.update({name: value for name, value in sums.items() if name not in ("failed", "crashed", "digest")})

    def words(self) -> str:
        return f"{self.sums['runs']:,} runs, {len(self.failed)} not explained"

    def line(self, world: World) -> str:
        explained = "all explained" if not self.failed else f"{len(self.failed)} NOT explained"
        virtual_s = float(self.sums["virtual_s"])
        times = f"{virtual_s:,.0f} s of virtual time in {self.wall_s:,.1f} s"
        return f"{world.words(self.sums).format(explained)}, {times}"

    def as_json(self) -> dict[str, Any]:
        return {"first": self.first, **self.sums, "wall_s": self.wall_s, "failed": self.failed, "crashed": self.crashed}


# --- Search -----------------------------------------------------------------------------------------------------------
def search(drawn: Drawn, order: Options, console: Console, *, as_json: bool = False) -> int:
    """Runs all seeds, and shows those that are not explained; after Ctrl-C, those judged so far. Returns the exit
    code; raises ConfigError and InputError."""
    world = drawn.worlds()
    first = time.time_ns() // 1_000_000 % 10**12 if order.first is None else order.first
    console.print(f"seeds from {first}", highlight=False)
    with engine_errors():
        found = _swarm(world, first, order)
    console.print(found.line(world), highlight=False, soft_wrap=True)
    shown = [
        _seed_report(drawn, world, seed, crashes=seed in found.crashed) for seed in sorted(found.failed)[:MOST_SHOWN]
    ]
    for seed_report in shown:
        console.print(
            f"[red]seed {seed_report['seed']}[/red]: {seed_report['findings'][0]}", highlight=False, soft_wrap=True
        )
        console.print(f"  shown by: {seed_report['command']}", highlight=False, soft_wrap=True)
    if as_json:
        print(json.dumps(found.as_json() | {"shown": shown}, indent=1))
    return BAD_NEWS if found.failed else 0


def _swarm(world: World, first: int, order: Options) -> FarmSums:
    found = FarmSums(first)
    begun_s = time.monotonic()
    n_jobs = order.n_jobs or swarm.default_jobs()
    with output.console(stderr=True).status("") as status:

        def hear() -> None:
            status.update(f"{found.words()} ({_how_far(found, order, begun_s)})")

        calls = _calls(first, order, begun_s)
        try:
            for sums in swarm.Swarm(world, n_jobs, all_ledgers=order.all_ledgers).run(calls, hear):
                found.add(sums)
        except KeyboardInterrupt:
            if not found.sums["runs"]:
                raise
    found.wall_s = time.monotonic() - begun_s
    return found


def _how_far(found: FarmSums, order: Options, begun_s: float) -> str:
    if order.minutes:
        return f"{(time.monotonic() - begun_s) / 60:.1f} of {order.minutes:g} minutes"
    return f"of {order.n_seeds:,}"


def _calls(first: int, order: Options, begun_s: float) -> Iterator[tuple[int, int]]:
    """First seed and number of seeds of each call; at least one call, however little time there is."""
    if order.minutes:
        yield first, SEEDS_PER_CALL
        while time.monotonic() - begun_s < order.minutes * 60:
            first += SEEDS_PER_CALL
            yield first, SEEDS_PER_CALL
        return
    for done in range(0, order.n_seeds, SEEDS_PER_CALL):
        yield first + done, min(SEEDS_PER_CALL, order.n_seeds - done)


def _seed_report(drawn: Drawn, world: World, seed: int, *, crashes: bool) -> dict[str, Any]:
    if crashes:  # end by the same signal, as this process would have
        return {
            "seed": seed,
            "changes": [],
            "findings": [swarm.CRASHED],
            "faults": [],
            "command": command_of(drawn, seed, []),
        }
    with engine_errors():
        changes = world.reduced(seed)
        run = world.replayed(seed, changes, 0)
    return {
        "seed": seed,
        "changes": changes,
        "findings": run["findings"],
        "faults": run["faults"],
        "command": command_of(drawn, seed, changes),
    }


def command_of(drawn: Drawn, seed: int, changes: Sequence[str]) -> str:
    words = ["anello", "simulate", *drawn.options(), "--replay", str(seed)]
    words += itertools.chain.from_iterable(("--change", one) for one in changes)
    return shlex.join(words)


# --- Replay -----------------------------------------------------------------------------------------------------------
def replay(
    drawn: Drawn, seed: int, changes: Sequence[str], page: Path | None, console: Console, *, as_json: bool = False
) -> int:
    """Repeats one run, and shows what happened in it. Returns the exit code; raises ConfigError and InputError."""
    with engine_errors():
        run = drawn.worlds().replayed(seed, changes, timeline.MOST_MESSAGES)
    console.print(f"seed {seed}: {run['scenario']}", highlight=False, soft_wrap=True)
    for fault in run["faults"]:
        console.print(f"  {fault}", highlight=False, soft_wrap=True)
    for at_ns, lane, text in timeline.events_of(run["trace"]):
        console.print(f"{at_ns * 1e-6:12.3f} ms  {run['lanes'][lane]}  {text}", highlight=False, soft_wrap=True)
    for finding in run["findings"]:
        console.print(f"[red]{finding}[/red]", highlight=False, soft_wrap=True)
    if not run["findings"]:
        console.print("all is explained", highlight=False)
    if page:
        timeline.write(page, seed, run)
        console.print(f"timeline: {page}", highlight=False, soft_wrap=True)
    if as_json:
        print(json.dumps(run | {"seed": seed}, indent=1))
    return BAD_NEWS if run["findings"] else 0
