# SPDX-License-Identifier: Apache-2.0
"""Seeded faults in the card's sources (rtl/tests/mutants.toml): each is put into a copy of the sources, and its test
must fail there, and pass on the copy without a fault."""

import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anello.errors import InputError
from anello.nanet.card import CardSources
from anello.nanet.tools import Tools

BESIDE = ("engine", "detectors", "tests")  # folders that the tests read in addition to rtl/
LIMIT_S = 1800


FILE = "tests/mutants.toml"  # below rtl/


@dataclass(frozen=True)
class Mutant:
    """A fault. file: below rtl/; test: of pytest, below rtl/tests; only: of its cocotb tests, a regular expression."""

    name: str
    about: str
    file: str
    text: str
    fault: str
    test: str
    only: str = ""

    @property
    def named_test(self) -> str:
        return f"{self.test}: {self.only}" if self.only else self.test


@dataclass(frozen=True)
class MutantTrial:
    """The result of one fault. outcome: caught, survived, or why the trial proves nothing; passes_without: its test
    passes on the unchanged sources."""

    name: str
    about: str
    test: str
    outcome: str
    passes_without: bool

    @property
    def is_good(self) -> bool:
        return self.outcome == "caught" and self.passes_without


def mutants_of(card: CardSources) -> list[Mutant]:
    """The faults in the order of the file."""
    return [Mutant(**one) for one in tomllib.loads((card.rtl / FILE).read_text())["fault"]]


def check(card: CardSources, mutant: Mutant) -> None:
    """Checks a fault. Raises InputError where its text does not occur exactly once in the sources."""
    source = card.rtl / mutant.file
    n = source.read_text().count(mutant.text) if source.exists() else 0
    if n != 1:
        raise InputError(f"rtl/{FILE}: {mutant.name}: its text stands in rtl/{mutant.file} {n} times, not once")


def read_mutants(card: CardSources) -> list[Mutant]:
    """Reads and checks all faults. Raises InputError."""
    found = mutants_of(card)
    for mutant in found:
        check(card, mutant)
    return found


def chosen(mutants: Sequence[Mutant], only: str) -> list[Mutant]:
    """The selected faults. only: numbers (from 1) or names, comma-separated; empty: all. Raises InputError."""
    by_name = {mutant.name: mutant for mutant in mutants} | {str(i): one for i, one in enumerate(mutants, start=1)}
    wanted = only.split(",") if only else [mutant.name for mutant in mutants]
    if unknown := [name for name in wanted if name not in by_name]:
        raise InputError(f"no such fault: {', '.join(unknown)}; there are {', '.join(m.name for m in mutants)}")
    return [by_name[name] for name in wanted]


def try_each(card: CardSources, tools: Tools, mutants: Sequence[Mutant]) -> Iterator[MutantTrial]:
    """Tries the faults one after the other; each test runs once without a fault."""
    without: dict[tuple[str, str], str] = {}
    for mutant in mutants:
        what = mutant.test, mutant.only
        if what not in without:
            with copied(card) as rtl:
                without[what] = run(tools, card, rtl, mutant)
        with copied(card) as rtl:
            source = rtl / mutant.file
            source.write_text(source.read_text().replace(mutant.text, mutant.fault))
            said = run(tools, card, rtl, mutant)
        outcome = {"failed": "caught", "passed": "survived"}.get(said, said)
        yield MutantTrial(mutant.name, mutant.about, mutant.named_test, outcome, without[what] == "passed")


@contextmanager
def copied(card: CardSources) -> Iterator[Path]:
    """A copy of the sources in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="anello-mutant-") as folder:
        rtl = Path(folder) / "rtl"
        shutil.copytree(card.rtl, rtl, ignore=shutil.ignore_patterns("__pycache__"))
        for name in BESIDE:
            (Path(folder) / name).symlink_to(card.rtl.parent / name)
        yield rtl


def run(tools: Tools, card: CardSources, rtl: Path, mutant: Mutant) -> str:
    """Runs a test: passed, failed, or the reason why it gave neither."""
    environment: dict[str, Any] = {
        "ANELLO_BUILD": str(card.rtl.parent / "build/release"),
        **tools.environment,
        "ANELLO_LONG": "1",
        "ANELLO_RTL_TEST": mutant.only,
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "1000",
    }
    if not mutant.only:
        del environment["ANELLO_RTL_TEST"]
    command = [str(tools.folder / "bin/python"), "-m", "pytest", "-q", "-x", str(rtl / "tests" / mutant.test)]
    try:
        done = subprocess.run(
            command, cwd=rtl, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return "failed"  # the test hangs; its own limits would notice it later
    (card.build / f"mutant-{mutant.name}.log").write_text(done.stdout + done.stderr)
    return verdict(done.returncode, done.stdout)


def verdict(status: int, said: str) -> str:
    """The result from pytest's exit status and output. A fault that does not compile proves nothing, nor does a
    skipped test."""
    if re.search(r"^(FAILED|ERROR) .*(does not compile|CalledProcessError)", said, re.MULTILINE):
        return "does not compile"
    if status == 1:
        return "failed"
    if status == 0 and re.search(r"\b\d+ passed", said):
        return "passed"
    return "not run" + (f": {found[1]}" if (found := re.search(r"SKIPPED \[\d+\] \S+ (.*)", said)) else "")
