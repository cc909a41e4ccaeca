# SPDX-License-Identifier: Apache-2.0
"""Whole runs over loopback, as a user starts them. All need the engine."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from detector_data import RUN_8548, DetectorData
from stalls import PATIENCE_MS, only_late

from anello.rich import decisions
from anello.system.exit_codes import LOST

ROOT = Path(__file__).parents[2]
pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = pytest.mark.process

SHORT = [
    "--set",
    "source.burst_ms=200",
    "--set",
    "source.gap_ms=20",
    "--set",
    "source.n_bursts=3",
    "--set",
    "source.rate_hz=20000",
    "--set",
    "run.refresh_ms=100",
    "--set",
    "receive.events_per_buffer=32",
    "--set",
    f"build.timeout_ms={PATIENCE_MS}",
    "--set",
    "trigger.deadline_us=0",
]  # fmt: skip - a thread that has to wait for a core makes nothing late, and no decision another
IMPATIENT = ["--set", "build.timeout_ms=300"]  # where fragments are missing, and would be waited for


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    return subprocess.Popen(
        [sys.executable, "-m", "anello", *arguments],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(directory: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Makes a short run; returns exit code, output and summary."""
    process = start("run", "detectors/rich/na62-rich.toml", *SHORT, "--report-dir", str(directory), *arguments)
    output, errors = process.communicate(timeout=120)
    summary = directory / "summary.json"
    return process.returncode, output + errors, json.loads(summary.read_text()) if summary.exists() else {}


def test_run_balances_and_reports(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path)
    assert code == 0, output
    assert summary["balanced"] is True
    assert summary["rates"]["events"] == pytest.approx(12_000, rel=0.1)
    assert summary["losses"] == {}
    assert summary["latency"]["sent_to_decided"]["count"] == summary["rates"]["events"]
    assert summary["quality"]["all_events"]["efficiency_5mm"]["value"] > 0.5
    assert 20_000 < (tmp_path / "report.html").stat().st_size < 1_000_000
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000


def test_faults_are_accounted_for(tmp_path: Path) -> None:
    faults = [f"source.faults.{name}=0.02" for name in ("loss", "duplicate", "reorder", "corrupt", "truncate")]
    code, output, summary = run(tmp_path, *IMPATIENT, *(part for fault in faults for part in ("--set", fault)))
    assert code == 0 or only_late(summary), output
    assert summary["balanced"] is True
    assert {"never came", "duplicate", "malformed: wrong_checksum"} <= set(summary["losses"])


def test_dead_board_stops_nobody(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path, *IMPATIENT, "--set", "source.faults.dead_board=2")
    assert code == 0 or only_late(summary), output
    assert summary["balanced"] is True
    assert summary["counters"]["node"]["build.board2"]["missing"] > 0
    assert summary["rates"]["events"] == pytest.approx(12_000, rel=0.1)


@pytest.mark.long
def test_packed_hits_and_mep_balance(tmp_path: Path) -> None:
    for number, settings in enumerate((["source.hit_times=false"], ["source.format=mep"])):
        directory = tmp_path / str(number)
        code, output, _ = run(directory, *(part for setting in settings for part in ("--set", setting)))
        assert code == 0, output


def test_mep_finds_the_rings_that_mgp_finds(tmp_path: Path, detector_data: DetectorData) -> None:
    """NA62's own events go through the whole chain; MEP's fragments have only the tick as time."""
    path, truth = detector_data.file(RUN_8548)
    found = {}
    for form in ("mgp", "mep"):
        code, output, summary = run(tmp_path / form, "--set", f"source.format={form}", "--events", str(path))
        assert code == 0, output
        assert summary["agreement"]["rings_of_reference"] == truth["n_rings"]
        found[form] = summary["agreement"]["found"]
    assert found["mgp"] >= truth["n_found"]
    assert found["mep"] >= found["mgp"] - 2


def test_ctrl_c_drains_and_prints_the_ledger(tmp_path: Path) -> None:
    process = start("run", "detectors/rich/na62-rich.toml", *SHORT, "--set", "source.n_bursts=100000",
                    "--set", "run.display=plain", "--report-dir", str(tmp_path))  # fmt: skip
    assert process.stdout is not None
    while "events" not in (line := process.stdout.readline()):
        assert line, "it ended before it showed progress"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, output + errors
    assert "the ledger balances" in output
    assert "stopped as ordered" in output
    assert json.loads((tmp_path / "summary.json").read_text())["interrupted"] is True


