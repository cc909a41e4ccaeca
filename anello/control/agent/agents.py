# SPDX-License-Identifier: Apache-2.0
"""The control room's side of its agents: it starts and watches the nodes of other machines (remote_nodes.py)."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from anello.configuration.origin import node_page
from anello.configuration.text import as_plain_toml
from anello.control.agent.agent_list import Agent, AgentList
from anello.control.agent.messages import FROM_AGENTS, NodeOrder, NodeReport
from anello.control.remote_nodes import FarmOrder
from anello.counters.farm_copy import FarmNode
from anello.counters.page_copy import PageCopy, copy_of
from anello.errors import ConfigError
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.rendezvous.group import own_version
from anello.exchange.rendezvous.messages import Message
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import Server
from anello.system.secret_keys import Keys

BESIDE = ":"  # separates an agent's name from that of a page on its machine


class Agents:
    """The agents of a control room. Use as a context. Raises ConfigError, OSError."""

    def __init__(self, endpoint: str, keys: Path, pace: Pace | None = None) -> None:
        """Listens for agents. endpoint: tcp://HOST:PORT, host * for all. keys: the farm's; without them agents could
        not be authenticated."""
        self._keys, pace = keys.resolve(), pace or Pace()
        self._roll = AgentList(own_version(), pace, time.monotonic())
        self._server = Server(endpoint, self._roll, FROM_AGENTS, pace, Keys.load(keys), option="--agents")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def endpoint(self) -> str:
        return self._server.endpoint

    @property
    def present(self) -> Sequence[Agent]:
        """The agents that are connected, by name."""
        return [agent for _, agent in sorted(self._roll.agents.items())]

    def as_rows(self) -> list[dict[str, Any]]:
        """The connected agents as rows, each with the nodes that run on its machine."""
        return [
            {"name": one.hello.name, "host": one.hello.host, "version": one.hello.version,
             "process": one.hello.process,
             "nodes": [{"run": node.run, "node": node.node} for node in one.nodes if not node.state]}
            for one in self.present
        ]  # fmt: skip

    # --- RemoteNodes
    @property
    def keys(self) -> Path:
        return self._keys

    def machines(self) -> Sequence[str]:
        return list(self._roll.agents)

    def start(self, order: FarmOrder) -> None:
        config = order.config
        assert isinstance(config, ExchangeConfig)
        own, chain = as_plain_toml(config), as_plain_toml(config.of_chain) if config.of_chain else ""
        for node, machine in order.nodes.items():
            wanted = NodeOrder(
                order.run, node, len(config.machines), order.port, config.farm.address, own, chain
            ).message()
            self._send(machine, wanted)

    def members(self, run: str) -> Sequence[FarmNode]:
        return [
            FarmNode(report.node, name, page_of(name, report), report.state, report.cause)
            for name, agent in self._roll.agents.items() for report in agent.nodes if report.run == run
        ]  # fmt: skip

    def end(self, run: str) -> None:
        for name in self._roll.agents:
            self._send(name, Message("end", {"run": run}))

    def _send(self, machine: str, message: Message) -> None:
        self._server.call(lambda: self._roll.send(machine, message))

    # --- Pages
    def copy_of(self, name: str) -> PageCopy:
        """The page of a process on this machine or, with an agent's name before it, on another one. Raises
        ConfigError, OSError."""
        machine, beside, page = name.partition(BESIDE)
        if not beside:
            return copy_of(name)
        agent = self._roll.agents.get(machine)
        if agent is None or page not in agent.pages:
            raise FileNotFoundError(f"{machine} has announced no page {page}")
        try:
            return PageCopy.from_json(agent.pages[page])
        except ValueError as error:
            raise ConfigError(name, f"must be a counter page: {error}", "another thing", "Update the agent") from error


def page_of(machine: str, report: NodeReport) -> str:
    """The name of a page on another machine, in the form that copy_of takes."""
    return f"{machine}{BESIDE}{node_page(report.process).removeprefix('/')}"
