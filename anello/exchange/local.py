# SPDX-License-Identifier: Apache-2.0
"""Several nodes on this machine, each a process of its own as on a farm, started by one command.

The parent keeps the rendezvous and notices when a child dies; node 0 shows progress and writes the report. When the
parent ends, the rendezvous ends with it, and so do the nodes.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from anello.exchange import left_behind
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.placement import n_on_the_way
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import RendezvousServer
from anello.host import topology
from anello.host.host import CannotTell, Host
from anello.host.machine import ThisMachine
from anello.system import output
from anello.system.exit_codes import INTERRUPTED, OF_A_RUN
from anello.system.interruption import Interruption
from anello.system.secret_keys import Keys

POLL_S = 0.05
STOP_TIMEOUT_S = 60.0
ENDED_IN_ORDER = (*OF_A_RUN, INTERRUPTED)  # exit codes that depend on the run and not on the node's process


@dataclass(frozen=True)
class LocalPlan:
    """The nodes to start. arguments: configuration file and --set as the user gave them. elsewhere: nodes that
    others start. keys: the farm's, where there are any."""

    config: ExchangeConfig
    arguments: Sequence[str]
    n_nodes: int
    directory: Path
    pace: Pace
    elsewhere: frozenset[int] = frozenset()
    keys: Path | None = None
    started_by: str = "one command"

    @property
    def here(self) -> list[int]:
        return [rank for rank in range(self.n_nodes) if rank not in self.elsewhere]


def run(plan: LocalPlan, interrupted: Interruption) -> int:
    """Runs the nodes. The exit code is that of node 0, or of a node that ended badly."""
    with rendezvous(plan) as server, LocalNodes(plan, server) as nodes:
        nodes.wait(interrupted)
        nodes.join_what_they_left()
        return nodes.exit_code()


