# SPDX-License-Identifier: Apache-2.0
"""Starts and stops one run after another, and records how each of them ended."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from anello.account.run_state import RunState
from anello.configuration.base import Config
from anello.configuration.origin import Origin, node_page
from anello.control.managed import NoAnswerError
from anello.control.operator import NotDoneError, Status
from anello.control.process import CONSOLE, RunOrder, RunProcess
from anello.control.remote_nodes import FarmOrder, NoRemoteNodes, RemoteNodes
from anello.control.states import State, Step, WrongStateError, after
from anello.counters.farm_copy import FarmNode
from anello.report import report
from anello.run.source_process import counter_page
from anello.system.machines import HERE

ARM_TIMEOUT_S = 120.0
START_TIMEOUT_S = 10.0
AGENTS_COME_S = 5.0
ABORT_TIMEOUT_S = 20.0

Check = Callable[[Config], str]  # returns the objections to a run; empty: none
Ended = Callable[[RunProcess, int | None], None]


def no_objection(_: Config) -> str:
    return ""


class RunController:
    """An Operator. runs: the directory that holds the runs' directories. front_ends: they run on this machine, too.
    ended: called at each run's end, with its exit code where that is known. elsewhere: machines of farms."""

    def __init__(
        self,
        runs: Path,
        *,
        front_ends: bool = True,
        check: Check = no_objection,
        ended: Ended = lambda *_: None,
        processes: type[RunProcess] = RunProcess,
        now_ns: Callable[[], int] = time.time_ns,
        elsewhere: RemoteNodes | None = None,
    ) -> None:
        self._runs, self._front_ends, self._check, self._ended = runs.resolve(), front_ends, check, ended
        self._processes, self._now_ns, self._elsewhere = processes, now_ns, elsewhere or NoRemoteNodes()
        self._ordering = threading.Lock()  # held during an order: one at a time
        self._changing = threading.RLock()  # protects status and process
        self._status = Status(State.OFFLINE, now_ns())
        self._config: Config | None = None
        self._process: RunProcess | None = None
        self._reported_dead: set[int] = set()  # nodes elsewhere whose death the run's process knows
        self._give_up = threading.Event()  # cancels arming, which takes long
        self._closing = threading.Event()
        self._news = threading.Event()  # wakes the watcher: there is a process, or the watcher is to end
        self._attach()
        self._watcher = threading.Thread(target=self._watch, daemon=True, name="runs")
        self._watcher.start()

    def close(self) -> None:
        """Ends the controller; the run continues."""
        self._closing.set()
        self._news.set()
        self._watcher.join()
        if self._process:
            self._process.close()
            self._process = None

    @property
    def config(self) -> Config | None:
        """The configuration in force."""
        return self._config

    # --- Orders
    def status(self) -> Status:
        with self._changing:
            return self._status

    def configure(self, config_file: Path, settings: Sequence[str] = ()) -> None:
        from anello.configuration.load import load

        with self._ordered(Step.CONFIGURE):
            config = load(config_file, [*settings, f"run.directory={self._runs}"])
            self._config = config
            self._go(
                Step.CONFIGURE,
                config_file=str(config_file),
                settings=tuple(settings),
                chain=config.chain,
                name=config.run.name,
                config_digest=Origin.of(config).config_digest,
            )

    def arm(self) -> None:
        with self._ordered(Step.ARM):
            self._give_up.clear()
            assert self._config is not None
            if objection := self._check(self._config) or self._who_stays_away():
                raise NotDoneError(objection)
            process = self._start_process()
            self._start_elsewhere(process)
            if not process.wait_until(("ready",), ARM_TIMEOUT_S, self._give_up.is_set):
                if self._give_up.is_set():
                    self._end(process)
                    return
                self._refuse(process, "did not become ready")
            self._take_over(process)
            self._go(Step.ARM)

    def start(self) -> None:
        with self._ordered(Step.START):
            process = self._led()
            self._order(process, "start")
            if not process.wait_until(("running", "draining"), START_TIMEOUT_S) and not process.wait_ended(0):
                self._refuse(process, "did not start")
            self._go(Step.START)

    def stop(self) -> None:
        with self._ordered(Step.STOP):
            self._order(self._led(), "stop")
            with self._changing:
                if self._status.state is State.RUNNING:  # otherwise the watcher has already seen it drain
                    self._go(Step.STOP)

    def abort(self) -> None:
        if self.status().busy == Step.ARM:  # arming takes long; it then ends without a run
            self._give_up.set()
            return
        with self._ordered(Step.ABORT):
            process = self._led()
            self._order(process, "abort")
            process.wait_ended(ABORT_TIMEOUT_S)
            self._end(process)
            self._go(Step.ABORT)

    def reset(self) -> None:
        with self._ordered(Step.RESET):
            self._config = None
            with self._changing:
                self._status = Status(after(self._status.state, Step.RESET), self._now_ns(), run=self._status.run)

    # --- How an order is carried out
    @contextmanager
    def _ordered(self, step: Step) -> Iterator[None]:
        """Carries out an order. Raises WrongStateError; where the order fails, the state becomes ERROR."""
        with self._ordering:
            state = self.status().state
            after(state, step)
            with self._changing:
                self._status = replace(self._status, busy=step.value)
            try:
                yield
            except NotDoneError as error:
                self._fail(str(error))
                raise
            finally:
                with self._changing:
                    self._status = replace(self._status, busy="")

    def _go(self, step: Step, **changed: object) -> None:
        with self._changing:
            state = after(self._status.state, step)
            self._status = replace(self._status, state=state, since_ns=self._now_ns(), cause="", **changed)  # type: ignore[arg-type]

    def _fail(self, cause: str) -> None:
        with self._changing:
            self._go(Step.FAIL)
            self._status = replace(self._status, cause=cause)

    def _start_process(self) -> RunProcess:
        status, config = self.status(), self._config
        assert config is not None
        order = RunOrder(
            status.config_file,
            status.settings,
            self._front_ends,
            status.chain,
            status.name,
            status.config_digest,
            bool(config.machines),
            str(self._elsewhere.keys or ""),
        )
        try:
            directory = report.new_directory(str(self._runs), config.run.name)
            return self._processes.start(order, directory)
        except OSError as error:
            raise NotDoneError(f"the run could not be started: {error.strerror or error}: {error.filename}") from error

    def _who_stays_away(self) -> str:
        """The machines that are missing, after a wait: agents need a moment to find a control room that has just
        started."""
        deadline = time.monotonic() + AGENTS_COME_S
        while (missing := self._who_is_missing()) and time.monotonic() < deadline:
            if self._give_up.wait(0.1):
                break
        return missing

    def _who_is_missing(self) -> str:
        """Why a farm cannot be started; empty: all machines are there."""
        assert self._config is not None
        present = set(self._elsewhere.machines())
        missing = sorted({name for name in self._config.machines if name != HERE} - present)
        if not missing:
            return ""
        there = f"there are {', '.join(sorted(present))}" if present else "there is none"
        remedy = "start anello agent on each machine, or change farm.nodes"
        return f"there is no agent called {' or '.join(missing)}; {there}: {remedy}"

    def _start_elsewhere(self, process: RunProcess) -> None:
        """Starts the nodes of a farm that are on other machines."""
        config = self._config
        assert config is not None
        nodes = {node: machine for node, machine in enumerate(config.machines) if machine != HERE}
        if not nodes:
            return
        port = process.wait_to_know("rendezvous", START_TIMEOUT_S, self._give_up.is_set)
        if port is not None:  # otherwise the run has ended, which the watcher notices next
            self._elsewhere.start(FarmOrder(process.directory.name, config, nodes, int(port)))

    def _refuse(self, process: RunProcess, what: str) -> None:
        """Records the end of the process and raises NotDoneError with its last words."""
        words = process.last_words()
        self._end(process)
        raise NotDoneError(f"the run {what}: {words or 'it said nothing'}; see {process.directory / CONSOLE}")

    def _order(self, process: RunProcess, word: str) -> None:
        try:
            process.answer(word)
        except ValueError as error:
            raise NotDoneError(f"the run refused to {word}: {error}") from error
        except NoAnswerError:
            if not process.wait_ended(1.0):  # otherwise the run has just ended, and the watcher reports how
                raise NotDoneError(f"the run does not answer, so the order to {word} has failed") from None

    # --- The run's process
    def _led(self) -> RunProcess:
        with self._changing:
            if self._process is None:  # it ended a moment ago
                raise WrongStateError(self._status.state, Step.STOP)
            return self._process

    def _take_over(self, process: RunProcess) -> None:
        facts = process.answer()
        with self._changing:
            self._process = process
            self._reported_dead.clear()
            self._news.set()
            self._status = replace(
                self._status,
                run=facts.get("run"),
                directory=str(process.directory),
                node_page=_page(int(facts.get("nodes", {}).get("0", process.process))),
                source_page=counter_page(facts["front_ends"]).removeprefix("/") if "front_ends" in facts else "",
                members=self._members(process, facts),
            )

    def _end(self, process: RunProcess) -> None:
        process.kill()  # does nothing if the run has ended by itself
        self._let_go(process)

    def _let_go(self, process: RunProcess) -> None:
        with self._changing:
            self._process = None
            self._status = replace(self._status, node_page="", source_page="", members=())
        self._elsewhere.end(process.directory.name)
        code = process.exit_code()
        process.close()
        self._ended(process, code)

    def _attach(self) -> None:
        """Takes over a run that an earlier control process has started and that still runs."""
        from anello.configuration.load import load

        process = self._processes.find(self._runs)
        if process is None:
            return
        order = process.order
        config = load(Path(order.config_file), [*order.settings, f"run.directory={self._runs}"])
        self._config = config
        self._status = replace(
            self._status,
            state=State.with_run(RunState(process.answer()["state"])),
            name=order.name,
            config_file=order.config_file,
            settings=order.settings,
            chain=order.chain,
            config_digest=order.config_digest,
        )
        self._take_over(process)

    # --- The watcher's thread -----------------------------------------------------------------------------------------
    def _watch(self) -> None:
        while not self._closing.is_set():
            self._news.clear()
            with self._changing:
                process = self._process
            if process is None:
                self._news.wait(0 if self._closing.is_set() else None)
            elif process.wait_ended(0.1):
                self._settle(process)
            else:
                self._follow(process)

    def _follow(self, process: RunProcess) -> None:
        """Follows the state of a run, which may end by itself."""
        try:
            facts = process.answer()
            self._report_deaths(process)
        except (NoAnswerError, ValueError):
            return  # the run ends, or its leading thread is delayed
        with self._changing:
            if self._process is not process:
                return
            if (members := self._members(process, facts)) != self._status.members:
                self._status = replace(self._status, members=members)
            if facts["state"] == "draining" and self._status.state is State.RUNNING:
                self._go(Step.DRAIN)

    def _members(self, process: RunProcess, facts: Mapping[str, Any]) -> tuple[FarmNode, ...]:
        """The nodes of a farm, as far as they are known."""
        gone = {int(node): str(why) for node, why in facts.get("gone", {}).items()}
        here = [
            FarmNode(
                node,
                HERE,
                _page(int(number)),
                "" if node not in gone else "gone" if gone[node] else "ended",
                gone.get(node, ""),
            )
            for node, number in ((int(node), number) for node, number in facts.get("nodes", {}).items())
        ]
        return tuple(sorted((*here, *self._others(process)), key=lambda member: member.rank)) if here else ()

    def _others(self, process: RunProcess) -> list[FarmNode]:
        """The nodes on other machines, also of those whose agent does not answer."""
        members = list(self._elsewhere.members(process.directory.name))
        known = {member.rank for member in members}
        machines = enumerate(self._config.machines if self._config else ())
        return members + [
            FarmNode(node, machine, cause=f"no agent {machine} answers")
            for node, machine in machines
            if machine != HERE and node not in known
        ]

    def _report_deaths(self, process: RunProcess) -> None:
        """Tells the run's process which nodes on other machines have died: it sees only the ends of nodes on this
        machine."""
        for member in self._elsewhere.members(process.directory.name):
            if member.state == "gone" and member.rank not in self._reported_dead:
                self._reported_dead.add(member.rank)
                process.answer("dead", node=member.rank, why=member.cause)

    def _settle(self, process: RunProcess) -> None:
        """Records the end of a process, once: an order may have seen its end, too."""
        with self._ordering, self._changing:
            if self._process is not process:
                return
            code, words = process.exit_code(), process.last_words()
            in_order, state = process.ended_in_order(), self._status.state
            self._let_go(process)
            if state is State.RUNNING:
                self._go(Step.DRAIN)
            if in_order:
                self._go(Step.END if state is not State.READY else Step.ABORT)
            else:
                self._fail(f"the run's process {_end_in_words(code)}: {words}")


def _page(process: int) -> str:
    return node_page(process).removeprefix("/")


def _end_in_words(code: int | None) -> str:
    if code is None:
        return "vanished"
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
