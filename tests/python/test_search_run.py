# SPDX-License-Identifier: Apache-2.0
"""`anello search` as a user types it, over loopback. All need the engine; no test asks for a rate."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = pytest.mark.process

SHORT = ["--seconds", "0.3", "--repeats", "2", "--confirm", "1", "--tries", "1", "--step", "2000"]
FILES = ["plotly.min.js", "search.html", "search.json"]


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    return subprocess.Popen(
        [sys.executable, "-m", "anello", "search", "detectors/rich/na62-rich.toml", *arguments],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def search(directory: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Runs the command; returns exit code, output and search.json."""
    process = start(*SHORT, "--out", str(directory), *arguments)
    output, errors = process.communicate(timeout=240)
    content = directory / "search.json"
    return process.returncode, output + errors, json.loads(content.read_text()) if content.exists() else {}


def passes(trial: dict[str, Any]) -> bool:
    """Whether the measured numbers pass, by the rule in docs/reference/search.md."""
    keeps_up = trial["forgone_s"] == 0 and trial["behind_s"] <= 0.01 and trial["latency_us"]["p50"] <= 5000
    return keeps_up and not trial["losses"] and not trial["problems"] and not trial["error"]


def test_search_ends_with_words_files_and_code_that_agree(tmp_path: Path) -> None:
    """The exit code follows from the trials, however fast the machine is."""
    code, output, content = search(tmp_path, "--lowest", "2000", "--highest", "4000")
    assert all(verdict["passes"] == all(map(passes, verdict["trials"])) for verdict in content["verdicts"])
    confirmed = [verdict["rate_hz"] for verdict in content["verdicts"] if verdict["confirms"] and verdict["passes"]]
    assert content["found_hz"] == (confirmed[-1] if confirmed else None)
    assert code == (0 if confirmed else 4), output
    assert content["words"][0] in output
    assert content["verdicts"][0]["rate_hz"] == 2000
    trials = [trial for verdict in content["verdicts"] for trial in verdict["trials"]]
    assert all(trial["n_events"] > 0 and trial["node_cores"] > 0 and trial["source_cores"] > 0 for trial in trials)
    assert "loopback (lo); front ends and node on one machine; receive backend socket" in output
    assert "super-packet" in content["verdicts"][0]["offload"]
    assert "not counted" not in content["verdicts"][0]["offload"]
    assert (tmp_path / "search.html").stat().st_size > 5_000
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


@pytest.mark.long
def test_losses_are_named_and_nothing_passes(tmp_path: Path) -> None:
    loss = ("--set", "source.faults.loss=0.2")
    code, output, content = search(tmp_path, "--lowest", "4000", "--highest", "4000", *loss)
    assert code == 4, output
    assert content["first_failing"]["outcome"] == "loss"
    assert content["first_failing"]["trials"][0]["losses"]["never came"] > 0
    assert "no rate passes: the lowest, 4,000 /s, fails" in output


@pytest.mark.long
def test_run_that_cannot_start_is_reported(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        ports = f"receive.ports=[{taken.getsockname()[1]}, 0, 0, 0]"
        code, output, content = search(tmp_path, "--lowest", "4000", "--set", ports)
    assert code == 4, output
    assert content["first_failing"]["outcome"] == "broken"
    assert "the run failed: cannot listen on UDP" in output
    assert "Address already in use" in output


@pytest.mark.long
def test_ctrl_c_reports_what_is_known(tmp_path: Path) -> None:
    process = start(*SHORT, "--lowest", "2000", "--highest", "400000", "--out", str(tmp_path))
    assert process.stdout is not None
    assert "2,000 /s" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (tmp_path / "search.json").exists(), output + errors
    content = json.loads((tmp_path / "search.json").read_text())
    if content["interrupted"]:  # else the lowest rate failed on a busy machine, and it was over before
        assert process.returncode == 130, output + errors
        assert "interrupted; the highest rate that passed so far, not confirmed: 2,000 /s" in output
    assert len(content["verdicts"]) >= 1
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quantile", "p42"],
         "--quantile: must be one of p50, p99, p99.9, p99.99, max (given: p42). The default is p99.9"),
        (["--highest", "5"], "--highest: must not be below the lowest rate, 15000 (given: 5). Give both, or neither"),
        (["--set", "receive.backend=pcap", "--set", "receive.pcap_file=x.pcap"],
         "receive.backend: must take what the front ends send: a file has the rate it was recorded with "
         "(given: pcap). Set it to socket"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line_and_exit_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    directory = tmp_path / "out"
    process = start("--out", str(directory), *arguments)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (2, f"anello: {message}\n")
    assert not directory.exists()
