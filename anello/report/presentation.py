# SPDX-License-Identifier: Apache-2.0
"""What summary and report need from a run of any chain."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from rich.console import RenderableType


class Presentation(Protocol):
    """One run, as it is shown. HTML is made by the blocks of html.py."""

    @property
    def legs(self) -> Mapping[str, str]:
        """Stages of the latency by their names in the record, with the words for people, in order."""

    def results(self) -> dict[str, Any]:
        """The chain's own part of summary.json: rates, losses, node_losses and what else there is."""

    def headlines(self) -> list[str]:
        """The run in two or three lines."""

    def tables(self) -> Iterator[RenderableType]:
        """What the terminal shows with --ledger, between the headlines with the latency and the ledger."""

    def about(self) -> str:
        """What was run, in a line, for the head of the report."""

    def tiles(self) -> Iterator[str]:
        """HTML: the greatest numbers, before those that each chain has."""

    def sections(self) -> Iterator[str]:
        """HTML: plots and tables."""
