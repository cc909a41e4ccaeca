# SPDX-License-Identifier: Apache-2.0
"""A chain before the exchange: the boards that a node reads out, the values that its engine receives of the chain,
and the front ends that it starts for the boards."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

from anello.configuration.base import FrontEndsConfig
from anello.errors import ConfigError
from anello.exchange.configuration.config import ExchangeConfig
from anello.system.run_directory import of_node

ChainConfig = TypeVar("ChainConfig", bound=FrontEndsConfig)
T = TypeVar("T")


@dataclass(frozen=True)
class FarmPlace:
    """A node of the farm. readout: the number of its readout unit among n_readouts; None: it has none."""

    rank: int
    readout: int | None
    n_readouts: int

    @classmethod
    def of(cls, config: ExchangeConfig, rank: int, n_nodes: int) -> "FarmPlace":
        readouts = [node for node, roles in enumerate(config.roles_of(n_nodes)) if "ru" in roles.split("+")]
        return cls(rank, readouts.index(rank) if rank in readouts else None, len(readouts))

    def boards(self, n_boards: int) -> range:
        """This node's boards: neighbours, and the same number on each node, or one more or fewer."""
        if self.readout is None:
            return range(0)
        mine = [board for board in range(n_boards) if board * self.n_readouts // n_boards == self.readout]
        return range(mine[0], mine[-1] + 1) if mine else range(0)


class Feed(ABC, Generic[ChainConfig]):
    """The interface of a chain to a node of the exchange."""

    file_key: ClassVar[str]  # key of the file that the chain writes, if any

    def __init__(self, config: ExchangeConfig, place: FarmPlace) -> None:
        """Places the chain on a node. Raises ConfigError if the chain cannot stand before the exchange, or not with
        this many readout units."""
        self.config, self.place = config, place
        self._chain = self._as_long_as_the_run(config)
        if place.n_readouts > self.n_boards:
            rule = f"must have a board for each of {place.n_readouts} readout units"
            remedy = "Start fewer nodes, or name fewer readout units in exchange.roles"
            raise ConfigError("input.config", rule, f"{self.n_boards} boards", remedy)
        self._check()

    @staticmethod
    def _as_long_as_the_run(config: ExchangeConfig) -> ChainConfig:
        """The chain's configuration; if its file does not say how long the chain runs, the exchange's duration and
        seed apply."""
        assert config.of_chain is not None
        run = config.of_chain.run.model_copy(update={"duration_s": config.run.duration_s, "seed": config.run.seed})
        return cast(ChainConfig, config.of_chain.model_copy(update={"run": run}))

    @abstractmethod
    def _check(self) -> None:
        """Checks the chain's configuration. Raises ConfigError where it cannot be used before the exchange."""

    @property
    @abstractmethod
    def n_boards(self) -> int:
        """Number of boards of the whole detector."""

    @property
    @abstractmethod
    def n_meps(self) -> int:
        """Number of multi-event packets that the front ends fill; 0: limited only by time."""

    @property
    @abstractmethod
    def duration_s(self) -> float:
        """Duration of that, s; 0: the front ends do not end by themselves."""

    def chain_values(self, directory: Path) -> dict[str, Any]:
        """The engine's values of `chain`: the chain's keys, with this node's file. A detector overrides this to
        replace values for all boards by those of this node's boards."""
        values: dict[str, Any] = self._chain.flat()
        if values[self.file_key]:
            values[self.file_key] = str(directory / of_node(values[self.file_key], self.place.rank))
        return values

    def _of_own_boards(self, values: Sequence[T]) -> list[T]:
        """The part of a value for this node's boards, where the value may have one entry per board."""
        return list(values) if len(values) <= 1 else [values[board] for board in self.boards]

    @abstractmethod
    def source_settings(self, ports: Sequence[int]) -> list[str]:
        """The key=value settings of this node's front ends, applied after input.config and input.settings."""

    @property
    def boards(self) -> range:
        return self.place.boards(self.n_boards)

    @property
    def has_front_ends(self) -> bool:
        """True if this node starts front ends."""
        return self.config.input.front_ends == "simulated" and self.place.readout is not None

    def values(self, directory: Path) -> dict[str, Any]:
        """Settings of the engine's node in addition to the exchange's own keys."""
        boards = {"first_board": self.boards.start, "n_boards": len(self.boards), "n_detector_boards": self.n_boards}
        return {"feed": self.chain_values(directory), "n_meps": self.config.exchange.n_meps or self.n_meps, **boards}

    def source_arguments(self, ports: Sequence[int]) -> list[str]:
        """Arguments of the command `anello source`."""
        settings = [*self.config.input.settings, *self.source_settings(ports)]
        return [self.config.input.config, *(part for setting in settings for part in ("--set", setting))]
