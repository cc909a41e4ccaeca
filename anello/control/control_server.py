# SPDX-License-Identifier: Apache-2.0
"""The control room: it joins runs, catalogue, sampler, alarms and web. Each directory of runs has one."""

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.tables.database import CatalogueError
from anello.configuration.base import Config
from anello.control.access.tokens import Role
from anello.control.alarms import Alarms
from anello.control.checksums import Checksums
from anello.control.process import RunProcess
from anello.control.run_controller import RunController
from anello.control.run_sampler import RunSample, RunSampler, rates_between
from anello.counters.page_copy import copy_of
from anello.errors import ConfigError
from anello.system.run_directory import CONTROL_LOCK, has_control_room

if TYPE_CHECKING:
    from anello.control.agent.agents import Agents

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class ControlOptions:
    """What the user chose."""

    host: str = "127.0.0.1"
    port: int = 0  # 0: any free port
    certificate: Path | None = None
    key: Path | None = None
    front_ends: bool = True  # False: the front ends run on other machines
    doctor: bool = False  # refuse a run while the doctor finds something bad on this machine
    agents: str = ""  # where agents connect; empty: farms are on this machine
    keys: Path | None = None  # the keys of the farm


class ControlServer:
    """Serves the control room as long as its context lasts. Raises ConfigError, OSError, CatalogueError."""

    def __init__(self, runs: Path, options: ControlOptions, notify: Callable[[str], None] | None = None) -> None:
        self._runs, self._options, self._notify = runs, options, notify or _to_standard_error
        self._open = ExitStack()
        self._last_kept: RunSample | None = None
        self._has_notified = False
        self.last_exit_code = 0  # of the last run that ended under this server

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            lock = opened.enter_context(sole(self._runs))
            self._catalogue = opened.enter_context(Catalogue(of_runs_in(self._runs)))
            self._checksums = opened.enter_context(Checksums(self._catalogue.files))
            check = doctor_objects if self._options.doctor else lambda _: ""
            self._agents = self._listen_to_agents(opened)
            self.room = RunController(
                self._runs, front_ends=self._options.front_ends, check=check, ended=self._ended, elsewhere=self._agents
            )
            opened.callback(self.room.close)
            self._alarms = Alarms(self._catalogue.alarms, self._notify)
            self._serve(opened, lock)
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def agents_endpoint(self) -> str:
        """Where agents connect; empty: this control room has no agents."""
        return self._agents.endpoint if self._agents else ""

    def address(self, role: Role = Role.OPERATOR, *, is_secret: bool) -> str:
        """The address to open in a browser. is_secret: only the user sees it, so that it may contain the role's
        token; the output of a service goes to a journal, which others can read."""
        if is_secret:
            return self._server.address(self._tokens.of_role(role))
        return f"{self._server.origin} (anello ctl page --directory {self._runs} prints it with its token)"

    def _listen_to_agents(self, opened: ExitStack) -> "Agents | None":
        from anello.control.agent.agents import Agents

        options = self._options
        return opened.enter_context(Agents(options.agents, options.keys)) if options.agents and options.keys else None

    def _serve(self, opened: ExitStack, lock: Path) -> None:
        from anello.control.access.tokens import Tokens
        from anello.control.web.app import create_app
        from anello.control.web.remembered import Remembered
        from anello.control.web.serve import Tls, WebServer

        options = self._options
        tls = Tls.given(options.certificate, options.key)
        self._tokens = Tokens.of(self._runs)
        sight = RunSampler(self.room.status, copy=self._agents.copy_of if self._agents else copy_of)
        sight.subscribe(self._seen)
        names = [] if tls is None else [options.host]
        agents = self._agents.as_rows if self._agents else list
        app = create_app(self.room, Remembered(self._catalogue), sight, self._tokens, names=names, agents=agents)
        self._server = WebServer(app, options.host, options.port, tls).start()
        opened.callback(self._server.stop)
        lock.write_text(json.dumps({"address": self._server.origin, "process": os.getpid()}))

    def _seen(self, look: RunSample) -> None:
        """Takes a sample, twice a second; a catalogue that fails now may work again later."""
        try:
            self._alarms.follow(self.room.config)
            self._alarms.look(look.status, look.figures)
            self._keep_history(look)
            self._has_notified = False
        except CatalogueError as error:
            if not self._has_notified:
                self._notify(f"{error}. History and alarms are not kept meanwhile")
            self._has_notified = True

    def _keep_history(self, look: RunSample) -> None:
        """Writes the history, once a second; its rates are averages over the whole second."""
        last = self._last_kept
        if last is not None and look.t_ns < last.t_ns + SECOND_NS * 9 // 10:
            return
        self._last_kept = look
        if figures := replace(look, rates=rates_between(last, look)).figures:
            self._catalogue.history.add(look.t_ns, look.status.run, figures)

    def _ended(self, process: RunProcess, exit_code: int | None) -> None:
        self.last_exit_code = 0 if exit_code is None else abs(exit_code)
        if not process.ended_in_order():
            self._catalogue.close_crashed()
        self._checksums.ask()


def doctor_objects(config: Config) -> str:
    """What the doctor finds bad, with remedies; empty: nothing."""
    from anello.doctor.checks import examine, make_subject
    from anello.doctor.finding import Grade
    from anello.host.host import Host
    from anello.host.machine import ThisMachine

    host = Host(Path("/"), ThisMachine())
    bad = [finding.what for finding in examine(host, make_subject(host, config, None)) if finding.result is Grade.BAD]
    return f"this machine is not ready: {'; '.join(bad)}. anello doctor CONFIG says what to do" if bad else ""


@contextmanager
def sole(runs: Path) -> Iterator[Path]:
    """Locks the file for the address. Raises ConfigError where another control room has the directory."""
    runs.mkdir(parents=True, exist_ok=True)
    path = runs / CONTROL_LOCK
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                "--directory",
                "must have no other control room",
                str(runs),
                f"Another one has it, at {whereabouts(runs).get('address', 'an address that it has not written yet')}",
            ) from None
        path.chmod(0o600)
        os.ftruncate(file.fileno(), 0)  # it still holds the address of a control room that was killed
        try:
            yield path
        finally:
            os.ftruncate(file.fileno(), 0)


def whereabouts(runs: Path) -> dict[str, Any]:
    """Address and process of the control room of this directory; empty: there is none."""
    try:
        found = json.loads((runs / CONTROL_LOCK).read_bytes() or b"{}") if has_control_room(runs) else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and {"address", "process"} <= found.keys() else {}


def _to_standard_error(line: str) -> None:
    print(f"anello: {line}", file=sys.stderr)
