# SPDX-License-Identifier: Apache-2.0
"""`anello simulate`: a swarm of farms in virtual time, one for each seed, judged by what came out of them.

A run is a function of its configuration and its seed, so a run that is not explained is told by a command that shows it
again, with as little around it as it takes.
"""

import itertools
import json
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from anello import output
from anello.config import load
from anello.engine import _engine
from anello.errors import ConfigError, engine_errors
from anello.exchange.config import ExchangeConfig
from anello.exchange.roles import IN_SHORT, LEAST_WITH_STANDBY
from anello.exit_codes import BAD_NEWS
from anello.virtual_farm import books, swarm, timeline

SEEDS_PER_CALL = 64
MOST_SHOWN = 5  # failing seeds, reduced and told; all are in the JSON


@dataclass(frozen=True)
class Drawn:
    """What farms are drawn from."""

    config_file: Path | None
    settings: tuple[str, ...]
    world: tuple[str, ...]
    faults: str
    max_faults: int
    max_nodes: int

    def engine(self) -> Any:
        """Raises ConfigError and InputError."""
        with engine_errors():
            return _engine.FarmDraw(self._kinds(), self.max_nodes, self.max_faults, [*self._of_config(), *self.world])

    def options(self) -> list[str]:
        """As on the command line."""
        words = [str(self.config_file)] if self.config_file else []
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

    def _kinds(self) -> list[str]:
        known: list[str] = _engine.farm_fault_kinds()
        if self.faults in ("all", "none"):
            return known if self.faults == "all" else []
        return self.faults.split(",")

    def _of_config(self) -> Iterator[str]:
        """What a configuration decides of a farm, as the engine's names of it."""
        if not self.config_file and not self.settings:
            return
        config = load(self.config_file, list(self.settings) if self.config_file else ["chain=exchange", *self.settings])
        if not isinstance(config, ExchangeConfig):
            raise ConfigError("chain", 'must be "exchange"', config.chain, "Take configs/lhcb-exchange.toml")
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
class Order:
    n_seeds: int
    minutes: float
    first: int | None
    n_jobs: int
    all_ledgers: bool = False


@dataclass
class Found:
    """Sums over all runs."""

    first: int
    runs: int = 0
    ledgers: int = 0
    faults: int = 0
    built: int = 0
    incomplete: int = 0
    fragments: int = 0
    events: int = 0
    virtual_s: float = 0
    wall_s: float = 0
    failed: list[int] = field(default_factory=list)
    crashed: list[int] = field(default_factory=list)  # of those

    def add(self, told: dict[str, Any]) -> None:
        for name in ("runs", "ledgers", "faults", "built", "incomplete", "fragments", "events", "virtual_s"):
            setattr(self, name, getattr(self, name) + told.get(name, 0))
        self.failed += told["failed"]
        self.crashed += told["crashed"]

    def words(self) -> str:
        return f"{self.runs:,} farms, {len(self.failed)} not explained"

    def line(self) -> str:
        explained = "all explained" if not self.failed else f"{len(self.failed)} NOT explained"
        return (
            f"{self.runs:,} farms with {self.faults:,} faults, {explained}, {self.ledgers:,} also by their ledger: "
            f"{self.built:,} multi-event packets "
            f"({self.incomplete:,} incomplete), {self.fragments:,} fragments, {self.virtual_s:,.0f} s of virtual "
            f"time in {self.wall_s:,.1f} s"
        )


