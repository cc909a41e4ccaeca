# SPDX-License-Identifier: Apache-2.0
"""The machines of a farm that are not this one, as the control room sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anello.configuration.base import Config
from anello.counters.farm_copy import FarmNode


@dataclass(frozen=True)
class FarmOrder:
    """nodes: machine by node, of those that are elsewhere. port: where they meet, on this machine."""

    run: str  # the name of its directory
    config: Config
    nodes: Mapping[int, str]
    port: int


class RemoteNodes(Protocol):
    """No call waits for a machine: what became of an order is in members()."""

    @property
    def keys(self) -> Path | None:
        """The folder of the farm's keys."""

    def machines(self) -> Sequence[str]:
        """Those that are there."""

    def start(self, order: FarmOrder) -> None: ...
    def members(self, run: str) -> Sequence[FarmNode]:
        """Of a run, as machines have last told."""

    def end(self, run: str) -> None:
        """What is left of it."""


class NoRemoteNodes:
    """The farm has no machine but this one."""

    keys: Path | None = None

    def machines(self) -> Sequence[str]:
        return ()

    def start(self, order: FarmOrder) -> None:
        raise AssertionError(order)

    def members(self, run: str) -> Sequence[FarmNode]:
        return ()

    def end(self, run: str) -> None:
        pass
