# SPDX-License-Identifier: Apache-2.0
"""The agents that are connected, and the last report of each: a Meeting of the server, without sockets."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from anello.control.agent.messages import AgentHello, NodeReport, nodes_of, pages_of
from anello.exchange.rendezvous.messages import Message, Outgoing
from anello.exchange.rendezvous.protocol import PAUSE_HEARTBEATS, Pace

MOST_AGENTS = 1024


@dataclass(frozen=True)
class Agent:
    """A connected agent. nodes: those that it started and still reports. pages: by name, as it sent them."""

    hello: AgentHello
    identity: bytes
    heard_s: float
    nodes: tuple[NodeReport, ...] = ()
    pages: Mapping[str, bytes] = field(default_factory=dict)


class AgentList:
    """The list. agents: by name; replaced at each change, so that other threads can read it at any time. version:
    the program's version, which agents must share."""

    def __init__(self, version: str, pace: Pace, now_s: float) -> None:
        self._version, self._pace, self._looked_s = version, pace, now_s
        self.agents: Mapping[str, Agent] = {}
        self.counters: Counter[str] = Counter()

    @property
    def is_over(self) -> bool:
        return False

    def identities(self) -> frozenset[bytes]:
        return frozenset(agent.identity for agent in self.agents.values())

    def on_message(self, identity: bytes, message: Message, now_s: float) -> list[Outgoing]:
        agent = next((one for one in self.agents.values() if one.identity == identity), None)
        try:
            if message.kind == "hello":
                return [(identity, self._on_hello(identity, AgentHello.of(message.fields), now_s))]
            if agent is None:  # the agent was connected to another control room before
                return [] if message.kind == "leave" else [(identity, Message("who"))]
            return self._on_word(replace(agent, heard_s=now_s), message)
        except ValueError:
            self.on_malformed()
            return []

    def on_time(self, now_s: float) -> list[Outgoing]:
        self._forgive_pause(now_s)
        present = {name: one for name, one in self.agents.items() if now_s - one.heard_s <= self._pace.gone_s}
        if len(present) < len(self.agents):
            self.agents = present
        return []

    def on_malformed(self) -> None:
        self.counters["malformed"] += 1

    def send(self, name: str, message: Message) -> list[Outgoing]:
        """A message to the agent of this name, if it is connected."""
        agent = self.agents.get(name)
        return [(agent.identity, message)] if agent else []

    def _on_hello(self, identity: bytes, hello: AgentHello, now_s: float) -> Message:
        before = self.agents.get(hello.name)
        is_other = before is not None and before.identity != identity
        if hello.version != self._version:
            return self._refused(f"has another version, {hello.version}; the control room has {self._version}")
        if before and is_other and now_s - before.heard_s <= self._pace.contest_s:
            return self._refused(f"has a name that the one on {before.hello.host}, process {before.hello.process}, has")
        if before is None and len(self.agents) == MOST_AGENTS:
            return self._refused(f"is one too many: {MOST_AGENTS} are there")
        self.agents = {**self.agents, hello.name: Agent(hello, identity, now_s)}
        return Message("welcome")

    def _refused(self, why: str) -> Message:
        self.counters["refused"] += 1
        return Message("refused", {"why": why})

    def _on_word(self, agent: Agent, message: Message) -> list[Outgoing]:
        if message.kind == "leave":
            self.agents = {name: one for name, one in self.agents.items() if name != agent.hello.name}
            return []
        if message.kind == "told":
            agent = replace(agent, nodes=nodes_of(message), pages=pages_of(message))
        self.agents = {**self.agents, agent.hello.name: agent}
        return [(agent.identity, Message("alive"))] if message.kind == "alive" else []

    def _forgive_pause(self, now_s: float) -> None:
        """After a pause of this process, no agent counts as silent only because nothing was read from it."""
        pause_s, self._looked_s = now_s - self._looked_s, now_s
        if pause_s > PAUSE_HEARTBEATS * self._pace.heartbeat_s:
            self.agents = {name: replace(one, heard_s=one.heard_s + pause_s) for name, one in self.agents.items()}
