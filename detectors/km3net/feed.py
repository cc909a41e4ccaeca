# SPDX-License-Identifier: Apache-2.0
"""KM3NeT before the exchange: its event is a slice of 100 ms, its fragment all hits of a node's DOMs in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anello.errors import ConfigError
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.feed import FarmPlace, Feed
from anello.system.run_directory import of_node

from .configuration.config import Km3netConfig
from .configuration.sections import SLICES_PER_S


class Km3netFeed(Feed):
    """The DOMs of a line, a run of neighbours for each readout unit."""

    def __init__(self, config: ExchangeConfig, place: FarmPlace) -> None:
        assert isinstance(config.of_chain, Km3netConfig)
        self._chain = self._as_long_as_the_run(config.of_chain, config)
        super().__init__(config, place)
        self._check()

    @staticmethod
    def _as_long_as_the_run(chain: Km3netConfig, config: ExchangeConfig) -> Km3netConfig:
        """If the file gives no number of slices, the exchange's duration decides, and its seed applies to both."""
        run = chain.run.model_copy(update={"duration_s": config.run.duration_s, "seed": config.run.seed})
        return chain.model_copy(update={"run": run})

    def _check(self) -> None:
        if not self._chain.boards.first_slice:
            raise ConfigError("boards.first_slice", "must be given before the exchange: all nodes count slices from it",
                              "0", "Set it to when the run begins, in 100 ms since 1970")  # fmt: skip
        if not self._chain.slices.run_number:
            raise ConfigError("slices.run_number", "must be given before the exchange: a farm carries one run",
                              "0", "Set it to the boards' run")  # fmt: skip

    @property
    def n_boards(self) -> int:
        return self._chain.line.doms

    @property
    def _n_slices(self) -> int:
        """0: nobody knows."""
        return self._chain.n_slices if self.config.input.front_ends == "simulated" else 0

    @property
    def n_meps(self) -> int:
        return -(-self._n_slices // self.config.exchange.packing)

    @property
    def duration_s(self) -> float:
        return self._n_slices / SLICES_PER_S

    def chain_values(self, directory: Path) -> dict[str, Any]:
        values: dict[str, Any] = self._chain.flat()
        if self._chain.store.messages:
            values["store.messages"] = str(directory / of_node(self._chain.store.messages, self.place.rank))
        sources = self._chain.receive.sources
        if len(sources) > 1:
            sources = [sources[dom] for dom in self.boards]
        return values | {"receive.sources": sources, "run.n_slices": self._n_slices}

    def source_settings(self, ports: Sequence[int]) -> list[str]:
        return [
            f"boards.ports={list(ports)}", f"boards.first_dom={self.boards.start}", f"boards.doms={len(self.boards)}",
            f"run.n_slices={self._chain.n_slices}", f"run.seed={self._chain.run.seed}",
        ]  # fmt: skip
