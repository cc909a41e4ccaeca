# SPDX-License-Identifier: Apache-2.0
"""The RICH before the exchange: an event is a time frame of a burst, a fragment is a node's data in this frame."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anello.errors import ConfigError
from anello.exchange.feed import Feed

from .analysis.simulation import TICK_NS
from .configuration.config import RichConfig


class RichFeed(Feed[RichConfig]):
    """Distributes the boards of the RICH over the readout units."""

    file_key = "store.decisions"

    def _check(self) -> None:
        chain, gap_ms, timeout_ms = self._chain, self._chain.source.gap_ms, self.config.exchange.timeout_ms
        if timeout_ms < 2 * gap_ms:
            raise ConfigError(
                "exchange.timeout_ms",
                f"must be twice source.gap_ms, {gap_ms:g}, or more: builders wait for the next burst meanwhile",
                f"{timeout_ms:g}",
                "Raise it",
            )
        if chain.source.format != "mgp":
            raise ConfigError(
                "source.format",
                "must be mgp before the exchange: its frames need a burst's number",
                chain.source.format,
                'Set source.format = "mgp" in input.settings',
            )
        if chain.trigger.python:
            raise ConfigError(
                "trigger.python",
                "cannot be used after the exchange",
                chain.trigger.python,
                "Make it a plugin (trigger.plugin), or use anello run",
            )
        if chain.publish.to != "nothing" and self.config.output.to != "trigger":
            raise ConfigError(
                "publish.to",
                "must be nothing when nothing is decided after the exchange",
                chain.publish.to,
                'Set output.to = "trigger"',
            )

    @property
    def n_boards(self) -> int:
        return len(self._chain.source.ports)

    @property
    def meps_per_burst(self) -> int:
        """Number of multi-event packets for the frames of a burst, plus one for late data."""
        mep_ns = self.config.input.frame_ticks * TICK_NS * self.config.exchange.packing
        return int(self._chain.source.burst_ms * 1e6 / mep_ns) + 2

    @property
    def duration_s(self) -> float:
        return self._chain.n_bursts * (self._chain.source.burst_ms + self._chain.source.gap_ms) * 1e-3

    @property
    def n_meps(self) -> int:
        return self._chain.n_bursts * self.meps_per_burst

    def chain_values(self, directory: Path) -> dict[str, Any]:
        address = self._chain.publish.address.replace("{node}", str(self.place.rank))
        ports = [self._chain.receive.ports[board] for board in self.boards]
        return super().chain_values(directory) | {
            "receive.ports": ports,
            "receive.sources": self._of_own_boards(self._chain.receive.sources),
            "source.first_board": self.boards.start,
            "publish.address": address,
            "meps_per_burst": self.meps_per_burst,
        }

    def source_settings(self, ports: Sequence[int]) -> list[str]:
        run, ports = self._chain.run, list(ports)
        return [
            f"source.ports={ports}",
            f"receive.ports={ports}",
            f"source.first_board={self.boards.start}",
            f"source.n_boards={len(ports)}",
            f"source.n_bursts={self._chain.n_bursts}",
            f"run.seed={run.seed}",
        ]
