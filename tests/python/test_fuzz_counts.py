# SPDX-License-Identifier: Apache-2.0
"""Executions of the fuzzers are summed over all time."""

import json
from pathlib import Path

import pytest
from fuzz import count_executions


def log(folder: Path, target: str, text: str) -> Path:
    path = folder / f"fuzz-{target}.log"
    path.write_text(text)
    return path


def test_executions_are_added_by_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(count_executions, "COUNTS", tmp_path / "executions.json")
    logs = [log(tmp_path, "mgp_fuzz", "Done 7 runs\nstat::number_of_executed_units: 1200\nstat::peak_rss_mb: 3\n"),
            log(tmp_path, "mep_fuzz", "stat::number_of_executed_units:  30\n")]  # fmt: skip
    count_executions.main([str(one) for one in logs])
    count_executions.main([str(log(tmp_path, "mgp_fuzz", "it was ended"))])
    count_executions.main([str(logs[1])])
    assert json.loads((tmp_path / "executions.json").read_text()) == {"mep_fuzz": 60, "mgp_fuzz": 1200}
    assert capsys.readouterr().out.splitlines()[-1] == "30 executions, 1,260 over all time"
