# SPDX-License-Identifier: Apache-2.0
"""The other machines of a farm, as the control room uses them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anello.configuration.base import Config
from anello.counters.farm_copy import FarmNode


@dataclass(frozen=True)
class FarmOrder:
    """A farm's order. nodes: machine by node, for the nodes on other machines. port: of the rendezvous, on this
    machine."""

    run: str  # the name of the run's directory
    config: Config
    nodes: Mapping[int, str]
    port: int


class RemoteNodes(Protocol):
    """Starts and watches nodes on other machines. No call waits for a machine: members() shows the result of an
    order."""

    @property
    def keys(self) -> Path | None:
        """The folder of the farm's keys."""

    def machines(self) -> Sequence[str]:
        """The machines that are connected."""

    def start(self, order: FarmOrder) -> None: ...
    def members(self, run: str) -> Sequence[FarmNode]:
        """The nodes of a run, as their machines last reported them."""

    def end(self, run: str) -> None:
        """Ends the nodes of a run that are still left."""


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
