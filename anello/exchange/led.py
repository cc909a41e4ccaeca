# SPDX-License-Identifier: Apache-2.0
"""A farm's run under the control room: nodes of this machine are started here, nodes elsewhere by agents. All meet
at a rendezvous, wait there for the start, and are ended from here."""

import sys
from pathlib import Path

from anello.account.run_state import RunState
from anello.configuration.origin import node_page
from anello.counters import pages
from anello.errors import ConfigError, EngineMissingError
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.local import POLL_S, LocalNodes, LocalPlan, rendezvous
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import RendezvousServer
from anello.run.run_control import RunControl
from anello.system.exit_codes import FAILED
from anello.system.interruption import Interruption
from anello.system.machines import HERE

NOT_WANTED = "the run was ended before it began"
ABORTED = "the run was aborted"


def elsewhere(config: ExchangeConfig) -> frozenset[int]:
    """The nodes that are on other machines."""
    return frozenset(rank for rank, machine in enumerate(config.farm.nodes) if machine != HERE)


def plan_of(
    config: ExchangeConfig, arguments: list[str], directory: Path, *, timeout_s: float, keys: Path | None
) -> LocalPlan:
    """The plan of the run. Raises ConfigError."""
    if elsewhere(config) and keys is None:
        raise ConfigError(
            "--keys",
            "must be given where nodes are on other machines",
            "none",
            "anello exchange --make-keys DIR makes some",
        )
    pace, here_too = Pace(timeout_s=timeout_s), [*arguments, "--no-reference"]
    n_nodes = len(config.farm.nodes)
    config.roles_of(n_nodes)
    return LocalPlan(config, here_too, n_nodes, directory, pace, elsewhere(config), keys, "a control room")


def run(plan: LocalPlan, lead: RunControl) -> int:
    """Runs the farm and returns the run's exit code. Raises ConfigError, OSError."""
    with lead.interruptible() as interrupted, rendezvous(plan, held=True) as server:
        lead.hear_of_deaths(server.report_dead)
        with LocalNodes(plan, server) as nodes:
            return _Led(lead, server, nodes, interrupted).run()


class _Led:
    """One run, from its nodes' start to their end."""

    def __init__(
        self, lead: RunControl, server: RendezvousServer, nodes: LocalNodes, interrupted: Interruption
    ) -> None:
        self._lead, self._server, self._nodes, self._interrupted = lead, server, nodes, interrupted
        self._state = RunState.CONFIGURED
        lead.know(rendezvous=server.port)

    def run(self) -> int:
        self._wait_while(RunState.CONFIGURED)
        if self._may_continue:
            self._lead.know(run=_number(self._nodes.processes[0]))
            if self._lead.may_start(self._look):
                self._server.release()
                self._wait_while(RunState.READY)
                self._announce(RunState.RUNNING)
        if not self._interrupted.is_set():
            self._wait_while(RunState.RUNNING)
        self._end()
        self._nodes.join_what_they_left()
        code = self._nodes.exit_code()
        if self._server.failure:  # set last: the control room shows the last message
            print(f"anello: {self._server.failure}", file=sys.stderr)
            return code or FAILED
        return code

    @property
    def _may_continue(self) -> bool:
        return not self._interrupted.is_set() and not self._server.over.is_set()

    def _wait_while(self, state: RunState) -> None:
        while self._server.state is state and self._may_continue:
            self._look()
            self._interrupted.wait(POLL_S)

    def _look(self) -> bool:
        """Takes in the state of the nodes; True while the run continues."""
        self._nodes.report_deaths()
        self._lead.know(nodes=self._nodes.processes, gone=self._nodes.gone)
        return self._may_continue

    def _announce(self, state: RunState) -> None:
        self._state = state
        self._lead.announce(state)

    def _end(self) -> None:
        """Ends the run in order while it runs; at once if it was aborted or has not begun."""
        if self._interrupted.is_set():
            if self._lead.is_aborted or self._state is not RunState.RUNNING:
                self._server.cancel(ABORTED if self._lead.is_aborted else NOT_WANTED)
            else:
                self._nodes.ask_for_the_end()
        self._announce(RunState.DRAINING)
        self._nodes.wait(self._interrupted)
        self._look()


def _number(process: int) -> int | None:
    """The run's number in the catalogue, if node 0 has entered it."""
    try:
        return pages.look_at(node_page(process)).header.run_number or None
    except (ConfigError, EngineMissingError, OSError):
        return None
