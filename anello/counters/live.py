# SPDX-License-Identifier: Apache-2.0
"""The counters of a running chain in words: how much data flow, where they wait, what is lost. Each chain has a View
of its own; the rest of the control room uses only this module."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from anello.account.ledger import Counters, Ledger, total
from anello.account.leg import LegLatency
from anello.account.verdict import Flaw
from anello.configuration.load import Config, load
from anello.counters.pages import Event
from anello.errors import ConfigError

LIVE, SILENT, ENDED, WAITING = "live", "silent", "ended", "waiting"  # states of a board
STATES = (LIVE, SILENT, ENDED, WAITING)


@dataclass(frozen=True)
class Stage:
    """One box of the chain's picture. came, went: items in and out, in the stage's own units; lost: by cause, in
    words."""

    name: str
    about: str
    came: int
    came_unit: str
    went: int
    went_unit: str
    lost: Mapping[str, int] = field(default_factory=dict)
    # counts that cost no data and that the operator should see
    remarks: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_lost(self) -> int:
        return sum(self.lost.values())


@dataclass(frozen=True)
class Board:
    """One board. came: packets or fragments received; lost: those that were not used, and gaps in their numbers."""

    number: int
    came: int
    lost: int
    state: str


@dataclass(frozen=True)
class Flow:
    """Totals since the run began. built, decided, kept: events, or what the chain counts instead of them."""

    unit: str
    built: int
    decided: int
    kept: int
    kept_unit: str
    n_bytes: int


@dataclass(frozen=True)
class Found:
    """Numbers of reconstructed objects: one number per label."""

    about: str
    labels: Sequence[str]
    counts: Sequence[int]


class View(Protocol):
    """The view of one chain, made with a run's configuration. All its values are from one copy of the counters."""

    def __init__(self, config: Any) -> None: ...
    def whole_way(self, latency: Mapping[str, LegLatency]) -> str:
        """The leg that a deadline applies to."""

    def legs(self) -> Mapping[str, str]:
        """The legs in the order of the data's way, with their names in words."""

    def flow(self, node: Counters) -> Flow: ...
    def stages(self, node: Counters) -> Sequence[Stage]: ...
    def flaws(self, node: Counters, source: Counters | None) -> Sequence[Flaw]:
        """What is wrong up to now. Losses that are counted by number only at the end are estimated from gaps in the
        numbers."""

    def ledger(self, node: Counters, source: Counters | None) -> Ledger: ...
    def boards(self, node: Counters) -> Sequence[Board]: ...
    def found(self, node: Counters) -> Found | None: ...
    def drawing(self, event: Event) -> Mapping[str, Any] | None:
        """The last event, as the page draws it: {"kind": "rings" | "image" | "hits", ...}, see static/drawings.js;
        None: nothing to draw. Raises ValueError where its bytes are no valid event."""


class PlainView:
    """The view of a chain without a view of its own: the counters that every chain with front ends has."""

    def __init__(self, config: Config | None = None) -> None:
        pass

    def whole_way(self, latency: Mapping[str, LegLatency]) -> str:
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
    """The chain's own view, else a plain one."""
    from anello import registry

    try:
        made: View = registry.part(config.chain, "live")(config)
    except KeyError:
        return PlainView(config)
    return made


def view_of_text(configuration: str) -> View:
    """The view for a stored configuration. configuration: TOML, from the catalogue. Raises ConfigError,
    EngineMissingError."""
    try:
        values = tomllib.loads(configuration)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            "the run's configuration", "must be TOML", str(error), "Look at it: anello runs configs"
        ) from error
    return view_of(load(None, values=values))
