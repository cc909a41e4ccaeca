# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the camera over loopback, as a user types them. All need the engine."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from stalls import PATIENCE_MS, only_late
from test_run import start

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytest.importorskip("anello._engine.camera", reason="this engine has no camera")
pytestmark = pytest.mark.process

SHORT = [
    "--set",
    "run.duration_s=1",
    "--set",
    "camera_source.rate_hz=50",
    "--set",
    "run.refresh_ms=100",
    "--set",
    f"camera_build.timeout_ms={PATIENCE_MS}",
]  # a thread that has to wait for a core makes nothing late
IMPATIENT = ["--set", "camera_build.timeout_ms=300"]  # where fragments are missing, and would be waited for


def run(directory: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Exit code, output and summary of a short run."""
    process = start("run", "detectors/camera/cta-camera.toml", *SHORT, "--report-dir", str(directory), *arguments)
    output, errors = process.communicate(timeout=180)
    summary = directory / "summary.json"
    return process.returncode, output + errors, json.loads(summary.read_text()) if summary.exists() else {}


def test_run_balances_and_reports(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path)
    assert code == 0, output
    assert summary["balanced"] is True
    assert summary["rates"]["events"] == 50
    assert summary["complete"] == 1.0
    assert summary["losses"] == {}
    assert 0 < summary["kept"] < 1
    assert summary["filter"]["showers"]["value"] > summary["filter"]["noise"]["value"]
    assert summary["latency"]["first_to_built"]["count"] == 50
    assert len(summary["ledger"]["boards"]) == 4 * 265
    page = (tmp_path / "report.html").read_text()
    assert all(f"<h2>{title}</h2>" in page for title in ("Latency", "Completeness", "Filter", "Events", "Ledger"))


def test_how_fragments_are_copied_and_why_is_reported(tmp_path: Path) -> None:
    """The copy method and the bytes per system call with the lowest of the costs that the trial found (the usual
    128 kB unless others are worth 2 % more), in the summary, the report and a notice."""
    code, output, summary = run(tmp_path, "--set", "camera_source.rate_hz=400")
    assert code == 0, output
    state = summary["states"]["copy0"]
    chosen = re.match(r"auto: (\w+), (\d+) kB per call; trial \d+, (at the start|as [a-z ]+): a step took ", state)
    assert chosen is not None, state
    sizes = re.findall(r"\d+", state.rpartition(", by ")[2])
    costs = {
        (way, size): float(ns)
        for cost, way in re.findall(r"([\d./]+) ns per byte (\w+)", state)
        for size, ns in zip(sizes, cost.split("/"), strict=True)
    }
    assert {way for way, _ in costs} == {"plain", "ahead", "non_temporal"}
    assert {size for _, size in costs} == {"32", "128", "512"}
    least = min(costs.values())
    assert 0 < least <= costs[chosen[1], chosen[2]] <= least / 0.98 + 0.001
    assert state in (tmp_path / "report.html").read_text()
    assert any(
        f"copies fragments by auto: {chosen[1]}, {chosen[2]} kB per call; trial" in notice["text"]
        for notice in summary["notices"]
    )


def test_a_method_that_was_asked_for_is_not_tried_against_others(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path, "--set", "camera_build.copy=ahead", "--set", "camera_source.rate_hz=400")
    assert code == 0, output
    assert summary["states"]["copy0"] == "ahead"


def test_faults_are_accounted_for(tmp_path: Path) -> None:
    faults = [f"camera_source.faults.{name}=0.01" for name in ("loss", "duplicate", "reorder", "corrupt", "truncate")]
    code, output, summary = run(tmp_path, *IMPATIENT, *(part for fault in faults for part in ("--set", fault)))
    assert code == 0 or only_late(summary), output
    assert summary["balanced"] is True
    assert {"never came", "duplicate", "malformed: wrong_checksum"} <= set(summary["losses"])
    assert summary["node_losses"]["events incomplete"] > 0


def test_dead_board_stops_nobody_and_is_named(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path, *IMPATIENT, "--set", "camera_source.faults.dead_board=17")
    assert code == 0 or only_late(summary), output
    assert summary["balanced"] is True
    assert summary["rates"]["events"] == 50
    assert summary["boards"]["silent"] == [17]
    assert "silent boards: 17" in output


def test_kept_events_are_written_and_accounted_for(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path)
    assert code == 0, output
    if "camera_store" not in summary["counters"]["node"]:
        pytest.skip("this engine writes no camera events")
    assert summary["counters"]["node"]["camera_store"]["events_stored"] == round(summary["kept"] * 50)
    assert summary["compression"]["ratio"] > 1
    assert (tmp_path / "events.h5").stat().st_size > 0


def test_three_stages_and_many_ports_are_the_same_chain(tmp_path: Path) -> None:
    ports = str([0] * 5)
    code, output, summary = run(
        tmp_path,
        "--set",
        'threads.layout=["receive", "build", "filter", "send"]',
        "--set",
        f"receive.ports={ports}",
        "--set",
        f"camera_source.ports={ports}",
    )
    assert code == 0, output
    assert summary["complete"] == 1.0


def test_source_and_node_as_two_commands(tmp_path: Path) -> None:
    node = start("node", "detectors/camera/cta-camera.toml", *SHORT, "--report-dir", str(tmp_path))
    assert node.stdout is not None
    ports = [int(word) for word in node.stdout.readline().split("ports ")[1].split(",")]
    source = start(
        "source", "detectors/camera/cta-camera.toml", *SHORT, "--set", f"camera_source.ports={ports}", "--json"
    )
    sent, errors = source.communicate(timeout=60)
    assert source.returncode == 0, errors
    output, errors = node.communicate(timeout=60)
    assert node.returncode == 0, output + errors
    assert json.loads(sent)["counters"]["source.board264"]["fragments"] == 50
    assert json.loads((tmp_path / "summary.json").read_text())["rates"]["events"] == 50
