# SPDX-License-Identifier: Apache-2.0
"""Whole runs and the catalogue: one that ends, one that is killed, several nodes. All need the engine."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from stalls import FARM_PATIENCE, PATIENCE_MS

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.counters.pages import FOLDER, look_at

ROOT = Path(__file__).parents[2]
pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = pytest.mark.process

SHORT = ["source.burst_ms=200", "source.gap_ms=20", "source.n_bursts=2", "source.rate_hz=5000", "run.refresh_ms=100",
         "receive.events_per_buffer=32", f"build.timeout_ms={PATIENCE_MS}", "trigger.deadline_us=0",
         "run.n_report_events=0", "source.simulation.n_pool_events=500"]  # fmt: skip
LIMIT_S = 120


def start(directory: Path, command: str, config: str, *settings: str, more: tuple[str, ...] = ()) -> "subprocess.Popen":
    given = [part for one in (*settings, f"run.directory={directory}") for part in ("--set", one)]
    return subprocess.Popen(
        [sys.executable, "-m", "anello", command, config, *given, *more], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.02)


def state(directory: Path) -> str:
    """State of the only run, which this does not close."""
    if not of_runs_in(directory).exists():
        return ""
    with sqlite3.connect(of_runs_in(directory), timeout=10) as database:
        try:
            found = database.execute("SELECT state FROM run").fetchone()
        except sqlite3.OperationalError:  # it is being made
            return ""
    database.close()
    return str(found[0]) if found else ""


def test_a_run_ends_in_the_catalogue_with_its_files(tmp_path: Path) -> None:
    process = start(tmp_path, "run", "detectors/rich/na62-rich.toml", *SHORT, "run.name=shift")
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output
    with Catalogue.to_look_at(of_runs_in(tmp_path)) as catalogue:
        run = catalogue.runs.get(1)
    directory = Path(run["directory"])
    summary = json.loads((directory / "summary.json").read_text())
    assert (run["state"], run["exit_code"], run["balanced"], run["name"]) == ("ended", 0, True, "shift")
    assert (run["events"], run["lost"]) == (summary["rates"]["events"], 0)
    assert summary["origin"]["number"] == 1
    assert summary["origin"]["config_digest"] == run["config"]
    assert run["p999_ns"] == summary["latency"][run["leg"]]["p999_ns"]
    assert run["counters"]["node"] == summary["counters"]["node"]
    kept = {file["path"]: file for file in run["files"]}
    assert {"summary.json", "report.html", "decisions.h5"} <= kept.keys()
    assert all(file["sha256"] and file["bytes"] == (directory / path).stat().st_size for path, file in kept.items())


def test_a_run_that_is_killed_has_crashed_and_keeps_what_it_had_counted(tmp_path: Path) -> None:
    process = start(tmp_path, "run", "detectors/rich/na62-rich.toml", *SHORT, "source.n_bursts=1000")
    try:
        page = f"anello.node.{process.pid}"
        wait_for(lambda: state(tmp_path) == "running")
        wait_for(lambda: look_at(page).counters()["trigger"]["events"] > 100)
        header, seen = look_at(page).header, look_at(page).counters()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)
    with Catalogue.to_look_at(of_runs_in(tmp_path)) as catalogue:
        run = catalogue.runs.get(1)
    assert (run["state"], run["exit_code"]) == ("crashed", None)
    assert (header.run_number, header.config_digest) == (1, run["config"])
    assert run["counters"]["node"]["trigger"]["events"] >= seen["trigger"]["events"]
    assert run["events"] >= seen["build"]["events_built"]
    assert run["started_ns"] < run["ended_ns"] < time.time_ns()
    assert not (FOLDER / page).exists()


def test_nodes_of_one_machine_are_one_run(tmp_path: Path) -> None:
    settings = ("fabric.transport=tcp", "exchange.n_meps=100", "exchange.packing=100", "generator.n_buffers=16",
                *FARM_PATIENCE)  # fmt: skip
    more = ("--local", "2", "--no-reference")
    process = start(tmp_path, "exchange", "configs/lhcb-exchange.toml", *settings, more=more)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output
    with Catalogue.to_look_at(of_runs_in(tmp_path)) as catalogue:
        (run,) = catalogue.runs.find()
        run = catalogue.runs.get(run["number"])
    assert (run["chain"], run["state"], run["events"], run["leg"]) == ("exchange", "ended", 10_000, "ready_to_built")
    assert run["bytes"] > 0
    assert "summary.json" in [file["path"] for file in run["files"]]


def test_an_address_of_nobody_is_a_run_that_failed(tmp_path: Path) -> None:
    process = start(tmp_path, "node", "detectors/rich/na62-rich.toml", "receive.host=192.0.2.1")
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode in (1, 2), output
    with Catalogue.to_look_at(of_runs_in(tmp_path)) as catalogue:
        (run,) = catalogue.runs.find()
    assert (run["state"], run["exit_code"]) == ("failed", process.returncode)
    assert output.strip().endswith(f"anello: {run['verdict']}")


def test_a_run_of_a_search_is_not_counted(tmp_path: Path) -> None:
    process = start(tmp_path, "run", "detectors/rich/na62-rich.toml", *SHORT, more=("--led",))
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output
    assert not of_runs_in(tmp_path).exists()
