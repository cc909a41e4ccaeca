# SPDX-License-Identifier: Apache-2.0
"""How the nodes of a run know each other, whatever started them: MPI, a rendezvous, or one command on one machine."""

import os
import platform
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

from anello.account.notices import printable
from anello.configuration.origin import version
from anello.exchange.configuration.config import ExchangeConfig, differences

MAX_NAMED_DIFFERENCES = 3


class StartError(RuntimeError):
    """Why this node cannot take part, or no longer; str() is one line for its user."""

    exit_code = 1


class GroupEndedError(StartError):
    """The group has ended because its leader is gone. A running node ends cleanly and writes what it knows."""


class EndOrderedError(StartError):
    """The operator does not want the run any more."""

    exit_code = 0


@dataclass(frozen=True)
class Hello:
    """What a node says of itself before it may take part."""

    rank: int
    n_nodes: int
    host: str
    pid: int
    version: str
    fingerprint: str
    values: Mapping[str, Any]  # ExchangeConfig.common_values, to name what differs

    @classmethod
    def of(cls, config: ExchangeConfig, rank: int, n_nodes: int) -> Self:
        return cls(
            rank, n_nodes, socket.gethostname(), os.getpid(), own_version(), config.fingerprint(),
            config.common_values(),
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Raises ValueError: what comes from the network may be anything."""
        numbers = {name: fields.get(name) for name in ("rank", "n_nodes", "pid")}
        words = {name: fields.get(name) for name in ("host", "version", "fingerprint")}
        values = fields.get("values")
        if not all(type(number) is int and 0 <= number < 2**31 for number in numbers.values()):
            raise ValueError("rank, n_nodes and pid must be whole numbers below 2^31")
        if not all(isinstance(word, str) and len(word) <= 256 for word in words.values()):
            raise ValueError("host, version and fingerprint must be text")
        if not isinstance(values, dict):
            raise ValueError("values must be a table")
        return cls(**numbers, **words, values=values)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"node {self.rank} (host {printable(self.host)}, process {self.pid})"


@dataclass(frozen=True)
class News:
    """What became of another node. address: of one that came again; None: it is gone."""

    rank: int
    what: str
    address: bytes | None = None


class Group(Protocol):
    """The nodes of a run, seen from one of them. Any call may raise StartError: the run cannot go on here."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def farm_id(self) -> int:
        """64 bits that all nodes of this run know, and nobody else."""

    @property
    def comes_again(self) -> bool:
        """This node takes the place of one that died in the run that goes on."""

    @property
    def leads(self) -> bool:
        """This node shows progress, ends the run, and takes all records in: that of rank 0, and where that is gone in
        the run, the one of lowest rank that is left."""

    @property
    def may_leave(self) -> bool:
        """A node may go before the others. MPI ends them all together."""

    def meet(self, address: bytes) -> dict[int, bytes]:
        """Everybody's address by rank, once all have met; of one that comes again: of those that are there."""

    def barrier(self) -> None:
        """Until all have come."""

    def gather(self, content: bytes) -> list[tuple[int, bytes]]:
        """Where this node leads (rank, what it gave), with the last words of those that left; elsewhere nothing."""

    def leave(self, content: bytes, why: str) -> None:
        """Before the others: content is for the leader's gather()."""

    def tell(self, content: bytes) -> None:
        """For the leader, which only wants the latest. Never waits."""

    def told(self) -> dict[int, bytes]:
        """At the leader: the latest of each."""

    def stop_all(self, why: str) -> None:
        """The leader: asks everybody, itself too, to end the run in order."""

    def stop_wanted(self) -> str:
        """Why the run is to end; empty: it is not."""

    def news(self) -> list[News]:
        """Since the last time."""

    def notices(self) -> list[str]:
        """Lines for the operator since the last time."""

    def counters(self) -> dict[str, int]:
        """After gather(), at the leader: what was refused at the start, by cause."""

    def close(self) -> None: ...


def own_version() -> str:
    return f"{version()} {platform.machine()}"


def disagreement(newcomer: Hello, first: Hello) -> str:
    """Why these two cannot work together; empty: they can."""
    if newcomer.n_nodes != first.n_nodes:
        return f"was started for {newcomer.n_nodes} nodes, {first} for {first.n_nodes}"
    if newcomer.version != first.version:
        return f"has another version, {printable(newcomer.version)}; {first} has {first.version}"
    if newcomer.fingerprint != first.fingerprint:
        found = differences(newcomer.values, first.values)
        more = f", and {len(found) - MAX_NAMED_DIFFERENCES} more" if len(found) > MAX_NAMED_DIFFERENCES else ""
        words = "; ".join(found[:MAX_NAMED_DIFFERENCES]) or "keys that this version does not know"
        return printable(f"has another configuration than {first}: {words}{more}")
    return ""


def named(ranks: list[int]) -> str:
    """`node 3`, `nodes 3, 5`."""
    return f"node{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
