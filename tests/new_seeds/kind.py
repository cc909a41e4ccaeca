# SPDX-License-Identifier: Apache-2.0
"""What the kinds of search have in common."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from new_seeds.cases import Finding
from new_seeds.program import Turn


@dataclass
class Outcome:
    """Of one turn. words: what was done, from which seed on."""

    words: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


class Kind(Protocol):
    name: str
    share: float  # of the time

    def missing(self) -> str:
        """Why it cannot be searched here, and what to do; empty: it can."""
        ...

    def search(self, turn: Turn) -> Outcome:
        """Raises NotRunError."""
        ...
