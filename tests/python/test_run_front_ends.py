# SPDX-License-Identifier: Apache-2.0
"""Front ends killed or frozen during a run: they are named, and the run ends with ledger, summary and report."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_run import start

from anello.configuration.origin import node_page
from anello.counters.pages import look_at
from anello.system.exit_codes import INCOMPLETE, LOST

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = pytest.mark.process

ENDLESS = {
    "detectors/rich/na62-rich.toml": ("source.burst_ms=100", "source.gap_ms=10", "source.n_bursts=1000000",
                               "source.rate_hz=5000", "source.simulation.n_pool_events=500",
                               "receive.events_per_buffer=32"),
    "detectors/camera/cta-camera.toml": ("run.n_events=100000000", "camera_source.rate_hz=20",
                                         "camera_source.pool_events=4"),
}  # fmt: skip
SETTINGS = ("run.display=plain", "run.refresh_ms=50")


def endless(command: str, config: str, directory: Path, *settings: str) -> subprocess.Popen[str]:
    given = [part for one in (*ENDLESS[config], *SETTINGS, *settings) for part in ("--set", one)]
    report = [] if command == "source" else ["--report-dir", str(directory)]
    return start(command, config, *given, *report)


def child_of(process: subprocess.Popen[str]) -> int:
    return int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def wait_for_line(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"it ended without saying {words!r}")


def end_of(process: subprocess.Popen[str], directory: Path) -> tuple[str, dict[str, Any]]:
    output, errors = process.communicate(timeout=120)
    assert "Traceback" not in errors, errors
    assert (directory / "report.html").exists(), errors
    return output, json.loads((directory / "summary.json").read_text())


def events(line: str) -> int:
    """Number of events in a line of the display."""
    numbers = (
        line.replace("built:", "events:").partition("events: ")[2].split(",  ")[0].split(" of")[0].split(", now")[0]
    )
    return int(numbers.replace(",", "") or 0)


def wait_for_events(process: subprocess.Popen[str]) -> None:
    while not events(wait_for_line(process, "now ")):
        pass


@pytest.mark.parametrize("config", ENDLESS)
def test_killed_front_ends_end_the_run_with_its_ledger(tmp_path: Path, config: str) -> None:
    process = endless("run", config, tmp_path)
    wait_for_events(process)
    child = child_of(process)
    os.kill(child, signal.SIGKILL)
    while (state := look_at(node_page(process.pid)).header.state) in ("running", "draining"):
        pass
    assert state == "failed", "in its page, while it writes its report"
    output, summary = end_of(process, tmp_path)
    assert process.returncode == summary["verdict"]["exit_code"] == 1
    assert "the front ends ended early, killed by signal 9 (SIGKILL)" in summary["verdict"]["line"]
    assert summary["verdict"]["line"] in output
    assert summary["rates"]["events"] > 0
    assert summary["counters"]["source"]["source"]["events"] >= summary["rates"]["events"] > 0
    assert not Path(f"/dev/shm/anello.source.{child}").exists()


def test_frozen_front_ends_are_named_and_ctrl_c_does_not_wait_for_them(tmp_path: Path) -> None:
    process = endless("run", "detectors/rich/na62-rich.toml", tmp_path)
    wait_for_events(process)
    child = child_of(process)
    os.kill(child, signal.SIGSTOP)
    wait_for_line(process, "no front end has sent for 2.")
    process.send_signal(signal.SIGINT)
    _, summary = end_of(process, tmp_path)
    assert process.returncode == 1
    assert summary["interrupted"] is True
    assert "was suspended" in summary["verdict"]["line"]
    assert any("no front end has sent" in notice["text"] for notice in summary["notices"])
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.long
def test_front_ends_that_continue_are_named_too(tmp_path: Path) -> None:
    process = endless("run", "detectors/rich/na62-rich.toml", tmp_path)
    wait_for_events(process)
    child = child_of(process)
    os.kill(child, signal.SIGSTOP)
    wait_for_line(process, "no front end has sent for 2.")
    os.kill(child, signal.SIGCONT)
    wait_for_line(process, "front ends send again, after ")
    process.send_signal(signal.SIGINT)
    _, summary = end_of(process, tmp_path)
    assert "ended early" not in summary["verdict"]["line"]


def test_a_node_says_when_its_front_ends_leave(tmp_path: Path) -> None:
    node = endless("node", "detectors/rich/na62-rich.toml", tmp_path, "trigger.deadline_us=0")
    ports = [int(word) for word in wait_for_line(node, "ports ").split("ports ")[1].split(",")]
    source = endless("source", "detectors/rich/na62-rich.toml", tmp_path, f"source.ports={ports}")
    wait_for_events(node)
    source.kill()
    source.communicate()
    wait_for_line(node, "no front end has sent for 2.")
    node.send_signal(signal.SIGINT)
    _, summary = end_of(node, tmp_path)
    assert summary["rates"]["events"] > 0
    assert node.returncode == summary["verdict"]["exit_code"] in (0, LOST, INCOMPLETE)  # of what was on its way
