# SPDX-License-Identifier: Apache-2.0
"""Complete runs of a line over loopback, started as by a user. All of them need the engine."""

import struct
from pathlib import Path
from typing import Any

import pytest
from detector_data import CLB, DetectorData
from stalls import PATIENCE_MS

from anello.system.exit_codes import INCOMPLETE, LOST

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytest.importorskip("anello._engine.km3net", reason="this engine has no KM3NeT")
pytestmark = pytest.mark.process

# A sixth of the usual rate, so that a busy machine keeps up, and time-outs long enough for a busy neighbour.
SHORT = [
    "run.duration_s=2",
    "run.refresh_ms=100",
    "boards.singles_hz=1000",
    "boards.pool_slices=3",
    f"slices.timeout_ms={PATIENCE_MS}",
    "boards.max_behind_ms=5000",
    "slices.n_slices=40",
]


def test_a_run_balances_finds_what_is_expected_and_reports(tmp_path: Path, anello_run: Any) -> None:
    code, output, summary = anello_run(*SHORT, "boards.muon_hz=40", "boards.muon_radius_m=8")
    assert code == 0, output
    assert summary["balanced"] is True
    assert summary["complete"] == 1.0
    assert summary["losses"] == {}
    rates = summary["rates"]
    assert rates["events"] == 20
    found, expected = rates["per_dom_hz"], rates["expected_per_dom_hz"]
    assert found["l1"] == pytest.approx(expected["l1"], rel=0.08)
    assert found["l2"] == pytest.approx(expected["l2"], rel=0.12)
    assert rates["triggered"] >= 10  # muons near the line: nearly all of the 80 in 2 s
    assert summary["counters"]["node"]["trigger"]["frames_used"] == 20 * 18
    hits = next(row for row in summary["ledger"]["rows"] if row["level"] == "hits" and "boards" in row["name"])
    assert hits["total"] > 20 * 18 * 31 * 90  # 1 kHz in 0.1 s
    page = (tmp_path / "report.html").read_text()
    assert all(f"<h2>{title}</h2>" in page for title in ("Coincidences", "PMT rates", "40K", "Events", "Ledger"))


def test_faults_are_accounted_for_number_by_number(anello_run: Any) -> None:
    faults = [f"boards.faults.{name}=0.05" for name in ("loss", "duplicate", "reorder")]
    code, output, summary = anello_run(*SHORT, *faults, "boards.hits_per_datagram=100", "boards.faults.dead_board=4")
    assert code == 0, output
    assert summary["balanced"] is True
    made = next(row for row in summary["ledger"]["rows"] if row["name"] == "made by the boards")
    parts = dict(made["parts"])
    assert parts["lost on purpose"] > 0
    assert parts["board dead"] > 0
    assert parts.get("never came", 0) == 0
    assert summary["losses"].keys() == {"duplicate"}
    assert summary["node_losses"]["frames incomplete"] > 0
    assert summary["complete"] == 0  # one DOM is dead


def test_a_run_of_others_is_not_used(anello_run: Any) -> None:
    code, output, _ = anello_run(*SHORT, "slices.run_number=7")
    assert code != 0
    assert "slices.run_number: must be boards.run_number, 1, or 0" in output


def test_a_capture_of_boards_is_replayed(replay: Any, detector_data: DetectorData) -> None:
    path, truth = detector_data.file(CLB)
    file, datagrams = path.read_bytes(), []
    while file:
        length = struct.unpack_from("<I", file)[0]
        datagrams.append(file[4 : 4 + length])
        file = file[4 + length :]
    code, output, summary = replay(
        datagrams,
        *SHORT,
        "line.doms=1",
        f"line.first_dom_id={truth['dom_id']}",
        "line.long_header=false",
        "slices.run_number=0",
    )
    assert summary["balanced"] is True, output
    counters = summary["counters"]["node"]
    assert counters["build"]["hits"] == sum(truth["n_hits"])
    assert counters["build.board0"]["used"] == len(truth["n_hits"])
    assert counters["build.board0"]["missing"] == truth["n_never_sent"], "the first ones of the first slice"
    assert counters["trigger"]["frames_incomplete"] == 1
    assert code in (0, LOST, INCOMPLETE), output
