# SPDX-License-Identifier: Apache-2.0
"""Output that cannot be written ends no run; the exit code is about the run, not about the terminal."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stalls import PATIENCE_MS

from anello.system.output import Sheltered

ROOT = Path(__file__).parents[2]


class Broken(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error, self.n_tried = error, 0

    def write(self, text: str) -> int:
        self.n_tried += 1
        raise self.error


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "no space left"), ValueError("closed")])
def test_a_stream_that_breaks_is_left_alone(error: Exception) -> None:
    stream = Broken(error)
    sheltered = Sheltered(stream)
    for _ in range(3):
        assert sheltered.write("hello") == 5
        sheltered.flush()
    assert (stream.n_tried, sheltered.is_broken) == (1, True)


def test_what_a_character_set_cannot_say_becomes_a_question_mark() -> None:
    content = io.BytesIO()
    sheltered = Sheltered(io.TextIOWrapper(content, encoding="ascii"))
    sheltered.write("12 µs → 3\n")
    sheltered.flush()
    assert content.getvalue() == b"12 ?s ? 3\n"
    assert not sheltered.is_broken


# --- Whole runs ---------------------------------------------------------------------------------------------------
needs_engine = pytest.mark.skipif(
    not list((ROOT / "anello").glob("_engine*.so")), reason="the compiled engine is not built"
)
CONFIG = "detectors/rich/na62-rich.toml"
SHORT = ["--set", "source.burst_ms=100", "--set", "source.gap_ms=10", "--set", "source.n_bursts=2", "--set",
         "source.rate_hz=5000", "--set", "source.simulation.n_pool_events=500",
         "--set", "receive.events_per_buffer=32", "--set", "run.refresh_ms=50",
         "--set", f"build.timeout_ms={PATIENCE_MS}", "--set", "trigger.deadline_us=0"]  # fmt: skip


def summary_of(directory: Path, shell: str, *, display: str = "plain", **environment: str) -> tuple[int, Any]:
    """shell: a line with $RUN for the command. Returns its exit code, and summary.json."""
    command = [sys.executable, "-m", "anello", "run", "detectors/rich/na62-rich.toml", *SHORT, "--set",
               f"run.display={display}", "--report-dir", str(directory)]  # fmt: skip
    variables = os.environ | {"PYTHONPATH": str(ROOT), "RUN": " ".join(command)} | environment
    done = subprocess.run(
        ["bash", "-c", shell],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
    assert (directory / "report.html").exists(), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, json.loads((directory / "summary.json").read_text())


@needs_engine
@pytest.mark.parametrize(
    "shell",
    [
        "$RUN | head -1; exit ${PIPESTATUS[0]}",
        "$RUN >/dev/full 2>/dev/full",
        *(pytest.param(shell, marks=pytest.mark.long) for shell in ("$RUN >&-", "$RUN >&- 2>&- <&-")),
    ],
)
@pytest.mark.process
def test_a_reader_that_goes_away_does_not_end_a_run(tmp_path: Path, shell: str) -> None:
    code, summary = summary_of(tmp_path, shell)
    assert summary["balanced"] is True
    assert code == summary["verdict"]["exit_code"] == 0
    assert summary["counters"]["source"]["source"]["bursts"] == 2


@needs_engine
@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.long)])
@pytest.mark.process
def test_a_narrow_character_set_does_not_end_a_run(tmp_path: Path, encoding: str) -> None:
    code, summary = summary_of(tmp_path, "$RUN", PYTHONIOENCODING=encoding)
    assert (code, summary["balanced"]) == (0, True)


@needs_engine
@pytest.mark.process
def test_front_ends_alone_send_on_without_a_reader(tmp_path: Path) -> None:
    node = subprocess.Popen(
        [sys.executable, "-m", "anello", "node", CONFIG, *SHORT, "--report-dir", str(tmp_path)], cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert node.stdout is not None
    ports = [int(word) for word in node.stdout.readline().split("ports ")[1].split(",")]
    source = f'{sys.executable} -m anello source {CONFIG} {" ".join(SHORT)} --set "source.ports={ports}"'
    done = subprocess.run(["bash", "-c", f"{source} >&-"], cwd=ROOT, timeout=120, check=False)
    output, _ = node.communicate(timeout=120)
    assert (done.returncode, node.returncode) == (0, 0), output


@needs_engine
@pytest.mark.process
def test_a_full_disk_costs_neither_the_ledger_nor_the_truth(tmp_path: Path) -> None:
    """A limit of 4 MB holds for each file: neither the events nor the report fit."""
    settings = ("run.duration_s=1", "camera_source.rate_hz=50", "camera_filter.enabled=false", "run.display=plain",
                f"camera_build.timeout_ms={PATIENCE_MS}", "camera_source.pool_events=4")  # fmt: skip
    given = " ".join(f"--set {one}" for one in settings)
    command = f"{sys.executable} -m anello run detectors/camera/cta-camera.toml {given} --report-dir {tmp_path}"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 4096; {command}"], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 5, done.stdout + done.stderr
    assert re.search(r"lost: .*\d+ events not stored", done.stdout), done.stdout
    assert "the ledger balances" in done.stdout
    assert "the report could not be written: File too large" in done.stdout
    assert "100 % complete" not in done.stdout.partition("events built")[2]
