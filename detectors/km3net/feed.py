# SPDX-License-Identifier: Apache-2.0
"""KM3NeT before the exchange: an event is a slice of 100 ms, a fragment all hits of a node's DOMs in this slice."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anello.errors import ConfigError
from anello.exchange.feed import Feed

from .configuration.config import Km3netConfig
from .configuration.sections import SLICES_PER_S


class Km3netFeed(Feed[Km3netConfig]):
    """The DOMs of a line; each readout unit reads out a group of neighbouring DOMs."""

    file_key = "store.messages"

    def _check(self) -> None:
        if not self._chain.boards.first_slice:
            raise ConfigError(
                "boards.first_slice",
                "must be given before the exchange: all nodes count slices from it",
                "0",
                "Set it to when the run begins, in 100 ms since 1970",
            )
        if not self._chain.slices.run_number:
            raise ConfigError(
                "slices.run_number",
                "must be given before the exchange: a farm carries one run",
                "0",
                "Set it to the boards' run",
            )

    @property
    def n_boards(self) -> int:
        return self._chain.line.doms

    @property
    def _n_slices(self) -> int:
        """Number of slices of the run; 0: not known, because real boards do not announce it."""
        return self._chain.n_slices if self.config.input.front_ends == "simulated" else 0

    @property
    def n_meps(self) -> int:
        return -(-self._n_slices // self.config.exchange.packing)

    @property
    def duration_s(self) -> float:
        return self._n_slices / SLICES_PER_S

    def chain_values(self, directory: Path) -> dict[str, Any]:
        sources = self._of_own_boards(self._chain.receive.sources)
        return super().chain_values(directory) | {"receive.sources": sources, "run.n_slices": self._n_slices}

    def source_settings(self, ports: Sequence[int]) -> list[str]:
        return [
            f"boards.ports={list(ports)}",
            f"boards.first_dom={self.boards.start}",
            f"boards.doms={len(self.boards)}",
            f"run.n_slices={self._chain.n_slices}",
            f"run.seed={self._chain.run.seed}",
        ]