# --- Search -----------------------------------------------------------------------------------------------------------
def search(drawn: Drawn, order: Order, console: Console, *, as_json: bool = False) -> int:
    """Runs the swarm, tells what is not explained. Returns the exit code; raises ConfigError and InputError."""
    farms = drawn.engine()
    first = time.time_ns() // 1_000_000 % 10**12 if order.first is None else order.first
    console.print(f"seeds from {first}", highlight=False)
    with engine_errors():
        found = _swarm(farms, first, order)
    console.print(found.line(), highlight=False, soft_wrap=True)
    shown = [_told(drawn, farms, seed, crashes=seed in found.crashed) for seed in sorted(found.failed)[:MOST_SHOWN]]
    for told in shown:
        console.print(f"[red]seed {told['seed']}[/red]: {told['findings'][0]}", highlight=False, soft_wrap=True)
        console.print(f"  shown by: {told['command']}", highlight=False, soft_wrap=True)
    if as_json:
        print(json.dumps(vars(found) | {"shown": shown}, indent=1))
    return BAD_NEWS if found.failed else 0


def _swarm(farms: Any, first: int, order: Order) -> Found:
    found = Found(first)
    begun_s = time.monotonic()
    n_jobs = order.n_jobs or swarm.default_jobs()
    with output.console(stderr=True).status("") as status:

        def hear() -> None:
            status.update(f"{found.words()} ({_how_far(found, order, begun_s)})")

        calls = _calls(first, order, begun_s)
        for told in swarm.Swarm(farms, n_jobs, all_ledgers=order.all_ledgers).run(calls, hear):
            found.add(told)
    found.wall_s = time.monotonic() - begun_s
    return found


def _how_far(found: Found, order: Order, begun_s: float) -> str:
    if order.minutes:
        return f"{(time.monotonic() - begun_s) / 60:.1f} of {order.minutes:g} minutes"
    return f"of {order.n_seeds:,}"


def _calls(first: int, order: Order, begun_s: float) -> Iterator[tuple[int, int]]:
    """First seed and number of each call."""
    if order.minutes:
        while time.monotonic() - begun_s < order.minutes * 60:
            yield first, SEEDS_PER_CALL
            first += SEEDS_PER_CALL
        return
    for done in range(0, order.n_seeds, SEEDS_PER_CALL):
        yield first + done, min(SEEDS_PER_CALL, order.n_seeds - done)


def _told(drawn: Drawn, farms: Any, seed: int, *, crashes: bool) -> dict[str, Any]:
    if crashes:  # as this process would
        return {"seed": seed, "changes": [], "findings": [swarm.CRASHED], "faults": [],
                "command": command_of(drawn, seed, [])}  # fmt: skip
    changes: list[str] = farms.reduce(seed)
    run = _replayed(farms, seed, changes, 0)
    return {"seed": seed, "changes": changes, "findings": run["findings"], "faults": run["faults"],
            "command": command_of(drawn, seed, changes)}  # fmt: skip


def _replayed(farms: Any, seed: int, changes: list[str], max_messages: int) -> dict[str, Any]:
    """What the oracle finds, and the ledger."""
    run: dict[str, Any] = farms.replay(seed, changes, max_messages)
    return run | {"findings": run["findings"] + books.what_is_off(farms.books(seed, changes))}


def command_of(drawn: Drawn, seed: int, changes: Sequence[str]) -> str:
    words = ["anello", "simulate", *drawn.options(), "--replay", str(seed)]
    words += itertools.chain.from_iterable(("--change", one) for one in changes)
    return shlex.join(words)


# --- Replay -----------------------------------------------------------------------------------------------------------
def replay(
    drawn: Drawn, seed: int, changes: Sequence[str], page: Path | None, console: Console, *, as_json: bool = False
) -> int:
    """Runs one farm, and tells what happened. Returns the exit code; raises ConfigError and InputError."""
    with engine_errors():
        run = _replayed(drawn.engine(), seed, list(changes), timeline.MOST_MESSAGES)
    console.print(f"seed {seed}: {run['scenario']}", highlight=False, soft_wrap=True)
    for fault in run["faults"]:
        console.print(f"  {fault}", highlight=False, soft_wrap=True)
    for at_ns, node, text in timeline.told(run["trace"]):
        console.print(f"{at_ns * 1e-6:12.3f} ms  node {node}  {text}", highlight=False, soft_wrap=True)
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
