# SPDX-License-Identifier: Apache-2.0
"""Properties of the C++ tests, by RapidCheck, and whatever else of those tests takes its dice from ANELLO_SEED."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from new_seeds import cases
from new_seeds.cases import Finding
from new_seeds.kind import Outcome, outcome_of_files
from new_seeds.program import ROOT, NotRunError, Said, Turn, run

FILE = cases.FOLDER / "properties.txt"
PROGRAMS = ROOT / "build/release/tests"
RAPIDCHECK = re.compile(r"RC_GTEST_(?:FIXTURE_)?PROP\((\w+),\s*(\w+)")
TEST = re.compile(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)")
DICE = re.compile(r"\brc::check\(|\btest::seed\(\)")
PASSED = re.compile(r"^OK, passed (\d+) tests", re.MULTILINE)  # rc::check() says so
FAILED = re.compile(r"^\[  FAILED  \] ([\w/.]+)(?:, where .*)? \(\d+ ms\)$", re.MULTILINE)
BEGUN = re.compile(r"^\[ RUN      \] (\S+)$", re.MULTILINE)
CASES = 100  # of a property, RapidCheck's default


@dataclass(frozen=True)
class Properties:
    """The tests of one source file, and the program that has them."""

    program: Path
    tests: tuple[str, ...]
    rapidcheck: tuple[str, ...]  # subset of tests, which RapidCheck runs without printing their names

    @property
    def filter(self) -> str:
        return ":".join(f"{test}:*/{test}/*" for test in self.tests)


def properties(root: Path = ROOT, programs: Path = PROGRAMS) -> list[Properties]:
    """Finds all sources whose tests throw dice. The folder decides the program (tests/CMakeLists.txt)."""
    sources = [*root.glob("tests/*/*/*.cpp"), *root.glob("detectors/*/tests/*.cpp")]
    found = []
    for source in sorted(sources):
        text = source.read_text()
        folder = source.parents[1].name if source.parent.name == "tests" else source.parent.name
        rapidcheck = tuple(f"{suite}.{name}" for suite, name in RAPIDCHECK.findall(text))
        tests = rapidcheck + tuple(_with_dice(text))
        if tests and not source.stem.endswith("_fuzz"):
            found.append(Properties(programs / f"test_{folder}", tests, rapidcheck))
    return found


def _with_dice(text: str) -> Iterator[str]:
    """Tests that throw dice themselves; all tests of the file if the code before the first one does."""
    begins = [*TEST.finditer(text)]
    if not begins:
        return
    ends = [one.start() for one in begins[1:]] + [len(text)]
    all_do = DICE.search(text, 0, begins[0].start()) is not None
    for begin, end in zip(begins, ends, strict=True):
        if all_do or DICE.search(text, begin.end(), end):
            yield f"{begin[1]}.{begin[2]}"


def environment_of(parameters: str, seed: int = 1) -> dict[str, str]:
    """Environment that repeats a case: `seed=N`, or RapidCheck's own `reproduce=...`."""
    if parameters.startswith("seed="):
        seed = int(parameters.removeprefix("seed="))
    return {"ANELLO_SEED": str(seed), "RC_PARAMS": parameters}


def command_of(program: Path, test: str) -> list[str | Path]:
    return [program, f"--gtest_filter={test}"]


class CppProperties:
    name, share = "properties", 0.15

    def __init__(self, of: list[Properties], file: Path = FILE) -> None:
        self._of, self._file = of, file
        self._next = 0
        self._found: set[str] = set()

    def missing(self) -> str:
        if any(one.program.exists() for one in self._of):
            return ""
        return f"there are no test programs in {PROGRAMS.relative_to(ROOT)}; ./dev search builds them"

    def search(self, turn: Turn) -> Outcome:
        first = cases.new_seed()
        return outcome_of_files(
            self._units(first), lambda unit: self._tried(*unit, turn), turn, first, "property_cases"
        )

    def _units(self, seed: int) -> Iterator[tuple[Properties, int]]:
        """Each file once in a turn; the next turn continues after the last one."""
        known = [one for one in self._of if one.program.exists()]
        for _ in known:
            yield known[self._next % len(known)], seed
            self._next, seed = self._next + 1, seed + 1

    def _tried(self, one: Properties, seed: int, turn: Turn) -> tuple[Counter[str], list[Finding]]:
        parameters = f"seed={seed}"
        said = run(command_of(one.program, one.filter), turn, environment=environment_of(parameters))
        if said.code is None and turn.stop.is_set():
            return Counter(), []
        n_silent = sum(said.words.count(f"[       OK ] {test} (") for test in one.rapidcheck)
        n_cases = CASES * n_silent + sum(map(int, PASSED.findall(said.words)))
        findings = [] if said.code == 0 else self._kept(one, parameters, said, turn)
        return Counter(property_cases=n_cases), findings

    def _kept(self, one: Properties, parameters: str, said: Said, turn: Turn) -> list[Finding]:
        if said.code is not None and said.code > 0 and not FAILED.search(said.out):
            raise NotRunError(f"{one.program.name} ended with {said.code}: {said.words[-300:]}")
        failed = dict.fromkeys(FAILED.findall(said.out) or BEGUN.findall(said.out)[-1:])  # the last one has crashed
        found = []
        for test in failed.keys() - self._found:  # a file's next seeds find the same again
            self._found.add(test)
            alone = run(command_of(one.program, test), turn, environment=environment_of(parameters))
            shrunk = re.search(r"reproduce=\S+", alone.words)
            words = f"{one.program.name} {test} {parameters}"
            if shrunk:
                words = f"{one.program.name} {test} {shrunk.group().rstrip(chr(34))}"
            what = _what(alone if alone.code != 0 else said)
            if alone.code == 0:
                what += "; not again alone"
            setting = " ".join(f"{name}={value}" for name, value in environment_of(words.split()[-1]).items())
            again = f"{setting} build/release/tests/{one.program.name} --gtest_filter='{test}'"
            found.append(Finding(f"{test}: {what}", cases.add(self._file, words, what), again))
        return found


def _what(said: Said) -> str:
    if said.code is None:
        return "it did not end"
    if said.code < 0 and "Failure" not in said.words:
        return f"ended by signal {-said.code}: {said.words[-300:]}"
    begin = max(said.words.find("Falsifiable after"), 0) or max(said.words.find("Failure"), 0)
    return cases.one_line(said.words[begin:], 300)
