# SPDX-License-Identifier: Apache-2.0
"""Faults that ./dev search once found and that are mended: each case of tests/cases is tried again.

The C++ tests try seeds of chains, and those of farms that were judged by their output; test_corpora those of fuzzers.
"""

import json
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import seeds
from new_seeds import cases, examples, kills, properties
from new_seeds.program import ROOT, Turn, run

from anello.virtual_farm.command import Drawn


def ledger(chain: str = "") -> Callable[[str, Path], None]:
    """Replays a case of a detector's chain, or of a farm if `chain` is empty."""

    def again(words: str, _: Path) -> None:
        world = replace(Drawn.usual(), chain=chain).worlds()
        assert world.judged(int(words), 1, all_ledgers=True)["failed"] == []

    return again


def cpp_property(words: str, _: Path) -> None:
    program, test, parameters = words.split()
    path = properties.PROGRAMS / program
    if not path.exists():
        pytest.skip(f"{path} is not built; ./dev test builds it")
    environment = properties.environment_of(parameters)
    said = run(properties.command_of(path, test), Turn(0, threading.Event()), environment=environment)
    assert said.code == 0, said.words
    assert "[  PASSED  ] 0 tests" not in said.out, f"{program} has no test {test} any more: take the case out"


def example(words: str, folder: Path) -> None:
    test, seed = words.rsplit(maxsplit=1)
    environment = examples.environment(str(folder))
    said = run(examples.command_of(test, int(seed)), Turn(0, threading.Event()), environment=environment)
    assert said.code == 0, said.words


def kill(words: str, _: Path) -> None:
    done = subprocess.run([*kills.PROGRAM, *words.split()], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    (report,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert report["crashed"] == 0
    assert report["balanced"] is not False, report["off"]


FILES = {
    cases.FOLDER / "farm_seeds.txt": ledger(),
    cases.FOLDER / "rich_chain_seeds.txt": ledger("rich"),
    cases.FOLDER / "camera_chain_seeds.txt": ledger("camera"),
    cases.FOLDER / "km3net_chain_seeds.txt": ledger("km3net"),
    properties.FILE: cpp_property,
    examples.FILE: example,
    kills.FILE: kill,
}


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("farm", ["", "--standby", "--audit", "--large"])
@pytest.mark.parametrize("transport", kills.TRANSPORTS)
def test_a_farm_at_full_load_survives_what_befalls_a_node(transport: str, farm: str, tmp_path: Path) -> None:
    first = seeds.seed()
    kill(f"--seeds 1 --first {first} --transports {transport} {farm}", tmp_path)


@pytest.mark.process
@pytest.mark.parametrize(
    ("again", "words", "what"),
    [
        pytest.param(again, case.words, case.what, id=f"{file.stem}: {case.words}")
        for file, again in FILES.items()
        for case in cases.read(file)
    ],
)
def test_what_was_found_stays_mended(again: Callable[[str, Path], None], words: str, what: str, tmp_path: Path) -> None:
    print(f"it once found: {what}")
    again(words, tmp_path)
