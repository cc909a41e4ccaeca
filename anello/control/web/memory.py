# SPDX-License-Identifier: Apache-2.0
"""The part of the catalogue that the web server needs. Rows are plain mappings, as JSON needs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Row = Mapping[str, Any]


class NotThereError(Exception):
    """There is no such run, alarm or configuration."""


@dataclass(frozen=True)
class Wanted:
    """Selects runs, newest first. before: a run's number."""

    limit: int = 100
    before: int | None = None
    chain: str | None = None
    state: str | None = None
    quality: str | None = None


class Memory(Protocol):
    """The catalogue for the web server. Each call may raise NotThereError."""

    def runs(self, wanted: Wanted) -> Sequence[Row]: ...
    def run(self, number: int) -> Row:
        """Everything of a run: the columns of the list, and losses, latency, files, counters, notices,
        configuration, log."""

    def compare(self, first: int, second: int) -> Row: ...
    def mark(self, number: int, quality: str, comment: str, author: str) -> None: ...
    def configurations(self) -> Sequence[Row]: ...
    def configuration(self, digest: str) -> Row: ...
    def history(self, metric: str, from_ns: int, to_ns: int, step_s: float) -> Sequence[tuple[int, float]]:
        """(time, value); at most one per step."""

    def notices(self, limit: int) -> Sequence[Row]: ...
    def alarms(self, limit: int) -> Sequence[Row]:
        """Alarms, raised ones first, then newest first."""

    def acknowledge(self, alarm: int, author: str) -> None: ...
    def log(self, limit: int, run: int | None) -> Sequence[Row]: ...
    def write(self, text: str, author: str, run: int | None) -> None:
        """Adds a line to the log."""

    def news(self) -> Mapping[str, Sequence[Row]]:
        """Rows added since the last call: notice, alarm, log."""
