# SPDX-License-Identifier: Apache-2.0
"""The interface by which the nodes of a run know each other, whatever started them: MPI, a rendezvous, or one
command on one machine."""

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
    """The group has ended because its leader has died. A running node ends in order and writes its own record."""


class EndOrderedError(StartError):
    """The operator has cancelled the run."""

    exit_code = 0


@dataclass(frozen=True)
class Hello:
    """A node's description of itself, sent before it may take part."""

    rank: int
    n_nodes: int
    host: str
    pid: int
    version: str
    fingerprint: str
    values: Mapping[str, Any]  # ExchangeConfig.common_values, to name the keys that differ

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
        """Reads a description. Raises ValueError: data from the network may be anything."""
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
    """News of another node. address: of one that has returned; None: the node has died or left."""

    rank: int
    what: str
    address: bytes | None = None


class Group(Protocol):
    """The nodes of a run, seen from one of them. Any call may raise StartError: this node cannot continue the run."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def farm_id(self) -> int:
        """A number of 64 bits that only the nodes of this run know."""

    @property
    def comes_again(self) -> bool:
        """True if this node replaces one that died in the run that is in progress."""

    @property
    def leads(self) -> bool:
        """True if this node shows progress, ends the run, and collects all records: rank 0, or if that died during
        the run, the lowest rank that is left."""

    @property
    def may_leave(self) -> bool:
        """True if a node may leave before the others. MPI ends them all together."""

    def meet(self, address: bytes) -> dict[int, bytes]:
        """Waits for all nodes and returns their addresses by rank; a node that has returned gets those of the nodes
        present."""

    def barrier(self) -> None:
        """Waits until all nodes have called it."""

    def gather(self, content: bytes) -> list[tuple[int, bytes]]:
        """At the leader: (rank, record) of each node, including those that left earlier; at other nodes an empty
        list."""

    def leave(self, content: bytes, why: str) -> None:
        """Leaves before the others: content is for the leader's gather()."""

    def report(self, content: bytes) -> None:
        """Sends a report to the leader, which keeps only the latest. Never waits."""

    def reports(self) -> dict[int, bytes]:
        """At the leader: the latest report of each node."""

    def stop_all(self, why: str) -> None:
        """At the leader: asks all nodes, itself too, to end the run in order."""

    def stop_wanted(self) -> str:
        """Why the run is to end; empty: it is to continue."""

    def news(self) -> list[News]:
        """News of other nodes since the last call."""

    def notices(self) -> list[str]:
        """Lines for the operator since the last call."""

    def counters(self) -> dict[str, int]:
        """At the leader, after gather(): numbers of peers refused at the start, by cause."""

    def close(self) -> None: ...


def own_version() -> str:
    return f"{version()} {platform.machine()}"


def disagreement(newcomer: Hello, first: Hello) -> str:
    """Why these two nodes cannot work together; empty: they can."""
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
    """The nodes in words: `node 3`, `nodes 3, 5`."""
    return f"node{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
