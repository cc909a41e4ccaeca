# SPDX-License-Identifier: Apache-2.0
"""`anello control`, `anello ctl` and `anello run --live` as users type them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stalls import PATIENCE_MS

from anello.account.verdict import EXIT_CODES, Word
from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.control.states import State

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
RICH = ROOT / "detectors/rich/na62-rich.toml"
SMALL = ["--set", "source.rate_hz=2000", "--set", "run.n_report_events=0", "--set", "run.refresh_ms=50",
         "--set", f"build.timeout_ms={PATIENCE_MS}", "--set", "trigger.deadline_us=0"]  # fmt: skip
ANELLO = [sys.executable, "-m", "anello"]


class Control:
    """A control room as a process."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [*ANELLO, "control", "--directory", str(directory), "--bind", "127.0.0.1:0", "--no-doctor", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.said = [self.process.stdout.readline() for _ in range(2)]

    def kill(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Kills every process that still runs there at the end."""
    yield tmp_path
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        for row in catalogue.runs.find():
            if row["ended_ns"] is None:
                os.kill(row["process"], signal.SIGKILL)


def ctl(directory: Path, *arguments: str) -> dict[str, Any]:
    typed = [*ANELLO, "ctl", *arguments, "--directory", str(directory), "--json"]
    done = subprocess.run(typed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def assert_ended(row: dict[str, Any]) -> None:
    """The run ended as ordered; losses while the machine stood still are counted (bench/system/control_bench.py)."""
    assert (row["state"], row["balanced"], row["exit_code"]) == ("ended", True, EXIT_CODES[Word(row["word"])])
    assert bool(row["lost"]) == (row["exit_code"] != 0)


def complaint(*arguments: str) -> str:
    done = subprocess.run([*ANELLO, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    return done.stderr


def refused(directory: Path, *arguments: str) -> str:
    return complaint("ctl", *arguments, "--directory", str(directory))


def test_a_shift(directory: Path) -> None:
    control = Control(directory)
    assert re.match(r"live page, to operate: http://127\.0\.0\.1:\d+ \(anello ctl page", control.said[0])
    assert not any("token=" in line for line in control.said), "this is no terminal: anybody may read it"
    for role in ([], ["--viewer"]):
        page = subprocess.run([*ANELLO, "ctl", "page", *role, "--directory", str(directory)], capture_output=True,
                              text=True, check=True)  # fmt: skip
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=\S{16,}\n", page.stdout)
    assert "must have no other control room" in complaint("control", "--directory", str(directory))
    assert ctl(directory, "status")["state"] == "offline"
    assert "start is not possible while offline; possible now: configure" in refused(directory, "start")
    assert ctl(directory, "configure", str(RICH), *SMALL, "--set", "run.duration_s=0")["state"] == "configured"
    assert ctl(directory, "arm")["state"] == "ready"
    assert ctl(directory, "start")["state"] == "running"
    status = ctl(directory, "stop")
    assert (status["state"], status["run"]) == ("configured", 1)
    with Catalogue(of_runs_in(directory)) as catalogue:
        assert_ended(catalogue.runs.get(1))
    assert control.kill(signal.SIGTERM) == 0
    assert "must be one that a control room has" in refused(directory, "status")


@pytest.mark.long
def test_a_run_outlives_its_control_room(directory: Path) -> None:
    control = Control(directory, str(RICH), *SMALL, "--set", "run.duration_s=0")
    ctl(directory, "arm")
    ctl(directory, "start")
    control.kill()
    with Catalogue(of_runs_in(directory)) as catalogue:
        assert catalogue.runs.get(1)["state"] == "running"
        again = Control(directory)
        status = ctl(directory, "status")
        assert (status["state"], status["run"]) == ("running", 1)
        ctl(directory, "stop")
        assert_ended(catalogue.runs.get(1))
    again.kill(signal.SIGTERM)


def test_a_node_that_is_killed_leaves_a_crashed_run_and_an_alarm(directory: Path) -> None:
    control = Control(directory, str(RICH), *SMALL, "--set", "run.duration_s=0")
    ctl(directory, "arm")
    ctl(directory, "start")
    with Catalogue(of_runs_in(directory)) as catalogue:
        os.kill(catalogue.runs.get(1)["process"], signal.SIGKILL)
        deadline = time.monotonic() + 60
        while not (raised := catalogue.alarms.newest(raised_only=True)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert catalogue.runs.get(1)["state"] == "crashed"
        assert raised[0]["rule"] == "run lost"
        assert "was killed by signal 9" in raised[0]["text"]
        status = ctl(directory, "status")
        assert status["state"] == State.ERROR
        assert ctl(directory, "reset")["state"] == "offline"
    control.kill(signal.SIGTERM)


def test_a_run_with_a_page_ends_with_the_first_ctrl_c(directory: Path) -> None:
    process = subprocess.Popen(
        [*ANELLO, "run", str(RICH), "--live", *SMALL, "--duration", "0", "--set", f"run.directory={directory}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    lines = iter(process.stdout)
    assert next(lines).startswith("live page: http://127.0.0.1:")
    next(line for line in lines if line.startswith("time: "))
    process.send_signal(signal.SIGINT)
    said = "".join(lines)
    assert process.wait(60) == 0
    assert "the ledger balances" in said
    with Catalogue(of_runs_in(directory)) as catalogue:
        assert catalogue.runs.get(1)["state"] == "ended"
