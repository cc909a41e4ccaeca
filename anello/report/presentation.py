# SPDX-License-Identifier: Apache-2.0
"""The interface of any chain's run for summary and report."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from rich.console import RenderableType


class Presentation(Protocol):
    """How one run is shown. HTML is made with the functions of html.py."""

    @property
    def legs(self) -> Mapping[str, str]:
        """Stages of the latency by their names in the record, with the words for people, in order."""

    def results(self) -> dict[str, Any]:
        """The chain's own part of summary.json: rates, losses, node_losses and further results."""

    def headlines(self) -> list[str]:
        """The run in two or three lines."""

    def tables(self) -> Iterator[RenderableType]:
        """Tables that the terminal shows with --ledger, between the headlines with the latency and the ledger."""

    def about(self) -> str:
        """One line for the head of the report: what was run."""

    def tiles(self) -> Iterator[str]:
        """HTML: the largest numbers, before those that each chain has."""

    def sections(self) -> Iterator[str]:
        """HTML: plots and tables."""
