# SPDX-License-Identifier: Apache-2.0
"""What a chain's counters say while it runs: how much flows, where it waits, what is lost. Each chain has a View of its
own; the rest of the control room knows only what is here."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from anello.account.ledger import Counters, Ledger, total
from anello.account.verdict import Flaw
from anello.configuration.load import Config, load
from anello.counters.pages import Event
from anello.errors import ConfigError

LIVE, SILENT, ENDED, WAITING = "live", "silent", "ended", "waiting"  # of a board
STATES = (LIVE, SILENT, ENDED, WAITING)


@dataclass(frozen=True)
class Stage:
    """One box of the chain's picture. came, went: in its own units; lost: by cause, in words."""

    name: str
    about: str
    came: int
    came_unit: str
    went: int
    went_unit: str
    lost: Mapping[str, int] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)  # what cost no data and should be seen

    @property
    def n_lost(self) -> int:
        return sum(self.lost.values())


@dataclass(frozen=True)
class Board:
    """came: packets or fragments; lost: those that were not used, and gaps in their numbers."""

    number: int
    came: int
    lost: int
    state: str


@dataclass(frozen=True)
class Flow:
    """Since the run began. built, decided, kept: events, or what the chain has instead of them."""

    unit: str
    built: int
    decided: int
    kept: int
    kept_unit: str
    n_bytes: int


@dataclass(frozen=True)
class Found:
    """What was found, counted: one number per label."""

    about: str
    labels: Sequence[str]
    counts: Sequence[int]


class View(Protocol):
    """Of one chain; made with a run's configuration. All from one copy of the counters."""

    def __init__(self, config: Any) -> None: ...
    def whole_way(self, latency: Mapping[str, Any]) -> str:
        """The leg that a deadline is kept by."""

    def legs(self) -> Mapping[str, str]:
        """In the order of the way, with words."""

    def flow(self, node: Counters) -> Flow: ...
    def stages(self, node: Counters) -> Sequence[Stage]: ...
    def flaws(self, node: Counters, source: Counters | None) -> Sequence[Flaw]:
        """What is wrong by now. Where that is not counted by number before the end, by gaps in the numbers."""

    def ledger(self, node: Counters, source: Counters | None) -> Ledger: ...
    def boards(self, node: Counters) -> Sequence[Board]: ...
    def found(self, node: Counters) -> Found | None: ...
    def drawing(self, event: Event) -> Mapping[str, Any] | None:
        """The last event, as the page draws it: {"kind": "rings" | "image" | "hits", ...}, see static/drawings.js;
        None: nothing to draw. Raises ValueError where its bytes make no sense."""


class PlainView:
    """Of a chain that has no view of its own: what any chain with front ends counts."""

    def __init__(self, config: Config | None = None) -> None:
        pass

    def whole_way(self, latency: Mapping[str, Any]) -> str:
        return next(reversed(list(latency)), "")

    def legs(self) -> Mapping[str, str]:
        return {}

    def flow(self, node: Counters) -> Flow:
        used = total(node, "receive.board", "used")
        return Flow("packets", used, used, used, "packets", total(node, "receive.port", "bytes"))

    def stages(self, node: Counters) -> Sequence[Stage]:
        came = total(node, "receive.port", "datagrams")
        lost = {"dropped by the kernel": total(node, "receive.port", "kernel_dropped")}
        return [Stage("receive", "datagrams → packets", came, "datagrams", self.flow(node).built, "packets", lost)]

    def flaws(self, node: Counters, source: Counters | None) -> Sequence[Flaw]:
        return [Flaw(words, n) for stage in self.stages(node) for words, n in stage.lost.items() if n]

    def ledger(self, node: Counters, source: Counters | None) -> Ledger:
        return Ledger(())

    def boards(self, node: Counters) -> Sequence[Board]:
        return []

    def found(self, node: Counters) -> Found | None:
        return None

    def drawing(self, event: Event) -> Mapping[str, Any] | None:
        return None


def view_of(config: Config) -> View:
    """The chain's own, else a plain one."""
    from anello import registry

    try:
        made: View = registry.part(config.chain, "live")(config)
    except KeyError:
        return PlainView(config)
    return made


def view_of_text(configuration: str) -> View:
    """configuration: TOML, as the catalogue keeps it. Raises ConfigError, EngineMissingError."""
    try:
        values = tomllib.loads(configuration)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            "the run's configuration", "must be TOML", str(error), "Look at it: anello runs configs"
        ) from error
    return view_of(load(None, values=values))
