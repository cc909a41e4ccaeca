# SPDX-License-Identifier: Apache-2.0
"""Farms and chains in virtual time, by `anello simulate`, which also reduces what it cannot explain."""

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from new_seeds import cases
from new_seeds.cases import Finding
from new_seeds.kind import Outcome
from new_seeds.program import NotRunError, Turn, run

SIMULATE = (sys.executable, "-m", "anello", "simulate")
BAD_NEWS = 4  # docs/reference/exit-codes.md
FARM_COUNTS = {"runs": "farms", "faults": "farm_faults", "built": "farm_packets", "fragments": "farm_fragments",
               "ledgers": "farm_ledgers"}  # fmt: skip
LEAST_S = 1.0
REDUCE_S = 1800.0  # at most, for all that are shown


def chain_counts(chain: str) -> dict[str, str]:
    return {"runs": f"{chain}_chains", "faults": f"{chain}_troubles", "events": f"{chain}_events"}


class Virtual:
    """counts: names of the simulator's sums in the account; file: where its seeds are kept."""

    def __init__(
        self, name: str, options: Sequence[str], counts: Mapping[str, str], file: Path,
        *, share: float, program: Sequence[str | Path] = SIMULATE,
    ) -> None:  # fmt: skip
        self.name, self.share = name, share
        self._command, self._counts, self._file = [*program, *options], counts, file
        self._found: set[str] = set()

    def missing(self) -> str:
        return ""

    def search(self, turn: Turn) -> Outcome:
        first = cases.new_seed(10**12)
        seconds = max(LEAST_S, turn.seconds_left())
        said = run(
            [*self._command, "--json", "--first", str(first), "--minutes", f"{seconds / 60:.4f}"],
            turn, limit_s=seconds + REDUCE_S,
        )  # fmt: skip
        words = f"seeds from {first}"
        if said.code is None and not said.out:
            if not turn.stop.is_set():
                raise NotRunError(f"{words}: did not end")
            return Outcome(f"{words}: ended before there was anything to count")
        if said.code not in (None, 0, BAD_NEWS):
            raise NotRunError(cases.one_line(said.errors) or f"anello simulate ended with {said.code}")
        report = json.loads(said.out)
        counts = Counter({name: int(report.get(of, 0)) for of, name in self._counts.items()})
        sums = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items())
        if n_failed := len(report["failed"]):
            sums += f", {n_failed:,} NOT explained"
        return Outcome(f"{words}: {sums}", counts, self._kept(report))

    def _kept(self, report: Mapping[str, Any]) -> list[Finding]:
        """One seed of each fault, and what is left of its scenario when it was reduced."""
        found = []
        for one in report["shown"]:
            what, again = one["findings"][0], one["command"]
            fault = re.sub(r"\d+", "", what)
            if fault not in self._found:
                self._found.add(fault)
                found.append(Finding(what, cases.add(self._file, str(one["seed"]), f"{what}; {again}"), again))
        return found
