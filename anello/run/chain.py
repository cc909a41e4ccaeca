# SPDX-License-Identifier: Apache-2.0
"""The interface between the command line and a chain with front ends; anello.run.run drives every chain through it.

A chain joins front ends (in a process of their own) and a node (in this one). The parts that differ between chains are
made here and used through the protocols below; the engine's classes satisfy them without adapters.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anello.account.identity import ListedAsCame, MadeByBoard
from anello.account.leg import CoreHiccups, LegLatency, LegOverTime, honest, honest_legs
from anello.configuration.origin import node_values
from anello.errors import ConfigError, engine_errors
from anello.run.display import Item, Progress
from anello.run.source_process import ChainSource, need_ports, page_values

if TYPE_CHECKING:  # the front ends' process needs only the names of these
    from anello.account.history import Moment
    from anello.account.notices import Line, Notices
    from anello.account.record import CounterDict, Record
    from anello.account.verdict import Flaw
    from anello.configuration.base import FrontEndsConfig
    from anello.configuration.origin import Origin

MEAN_INTERVALS = 20.0  # between two events at random times: a longer interval occurs once in 10^9


class ChainNode(Protocol):
    """A node of any chain: its ports are bound when it is made."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def finished(self) -> bool: ...
    def set_state(self, word: str) -> None: ...
    def ports(self) -> list[int]: ...
    def counters(self) -> CounterDict: ...
    def latency(self) -> dict[str, LegLatency]: ...
    def latency_over_time(self) -> dict[str, LegOverTime]: ...
    def hiccups(self) -> dict[int, CoreHiccups]: ...  # by core
    def notices(self) -> Sequence[Line]: ...
    def states(self) -> dict[str, str]: ...
    def sequences(self) -> dict[int, ListedAsCame]: ...


@dataclass(frozen=True)
class Look:
    """The counters of a running node for a meter. sums: since its start; gained: since the previous look."""

    node: ChainNode
    counters: CounterDict
    time_s: float  # since the first look
    seconds: float  # since the previous look
    sums: tuple[int, ...]
    gained: tuple[int, ...]


class Meter(ABC):
    """Reads a running node's counters from time to time, and returns their differences."""

    def __init__(self) -> None:
        self._began = self._last_time = time.monotonic()
        self._last: tuple[int, ...] = ()

    def look(self, node: ChainNode, counters: CounterDict, lost: Mapping[str, int] | None = None) -> Progress:
        """Makes a progress report. counters: the node's present ones. lost: by cause; None where losses are not
        followed."""
        now = time.monotonic()
        sums = self._sums(counters)
        gained = tuple(new - old for new, old in zip(sums, self._last or (0,) * len(sums), strict=True))
        seconds = max(now - self._last_time, 1e-3)
        self._last, self._last_time = sums, now
        look = Look(node, counters, now - self._began, seconds, sums, gained)
        return Progress(look.time_s, (*self._items(look), *([] if lost is None else [_lost(lost)])))

    @abstractmethod
    def _sums(self, counters: CounterDict) -> tuple[int, ...]: ...

    @abstractmethod
    def _items(self, look: Look) -> Iterator[Item]: ...


def _lost(lost: Mapping[str, int]) -> Item:
    return Item("lost", ", ".join(f"{n:,} {words}" for words, n in lost.items()) or "nothing", bool(lost))


class Keeper(Protocol):
    """Keeps samples of events that a node offers."""

    def look(self, node: Any) -> None: ...


@dataclass(frozen=True)
class GivenEvents:
    """The events of a file, and what another reconstruction found in them; both are of the chain's own types."""

    events: Any
    reference: Any = None


