# SPDX-License-Identifier: Apache-2.0
"""An agent's work: it keeps the connection to the control room, carries out its orders, and reports the states of
its nodes."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from anello.configuration.origin import node_page
from anello.control.agent.messages import TO_AGENTS, AgentHello, NodeOrder, NodeReport, reports_message
from anello.control.agent.nodes import AgentNodes, AgentPlace
from anello.counters.page_copy import copy_of
from anello.errors import ConfigError, EngineMissingError
from anello.exchange.rendezvous.connection import Connection
from anello.exchange.rendezvous.group import own_version
from anello.exchange.rendezvous.messages import Message
from anello.exchange.rendezvous.protocol import Pace
from anello.system.interruption import Interruption
from anello.system.machines import HERE, is_machine
from anello.system.secret_keys import Keys

REPORT_S = 0.5
LOOK_S = 0.05


class AgentRefusedError(RuntimeError):
    """The control room refuses this agent."""

    exit_code = 1


def run(
    endpoint: str, name: str, place: AgentPlace, interrupted: Interruption, notify: Callable[[str], None], *,
    pace: Pace | None = None,
) -> None:  # fmt: skip
    """Works until it is interrupted; its nodes continue. Raises ConfigError, AgentRefusedError."""
    pace, hello = pace or Pace(), AgentHello(name, socket.gethostname(), own_version(), os.getpid())
    place.directory.mkdir(parents=True, exist_ok=True)
    with AgentNodes(place) as nodes:
        link = Connection(endpoint, TO_AGENTS, pace, Keys.load(place.keys), hello.message(), option="CONTROL")
        try:
            _Agent(link, hello, nodes, notify).run(interrupted)
        finally:
            link.close()


class _Agent:
    def __init__(self, link: Connection, hello: AgentHello, nodes: AgentNodes, notify: Callable[[str], None]) -> None:
        self._link, self._hello, self._nodes, self._notify = link, hello, nodes, notify
        self._is_known = False
        self._last: list[NodeReport] = []

    def run(self, interrupted: Interruption) -> None:
        next_s = time.monotonic()
        while not interrupted.wait(LOOK_S):
            while (message := self._link.take(0)) is not None:
                self._obey(message)
            now = self._nodes.reports()
            if time.monotonic() >= next_s or now != self._last:
                next_s = time.monotonic() + REPORT_S
                self._say_what_ended(now)
                self._last = now
                if self._is_known:
                    self._link.send(reports_message(now, _pages(now)))

    def _obey(self, message: Message) -> None:
        if message.kind == "welcome":
            self._is_known = True
            self._notify(f"agent {self._hello.name}: the control room knows it")
        elif message.kind == "who":  # the control room has restarted
            self._is_known = False
            self._link.send(self._hello.message())
        elif message.kind == "refused":
            raise AgentRefusedError(f"the control room refuses it: this agent {message.fields.get('why')}")
        elif message.kind == "ended":
            self._is_known = False
            self._notify(f"agent {self._hello.name}: the control room is silent; nodes continue")
        elif message.kind == "start":
            with suppress(ValueError):  # a peer that has the keys and sends an invalid order is of another version
                self._notify(self._nodes.start(NodeOrder.of(message)))
        elif message.kind == "end":
            self._nodes.end(str(message.fields.get("run")))

    def _say_what_ended(self, now: list[NodeReport]) -> None:
        known = {(one.run, one.node, one.process) for one in self._last if one.state}
        for one in now:
            if one.state and (one.run, one.node, one.process) not in known:
                self._notify(
                    f"node {one.node} of {one.run} {'ended' if one.state == 'ended' else f'is gone: {one.cause}'}"
                )


def _pages(nodes: list[NodeReport]) -> dict[str, bytes]:
    """The counter pages of the nodes that run."""
    found = {}
    for name in (node_page(one.process).removeprefix("/") for one in nodes if not one.state):
        with suppress(ConfigError, EngineMissingError, OSError):  # the node has no page yet, or has removed it
            found[name] = copy_of(name).as_json()
    return found


def checked_name(name: str | None) -> str:
    """The agent's name; the host's where none is given. Raises ConfigError."""
    name = name or socket.gethostname().partition(".")[0]
    if name == HERE or not is_machine(name):
        raise ConfigError("--name", f"must be of letters, digits, and . _ - between them, and not {HERE}", name,
                          "For example rack1")  # fmt: skip
    return name


def control_host(endpoint: str) -> str:
    """The host of tcp://HOST:PORT. Raises ConfigError."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    if not endpoint.startswith("tcp://") or not host or not port.isdecimal():
        raise ConfigError("CONTROL", "must be tcp://HOST:PORT", endpoint, "As anello control prints it")
    return host
