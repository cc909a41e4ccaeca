# SPDX-License-Identifier: Apache-2.0
"""What the web needs from the catalogue. Rows are plain mappings, as JSON has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Row = Mapping[str, Any]


class NotThereError(Exception):
    """No such run, alarm or configuration."""


@dataclass(frozen=True)
class Wanted:
    """Which runs; newest first. before: a run's number."""

    limit: int = 100
    before: int | None = None
    chain: str | None = None
    state: str | None = None
    quality: str | None = None


class Memory(Protocol):
    """Each may raise NotThereError."""

    def runs(self, wanted: Wanted) -> Sequence[Row]: ...
    def run(self, number: int) -> Row:
        """The columns of the list, and losses, latency, files, counters, notices, configuration, log."""

    def compare(self, first: int, second: int) -> Row: ...
    def mark(self, number: int, quality: str, comment: str, author: str) -> None: ...
    def configurations(self) -> Sequence[Row]: ...
    def configuration(self, digest: str) -> Row: ...
    def history(self, metric: str, from_ns: int, to_ns: int, step_s: float) -> Sequence[tuple[int, float]]:
        """(time, value); at most one per step."""

    def notices(self, limit: int) -> Sequence[Row]: ...
    def alarms(self, limit: int) -> Sequence[Row]:
        """Raised ones first, then newest first."""

    def acknowledge(self, alarm: int, author: str) -> None: ...
    def log(self, limit: int, run: int | None) -> Sequence[Row]: ...
    def write(self, text: str, author: str, run: int | None) -> None:
        """A line in the log."""

    def news(self) -> Mapping[str, Sequence[Row]]:
        """What was added since the last call: notice, alarm, log."""
