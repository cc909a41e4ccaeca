# SPDX-License-Identifier: Apache-2.0
"""A chain before the exchange: which boards a node reads out, what its engine is told of the chain, and the front ends
that it starts for them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anello.errors import ConfigError
from anello.exchange.configuration.config import ExchangeConfig


@dataclass(frozen=True)
class FarmPlace:
    """A node of the farm. readout: the number of its readout unit among n_readouts; None: it is none."""

    rank: int
    readout: int | None
    n_readouts: int

    @classmethod
    def of(cls, config: ExchangeConfig, rank: int, n_nodes: int) -> "FarmPlace":
        readouts = [node for node, roles in enumerate(config.roles_of(n_nodes)) if "ru" in roles.split("+")]
        return cls(rank, readouts.index(rank) if rank in readouts else None, len(readouts))

    def boards(self, n_boards: int) -> range:
        """This node's boards of n_boards: a run of neighbours, as many as the others have, or one more or less."""
        if self.readout is None:
            return range(0)
        mine = [board for board in range(n_boards) if board * self.n_readouts // n_boards == self.readout]
        return range(mine[0], mine[-1] + 1) if mine else range(0)


class Feed(ABC):
    """The interface of a chain to a node of the exchange."""

    def __init__(self, config: ExchangeConfig, place: FarmPlace) -> None:
        """Raises ConfigError if the chain cannot be spread over this many readout units."""
        self.config, self.place = config, place
        if place.n_readouts > self.n_boards:
            rule = f"must have a board for each of {place.n_readouts} readout units"
            remedy = "Start fewer nodes, or name fewer readout units in exchange.roles"
            raise ConfigError("input.config", rule, f"{self.n_boards} boards", remedy)

    @property
    @abstractmethod
    def n_boards(self) -> int:
        """Of the whole detector."""

    @property
    @abstractmethod
    def n_meps(self) -> int:
        """Multi-event packets that the front ends fill; 0: as many as there is time for."""

    @property
    @abstractmethod
    def duration_s(self) -> float:
        """How long front ends take to send that; 0: they do not end by themselves."""

    @abstractmethod
    def chain_values(self, directory: Path) -> dict[str, Any]:
        """What the engine takes as `chain`: the chain's keys, with the ports of this node's boards only."""

    @abstractmethod
    def source_settings(self, ports: Sequence[int]) -> list[str]:
        """The key=value that front ends of this node's boards are told over input.config and input.settings."""

    @property
    def boards(self) -> range:
        return self.place.boards(self.n_boards)

    @property
    def has_front_ends(self) -> bool:
        """This node starts front ends."""
        return self.config.input.front_ends == "simulated" and self.place.readout is not None

    def values(self, directory: Path) -> dict[str, Any]:
        """Settings of the engine's node besides the exchange's own keys."""
        boards = {"first_board": self.boards.start, "n_boards": len(self.boards), "n_detector_boards": self.n_boards}
        return {"feed": self.chain_values(directory), "n_meps": self.config.exchange.n_meps or self.n_meps, **boards}

    def source_arguments(self, ports: Sequence[int]) -> list[str]:
        """Of the command `anello source`."""
        settings = [*self.config.input.settings, *self.source_settings(ports)]
        return [self.config.input.config, *(part for setting in settings for part in ("--set", setting))]