def test_port_in_use_names_the_cause(tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        code, output, _ = run(tmp_path, "--set", f"receive.ports=[{port}, 0, 0, 0]")
    assert code == 1
    assert "Address already in use" in output
    assert str(port) in output


def test_source_and_node_as_two_commands(tmp_path: Path) -> None:
    node = start("node", "detectors/rich/na62-rich.toml", *SHORT, "--report-dir", str(tmp_path))
    assert node.stdout is not None
    ports = [int(word) for word in node.stdout.readline().split("ports ")[1].split(",")]
    source = start("source", "detectors/rich/na62-rich.toml", *SHORT, "--set", f"source.ports={ports}", "--json")
    sent, errors = source.communicate(timeout=60)
    assert source.returncode == 0, errors
    counters = json.loads(sent)["counters"]
    assert len(errors.splitlines()) < 10, "a summary, not every counter"
    assert f"{sum(counters[f'source.board{board}']['datagrams_sent'] for board in range(4)):,} datagrams sent" in errors
    output, errors = node.communicate(timeout=60)
    assert node.returncode == 0, output + errors
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["rates"]["events"] == counters["source.board0"]["fragments"]


def test_source_alone_needs_ports() -> None:
    process = start("source", "detectors/rich/na62-rich.toml")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.startswith("anello: source.ports: must be the ports that the node listens at")


def test_a_full_disk_costs_decisions_and_report_but_not_the_ledger(tmp_path: Path) -> None:
    """A limit on files stands for the disk; the file of decisions can be read, with what had room in it before."""
    long = ("source.n_bursts=1", "source.burst_ms=2000", "source.rate_hz=50000")
    stored = ("store.prescale_log2=0", "run.display=plain")
    settings = [part for one in (*long, *stored) for part in ("--set", one)]
    process = start("run", "detectors/rich/na62-rich.toml", *SHORT, *settings, "--report-dir", str(tmp_path))
    assert process.stdout is not None
    while "events" not in (line := process.stdout.readline()):
        assert line, "it ended before it showed progress"
    limit_bytes = 500_000
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    output, errors = process.communicate(timeout=120)
    assert process.returncode == LOST, output + errors
    assert "Traceback" not in errors
    assert "decisions not stored" in output
    assert "the ledger balances" in output
    assert "cannot be read" not in output
    kept = decisions.read(tmp_path / "decisions.h5")
    assert len(kept["event_key"]) < 2 * 50_000, "of all that were decided"
    assert kept["ring_offset"][[0, -1]].tolist() == [0, len(kept["ring_x_mm"])]
    assert "the report could not be written" in output


@pytest.mark.parametrize("command", [pytest.param("run", marks=pytest.mark.long), "node"])
def test_a_second_run_replaces_the_first_only_where_it_is_ordered(tmp_path: Path, command: str) -> None:
    stored = ["--set", "store.decisions=decisions.h5", "--duration", "0.5"]
    assert run(tmp_path, *stored)[0] == 0
    summary, decisions = (tmp_path / "summary.json").read_bytes(), (tmp_path / "decisions.h5").read_bytes()
    again = start(command, "detectors/rich/na62-rich.toml", *SHORT, *stored, "--report-dir", str(tmp_path))
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 2
    assert "--overwrite" in errors
    (tmp_path / "summary.json").unlink()  # as of a run that was killed
    again = start(command, "detectors/rich/na62-rich.toml", *SHORT, *stored, "--report-dir", str(tmp_path))
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 2
    assert "decisions.h5" in errors
    assert (tmp_path / "decisions.h5").read_bytes() == decisions
    if command == "run":
        assert run(tmp_path, *stored, "--set", "run.seed=7", "--overwrite")[0] == 0
        assert (tmp_path / "decisions.h5").read_bytes() != decisions
        assert (tmp_path / "summary.json").read_bytes() != summary


def ending(output: str) -> list[str]:
    """Lines of the output, from the one with the run's result on."""
    lines = output.splitlines()
    return lines[next(index for index, line in enumerate(lines) if " events decided" in line) :]


@pytest.mark.long
def test_a_balanced_run_ends_in_few_lines_that_a_pipe_does_not_break(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "40"}  # a pipe has no columns
    command = [sys.executable, "-m", "anello", "run", "detectors/rich/na62-rich.toml", *SHORT]
    outputs = []
    for number, more in enumerate(([], ["--ledger"])):
        directory = tmp_path / str(number)
        done = subprocess.run([*command, "--report-dir", str(directory), *more], cwd=ROOT, env=environment,
                              capture_output=True, text=True, timeout=120, check=True)  # fmt: skip
        outputs.append(done.stdout)
    few, every = map(ending, outputs)
    summary = json.loads((tmp_path / "0/summary.json").read_text())
    made = sum(summary["counters"]["source"][f"source.board{board}"]["fragments"] for board in range(4))
    assert len(few) <= 25, few
    assert f"the ledger balances: all {made:,} fragments accounted for" in few
    assert few[-1] == f"report: {tmp_path / '0/report.html'}"
    assert sum(" → " in line for line in few) >= 7, "the legs of the latency"
    assert not any("board 0: made" in line for line in few)
    rows = json.loads((tmp_path / "1/summary.json").read_text())["ledger"]["rows"]
    for row in rows:
        assert any(row["level"] in line and row["name"] in line and f"{row['total']:,}" in line for line in every), row
    assert "\x1b" not in outputs[1]


def test_the_log_tells_the_run_from_its_command_to_its_exit_code(tmp_path: Path) -> None:
    log = tmp_path / "elsewhere.log"
    code, output, _ = run(tmp_path, "--log-file", str(log), "-v")
    assert code == 0, output
    first, *_, last = log.read_text().splitlines()
    assert f"anello run detectors/rich/na62-rich.toml {' '.join(SHORT)}" in first
    assert last.endswith("ended with exit code 0")
    assert any(" time: " in line and line[11:19] in output for line in log.read_text().splitlines()), "-v shows details"
    assert not (tmp_path / "run.log").exists()
    code, output, _ = run(tmp_path / "again", "--set", "receive.host=256.0.0.1")
    assert code != 0
    assert f"ended with exit code {code}: " in (tmp_path / "again/run.log").read_text()


def test_json_is_all_that_a_program_reads(tmp_path: Path) -> None:
    process = start("run", "detectors/rich/na62-rich.toml", *SHORT, "--json", "--report-dir", str(tmp_path))
    output, errors = process.communicate(timeout=120)
    assert json.loads(output) == json.loads((tmp_path / "summary.json").read_text())
    assert "the ledger balances" in errors
    assert (tmp_path / "report.html").exists()
