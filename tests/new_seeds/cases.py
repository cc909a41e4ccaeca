# SPDX-License-Identifier: Apache-2.0
"""Findings of a search as files that tests replay: tests/cases.

A line of such a file is a case, `WORDS  # what it found`; comments and empty lines may stand between them.
"""

import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from new_seeds.program import ROOT

FOLDER = ROOT / "tests/cases"


@dataclass(frozen=True)
class Finding:
    what: str
    where: str  # the file that holds it
    again: str  # the command that shows it again


@dataclass(frozen=True)
class Case:
    words: str
    what: str


def read(path: Path) -> list[Case]:
    """Cases of a file; none where there is no file."""
    cases = []
    for line in path.read_text().splitlines() if path.exists() else ():
        words, _, what = line.partition("#")
        if words.strip():
            cases.append(Case(words.strip(), what.strip()))
    return cases


def add(path: Path, words: str, what: str) -> str:
    """Adds the case, once; returns the file's name, and whether the case is new there."""
    name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    if words in (case.words for case in read(path)):
        return f"{name} had it"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() if path.exists() else ""
    path.write_text(before + ("\n" if before and not before.endswith("\n") else "") + f"{words}  # {one_line(what)}\n")
    return f"written to {name}"


def one_line(text: str, most: int = 600) -> str:
    return re.sub(r"\s+", " ", text.replace(f"{ROOT}/", "")).strip()[:most]


def new_seed(below: int = 10**9) -> int:
    """A new seed, 1 or more, with few digits, since people type it again."""
    return 1 + secrets.randbelow(below - 1)
