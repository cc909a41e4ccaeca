# SPDX-License-Identifier: Apache-2.0
"""Properties of the Python tests, by Hypothesis."""

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from new_seeds import cases
from new_seeds.cases import Finding
from new_seeds.kind import Outcome, outcome_of_files
from new_seeds.program import ROOT, NotRunError, Said, Turn, run

FILE = cases.FOLDER / "examples.txt"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider")
PASSING = re.compile(r"^    - (\d+) passing", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - (.*))?$", re.MULTILINE)
BLOB = re.compile(r"@reproduce_failure\(.*\)")
PYTEST_FAILED, PYTEST_NONE = 1, 5


def files(root: Path = ROOT) -> list[Path]:
    candidates = [*root.glob("tests/python/test_*.py"), *root.glob("detectors/*/tests/test_*.py")]
    return [
        one
        for one in sorted(candidates)
        if re.search(r"^(from|import) (hypothesis|schemathesis)", one.read_text(), re.M)
    ]


def command_of(test: str | Path, seed: int, pytest: Sequence[str | Path] = PYTEST) -> list[str | Path]:
    return [*pytest, test, f"--hypothesis-seed={seed}"]


def environment(folder: str) -> dict[str, str]:
    """Earlier findings are not tried, so that a finding depends on the seed alone."""
    return {"ANELLO_HYPOTHESIS": "search", "HYPOTHESIS_STORAGE_DIRECTORY": folder, "COLUMNS": "1000"}


class Examples:
    name, share = "examples", 0.1

    def __init__(self, of: Sequence[Path], file: Path = FILE, pytest: Sequence[str | Path] = PYTEST) -> None:
        self._of, self._file, self._pytest = of, file, pytest
        self._next = 0
        self._found: set[str] = set()

    def missing(self) -> str:
        return ""

    def search(self, turn: Turn) -> Outcome:
        first = cases.new_seed()
        return outcome_of_files(self._units(first), lambda unit: self._tried(*unit, turn), turn, first, "examples")

    def _units(self, seed: int) -> Iterator[tuple[Path, int]]:
        for _ in self._of:
            yield self._of[self._next % len(self._of)], seed
            self._next, seed = self._next + 1, seed + 1

    def _run(self, test: str | Path, seed: int, turn: Turn, *options: str) -> Said:
        with tempfile.TemporaryDirectory() as folder:
            return run([*command_of(test, seed, self._pytest), *options], turn, environment=environment(folder))

    def _tried(self, path: Path, seed: int, turn: Turn) -> tuple[Counter[str], list[Finding]]:
        name = os.path.relpath(path, ROOT)
        said = self._run(name, seed, turn, "-m", "hypothesis", "--hypothesis-show-statistics")
        if said.code is None and turn.stop.is_set():
            return Counter(), []
        if said.code not in (0, PYTEST_FAILED, PYTEST_NONE):
            raise NotRunError(f"pytest {name} ended with {said.code}: {said.words[-300:]}")
        findings = [self._kept(test, what, seed, said, turn) for test, what in FAILED.findall(said.out)]
        return Counter(examples=sum(map(int, PASSING.findall(said.out)))), [one for one in findings if one]

    def _kept(self, test: str, what: str, seed: int, said: Said, turn: Turn) -> Finding | None:
        """Hypothesis has reduced the example; the seed finds it again."""
        if test in self._found:
            return None
        self._found.add(test)
        alone = self._run(test, seed, turn)
        blob = BLOB.search(alone.words) or BLOB.search(said.words)
        what = cases.one_line(what) + (f"; {blob.group()}" if blob else "")
        if alone.code == 0:
            what += "; not again alone"
        again = f"ANELLO_HYPOTHESIS=search .venv/bin/python -m pytest '{test}' --hypothesis-seed={seed}"
        return Finding(f"{test}: {what}", cases.add(self._file, f"{test} {seed}", what), again)
