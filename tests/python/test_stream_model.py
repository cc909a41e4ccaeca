# SPDX-License-Identifier: Apache-2.0
"""The ring's protocol, model-checked: every interleaving of a small ring, with stores that processors hold back;
and two threads that share a bell."""

import shutil
import subprocess
from pathlib import Path

import pytest

MODELS = Path(__file__).parents[1] / "conformance/stream"

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        not shutil.which("spin") or not shutil.which("cc"),
        reason="no model checker: needs the package spin and a C compiler",
    ),
]


def check(folder: Path, *variant: str, model: str = "ring") -> str:
    """The output of spin for all states of the model."""
    for command in (
        ["spin", "-a", *variant, str(MODELS / f"{model}.pml")],
        ["cc", "-O1", "-w", "-DSAFETY", "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    return subprocess.run(
        ["./pan", "-m200000"], cwd=folder, check=True, capture_output=True, text=True, timeout=240
    ).stdout


def test_no_wake_up_is_lost_and_nothing_is_read_early(tmp_path: Path) -> None:
    said = check(tmp_path)
    assert "errors: 0" in said
    assert "max search depth too small" not in said


def test_the_model_finds_the_lost_wake_up_of_plain_stores(tmp_path: Path) -> None:
    assert "invalid end state" in check(tmp_path, "-DWEAK")


def test_the_model_finds_bytes_that_are_read_before_they_are_written(tmp_path: Path) -> None:
    assert "assertion violated" in check(tmp_path, "-DEARLY")


def test_the_model_finds_the_wake_up_that_is_taken_with_an_old_bell(tmp_path: Path) -> None:
    assert "invalid end state" in check(tmp_path, "-DLATE")


def test_two_threads_of_a_process_share_a_socket_and_lose_no_bell(tmp_path: Path) -> None:
    said = check(tmp_path, model="bells")
    assert "errors: 0" in said
    assert "max search depth too small" not in said


def test_the_model_finds_the_bell_that_one_thread_keeps_from_the_other(tmp_path: Path) -> None:
    assert "invalid end state" in check(tmp_path, "-DDEAF", model="bells")