@dataclass(frozen=True)
class RunEnd:
    """The facts known at the end of a run. The node has stopped and still exists."""

    node: ChainNode
    kept: Any  # the chain's own Keeper
    notices: Notices
    directory: Path
    wall_s: float
    source: CounterDict | None
    interface: str
    one_host: bool
    interrupted: bool
    cpu: Mapping[str, float] | None
    truth: Mapping[str, Any] | None
    reference: Any  # of the chain's own type: results of another reconstruction for the events of a file
    made: MadeByBoard = field(default_factory=dict)
    ended_badly: str = ""
    history: tuple[Moment, ...] = ()
    origin: Origin | None = None

    def common(self) -> dict[str, Any]:
        """The fields that every Record has, except its configuration."""
        return {
            "node": self.node.counters(),
            "source": self.source,
            "wall_s": self.wall_s,
            "latency": honest_legs(self.node.latency()),
            "latency_over_time": self.node.latency_over_time(),
            "hiccups": _honest_hiccups(self.node.hiccups()),
            "states": self.node.states(),
            "notices": self.notices.kept(),
            "interrupted": self.interrupted,
            "one_host": self.one_host,
            "interface": self.interface,
            "cpu": self.cpu,
            "made": self.made,
            "came": self.node.sequences(),
            "ended_badly": self.ended_badly,
            "origin": self.origin,
            "history": self.history,
        }


def _honest_hiccups(by_core: Mapping[int, CoreHiccups]) -> dict[int, CoreHiccups]:
    return {core: {**of_core, "delays": honest(of_core["delays"])} for core, of_core in by_core.items()}


class Chain(ABC):
    """A complete data path from front ends to results, made from its configuration. Its module is in the same
    package as the detector's compiled part, whose Node and Source it makes."""

    config: FrontEndsConfig

    def __init__(self, config: FrontEndsConfig) -> None:
        self.config = config

    def make_node(self, directory: Path, origin: Origin | None = None) -> ChainNode:
        """Makes a node whose ports are bound; its files go to the run's directory. origin: of the node's run, passed
        to it by anello.configuration.origin.node_values. Raises ConfigError, OSError."""
        node: ChainNode = self._node(self.node_values(directory, origin))
        return node

    def _node(self, values: Mapping[str, Any]) -> Any:
        with engine_errors():
            return self.compiled().Node(values)

    def node_values(self, directory: Path, origin: Origin | None) -> dict[str, Any]:
        return self.config.flat() | node_values(origin) | self.own_node_values(directory)

    def own_node_values(self, directory: Path) -> dict[str, Any]:
        """Values of the node that replace those of the configuration, such as the paths of its files in the run's
        directory."""
        return {}

    def events_of(self, file: Path) -> GivenEvents:
        """The events that front ends send for `--events FILE`. Raises InputError, and ConfigError where the chain's
        front ends cannot send a file."""
        rule = "must be left out where front ends can send simulated events only"
        raise ConfigError("--events", rule, f"{file}, for the chain {self.config.chain}", "Simulate events instead")

    def make_source(self, given: GivenEvents | None) -> ChainSource:
        """Makes front ends that are ready to start. given: from events_of. Raises ConfigError where a port is left
        open."""
        need_ports(self.config)
        with engine_errors():
            source: ChainSource = self.compiled().Source(self.config.source_values() | page_values(self.config))
            self.prepare(source, given)
        return source

    def prepare(self, source: Any, given: GivenEvents | None) -> None:  # noqa: B027 - most have nothing to do
        """Does work that front ends need before they are ready to start."""

    def compiled(self) -> Any:
        """The compiled module. Raises EngineMissingError, and ModuleNotFoundError where the engine was built without
        it."""
        from anello.engine import compiled_part

        return compiled_part(type(self).__module__.rpartition(".")[0])

    @abstractmethod
    def keeper(self) -> Keeper: ...

    @abstractmethod
    def meter(self) -> Meter: ...

    @abstractmethod
    def flaws(self, node: CounterDict, source: CounterDict | None) -> Sequence[Flaw]:
        """Flaws up to now, for a run that continues."""

    @abstractmethod
    def record(self, end: RunEnd) -> Record: ...

    @abstractmethod
    def longest_pause_s(self) -> float:
        """Longest pause, s, that front ends make by configuration."""

    def source_settings(self, ports: Sequence[int]) -> list[str]:
        """Settings of the front ends in addition to the user's: the node's ports and the run's length."""
        length = (f"{key}={value}" for key, value in self.config.run_length().items())
        return [f"{self.config.source_section}.ports={list(ports)}", *length]
