# SPDX-License-Identifier: Apache-2.0
"""Types and functions that the kinds of search share."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from new_seeds.cases import Finding
from new_seeds.program import Turn, in_turn

Unit = TypeVar("Unit")
Tried = tuple[Counter[str], list[Finding]]


@dataclass
class Outcome:
    """Result of one turn. words: what was done, from which seed on."""

    words: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


def outcome_of_files(
    units: Iterable[Unit], tried: Callable[[Unit], Tried], turn: Turn, first: int, what: str
) -> Outcome:
    """Tries files of tests one after the other while there is time, with seeds from `first` on; counts `what`."""
    outcome, n_files = Outcome(), 0
    for counts, findings in in_turn(units, tried, turn):
        n_files += 1
        outcome.counts += counts
        outcome.findings += findings
    word = what.rpartition("_")[2]
    outcome.words = f"seeds from {first}: {outcome.counts[what]:,} {word}, {n_files} files of tests"
    return outcome


class Kind(Protocol):
    name: str
    share: float  # of the time

    def missing(self) -> str:
        """Why it cannot be searched here, and the remedy; empty if it can."""
        ...

    def search(self, turn: Turn) -> Outcome:
        """One turn of this kind. Raises NotRunError."""
        ...
