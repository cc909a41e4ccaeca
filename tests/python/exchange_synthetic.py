# SPDX-License-Identifier: Apache-2.0
"""Nodes of an exchange that never were: their greetings, and a rendezvous that hears them at made-up times."""

from collections.abc import Iterator

from anello.config import ExchangeConfig, load
from anello.exchange.group import Hello
from anello.exchange.messages import Message
from anello.exchange.rendezvous import Pace, Rendezvous

PACE = Pace(timeout_s=30, heartbeat_s=0.5, contest_s=2, gone_s=10)


def config(*settings: str) -> ExchangeConfig:
    made = load(None, ["chain=exchange", *settings])
    assert isinstance(made, ExchangeConfig)
    return made


def hello(rank: int, n_nodes: int, *settings: str, **other: object) -> Hello:
    said = Hello.of(config(*settings), rank, n_nodes).as_dict() | {"host": f"host{rank}", "pid": 100 + rank}
    return Hello.from_dict(said | other)


class Meeting:
    """A rendezvous, and the messages that each connection was sent since it last looked."""

    def __init__(self, n_nodes: int, pace: Pace = PACE) -> None:
        self.n_nodes, self.now_s = n_nodes, 0.0
        self.rendezvous = Rendezvous(n_nodes, pace, self.now_s)
        self._mail: dict[bytes, list[Message]] = {}

    def say(self, who: bytes, kind: str, *payload: bytes, **fields: object) -> None:
        self._deliver(self.rendezvous.on_message(who, Message(kind, dict(fields), payload), self.now_s))

    def greet(self, who: bytes, rank: int, *settings: str, **other: object) -> None:
        self.say(who, "hello", **hello(rank, self.n_nodes, *settings, **other).as_dict())

    def wait(self, seconds: float, *alive: bytes) -> None:
        """Time passes, in which these go on saying that they live."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s += 0.25
            for who in alive:
                self.say(who, "alive")
            self._deliver(self.rendezvous.on_time(self.now_s))

    def die(self, rank: int, why: str) -> None:
        self._deliver(self.rendezvous.on_death(rank, why))

    def mail(self, who: bytes, *but: str) -> list[Message]:
        """Without signs of life."""
        return [message for message in self._mail.pop(who, []) if message.kind not in ("alive", *but)]

    def _deliver(self, outgoing: list[tuple[bytes, Message]]) -> None:
        for who, message in outgoing:
            self._mail.setdefault(who, []).append(message)


def names(n: int) -> Iterator[bytes]:
    """Connections."""
    return (b"connection %d" % number for number in range(n))


def begun(n_nodes: int) -> Meeting:
    """A run that has started."""
    meeting = Meeting(n_nodes)
    nodes = list(names(n_nodes))
    for rank, who in enumerate(nodes):
        meeting.greet(who, rank)
    for kind in ("meet", "barrier"):
        for rank, who in enumerate(nodes):
            meeting.say(who, kind, b"address %d" % rank)
    for who in nodes:
        assert [message.kind for message in meeting.mail(who, "waiting")] == ["welcome", "meet", "barrier"]
    return meeting