@contextmanager
def rendezvous(plan: LocalPlan, *, held: bool = False) -> Iterator[RendezvousServer]:
    """A rendezvous for this user's processes only, or, where nodes are elsewhere, for all that have the farm's keys.
    held: the run starts when the server is released. Raises ConfigError, OSError."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="anello-"))  # only this user has access
        endpoint = "tcp://*:0" if plan.elsewhere else f"ipc://{folder}/rendezvous"
        keys = Keys.load(plan.keys) if plan.keys else None
        yield stack.enter_context(RendezvousServer(endpoint, plan.n_nodes, plan.pace, keys, held=held))


class LocalNodes:
    """The node processes. Use as a context: none outlives it."""

    def __init__(self, plan: LocalPlan, server: RendezvousServer) -> None:
        self._plan, self._server, self._asked = plan, server, False  # whether they were asked to end early
        self._complaints: dict[int, IO[str]] = {}
        self._children: dict[int, subprocess.Popen[str]] = {}
        self._reported: set[int] = set()
        cores = cores_of_nodes(plan.config, len(plan.here))
        for place, rank in enumerate(plan.here):
            settings = []
            if cores or len(plan.here) > 1:
                # Several nodes share the machine: if all were near one card, the other cores would be idle.
                settings = ["--set", f"threads.cores={cores[place]}" if cores else "threads.near=anywhere"]
            self._start(rank, [*plan.arguments, *settings, *_place(plan, server, rank)])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children.values():
            if child.poll() is None:
                child.kill()
            child.wait()
        for complaints in self._complaints.values():
            complaints.close()

    def _start(self, rank: int, arguments: Sequence[str]) -> None:
        complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed with the context)
        self._complaints[rank] = complaints
        # A session of its own: Ctrl-C reaches only the parent, which then stops the run in good order.
        self._children[rank] = subprocess.Popen(
            [sys.executable, "-m", "anello", "exchange", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=None if rank == 0 else subprocess.DEVNULL,
            stderr=complaints,
            text=True,
            start_new_session=True,
        )

    @property
    def processes(self) -> dict[int, int]:
        """The process numbers by node."""
        return {rank: child.pid for rank, child in self._children.items()}

    @property
    def gone(self) -> dict[int, str]:
        """The nodes that have ended, with the reason; an empty reason: in order."""
        codes = {rank: child.poll() for rank, child in self._children.items()}
        ended = {rank: code for rank, code in codes.items() if code is not None}
        return {rank: "" if code in ENDED_IN_ORDER else self._why(rank, code) for rank, code in ended.items()}

    def wait(self, interrupted: Interruption) -> None:
        """Waits until all have ended. A second Ctrl-C is a KeyboardInterrupt, which ends them at once."""
        left_s = STOP_TIMEOUT_S
        while self.any_runs:
            if interrupted.is_set():
                self.ask_for_the_end()
            self.report_deaths()
            interrupted.nap(POLL_S)
            left_s -= POLL_S if self._leader.poll() is not None else 0
            if left_s <= 0:
                return

    @property
    def _leader(self) -> "subprocess.Popen[str]":
        """The leading node: the first, or if that died, the first of those still alive, according to the rendezvous'
        rule."""
        living = (child for _, child in sorted(self._children.items()) if child.poll() in (None, *ENDED_IN_ORDER))
        return next(living, self._children[0])

    @property
    def any_runs(self) -> bool:
        return any(child.poll() is None for child in self._children.values())

    def ask_for_the_end(self) -> None:
        """Asks for the end of the run, in order."""
        if not self._asked:
            self._leader.send_signal(signal.SIGINT)
            self._asked = True

    def report_deaths(self) -> None:
        """Reports deaths to the rendezvous that it does not know of yet."""
        for rank, why in self.gone.items():
            if why and rank not in self._reported:
                self._reported.add(rank)
                self._server.report_dead(rank, why)

    def _why(self, rank: int, code: int) -> str:
        if code < 0:
            return f"killed by signal {-code}"
        return self._last_words(rank) or f"it ended with exit code {code}"

    def _last_words(self, rank: int) -> str:
        self._complaints[rank].seek(0)
        lines = self._complaints[rank].read().strip().splitlines()
        return lines[-1].removeprefix("anello: ") if lines else ""

    def join_what_they_left(self) -> None:
        """Joins the nodes' records if the leader died, since it then did not collect them."""
        codes = {rank: child.poll() for rank, child in self._children.items()}
        written = self._plan.directory / "report.html"
        # another node wrote the report, and its message was not seen
        if written.exists() and self._leader is not self._children[0]:
            output.console().print(f"report: {written}", soft_wrap=True, highlight=False)
        if codes[0] == 0 or (self._plan.directory / "summary.json").exists():
            return
        died = {rank: self._why(rank, code) for rank, code in codes.items() if code is not None and code < 0}
        record = left_behind.join(self._plan.directory, self._plan.config, self._plan.n_nodes, died)
        if record:
            left_behind.report_joined(record, self._plan.directory, output.console())

    def exit_code(self) -> int:
        """The exit code of node 0, or of the leader if node 0 was killed. Error messages of nodes go to standard
        error, each line once, since many nodes may print the same."""
        codes = {rank: child.poll() for rank, child in self._children.items()}
        first = codes[0]
        if self._asked and first in (0, INTERRUPTED):
            return first
        said: dict[str, int] = {}
        for rank, code in codes.items():
            if code not in ENDED_IN_ORDER:
                why = self._why(rank, code) if code is not None else f"it did not end in {STOP_TIMEOUT_S:g} s"
                said.setdefault(why, rank)
        names = len(said) > 1 or self._leader is not self._children[0]
        for why, rank in said.items():
            print(f"anello: {f'node {rank}: ' if names else ''}{why}", file=sys.stderr)
        if first is None or first >= 0:
            return 1 if first is None else first
        return max(self._leader.poll() or 1, 1)  # a run with a killed node is never without loss


def _place(plan: LocalPlan, server: RendezvousServer, rank: int) -> list[str]:
    keys = ["--keys", str(plan.keys)] if plan.keys else []
    # fmt: off
    return [
        "--rendezvous", server.own_endpoint, "--no-serve",
        "--rank", str(rank), "--nodes", str(plan.n_nodes), *keys,
        "--report-dir", str(plan.directory),
        "--timeout", f"{plan.pace.timeout_s:g}",
        "--started-by", plan.started_by,
    ]
    # fmt: on


def cores_of_nodes(config: ExchangeConfig, n_nodes: int) -> list[list[int]]:
    """The cores of each node's threads, neighbouring ones for one node. Empty lists where the cores do not suffice
    or the user has chosen: the kernel then places threads better. Also empty where cores suffice for the chains
    before the exchange, too: nodes then choose by themselves."""
    n_threads = len(config.threads.layout)
    try:
        host = Host(Path("/"), ThisMachine())
        cores = topology.read(host).in_order_of_use(frozenset(os.sched_getaffinity(0)))
    except (CannotTell, OSError):
        return []
    if config.threads.cores or len(cores) < n_nodes * n_threads:
        return []
    if config.of_chain and len(cores) > n_nodes * n_on_the_way(config):
        return []
    return [cores[node * n_threads : (node + 1) * n_threads] for node in range(n_nodes)]
