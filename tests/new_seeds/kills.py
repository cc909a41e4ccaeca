# SPDX-License-Identifier: Apache-2.0
"""Processes of a real farm that are killed, ended and stopped at new moments: `killed_farm.py`."""

import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from new_seeds import cases
from new_seeds.cases import Finding
from new_seeds.kind import Outcome
from new_seeds.program import NotRunError, Turn, run

FILE = cases.FOLDER / "kills.txt"
PROGRAM = ("env", "PYTHONPATH=tests", sys.executable, "-m", "new_seeds.killed_farm")
COMMAND = "PYTHONPATH=tests .venv/bin/python -m new_seeds.killed_farm"  # for people
TRANSPORTS = ("memory", "ucx", "tcp", "udp")
FARMS: tuple[tuple[str, ...], ...] = ((), (), ("--standby",), ("--audit",), ("--large",))
TRIES = 3  # of one that failed: real processes do not do the same twice


class Kills:
    name, share = "kills", 0.1

    def __init__(self, file: Path = FILE, program: Sequence[str | Path] = PROGRAM) -> None:
        self._file, self._program = file, program

    def missing(self) -> str:
        return ""

    def search(self, turn: Turn) -> Outcome:
        """Tries one moment after another, each in another farm; at least one."""
        outcome = Outcome()
        first = cases.new_seed()
        for seed in range(first, first + 10**6):
            chance = random.Random(seed)
            options = ["--transports", chance.choice(TRANSPORTS), *chance.choice(FARMS)]
            report = self._tried(seed, options, turn)
            if report is None:
                break
            outcome.counts += Counter(kills=1, kill_ledgers=int(report["balanced"] is not None))
            if what := _what(report):
                outcome.findings.append(self._kept(seed, options, what, turn))
            if turn.seconds_left() == 0:
                break
        outcome.words = f"seeds from {first}: {outcome.counts['kills']} moments"
        return outcome

    def _tried(self, seed: int, options: Sequence[str], turn: Turn) -> dict[str, Any] | None:
        """None: the search was stopped meanwhile. Raises NotRunError."""
        said = run([*self._program, *command_words(seed, options)], turn)
        if said.code is None:
            return None
        lines = [line for line in said.out.splitlines() if line.startswith("{")]
        if said.code != 0 or len(lines) != 1:
            raise NotRunError(f"killed_farm.py ended with {said.code}: {cases.one_line(said.errors[-300:])}")
        report: dict[str, Any] = json.loads(lines[0])
        return report

    def _kept(self, seed: int, options: Sequence[str], what: str, turn: Turn) -> Finding:
        """The farm's options without those that make no difference, and how often it fails."""
        plain = list(options[:2])
        for fewer in [plain] if plain != list(options) else []:
            report = self._tried(seed, fewer, turn)
            if report and _what(report):
                options, what = fewer, _what(report)
        again = [self._tried(seed, options, turn) for _ in range(TRIES)]
        n_again = sum(bool(_what(report)) for report in again if report)
        words = " ".join(command_words(seed, options))
        what = f"{what}; {n_again} of {TRIES} times again"
        return Finding(what, cases.add(self._file, words, what), f"{COMMAND} {words}")


def command_words(seed: int, options: Sequence[str]) -> list[str]:
    return ["--seeds", "1", "--first", str(seed), *options]


def _what(report: dict[str, Any]) -> str:
    if not report["crashed"] and report["balanced"] is not False:
        return ""
    off = ", ".join(map(str, report["off"]))
    return cases.one_line(
        f"node {report['victim']} {report['what']} at {report['at_s']:.3f} s: exit codes {report['codes']}, "
        f"{report['crashed']} survivors crashed{', off: ' + off if off else ''}"
    )
