# SPDX-License-Identifier: Apache-2.0
"""The quality of rings in the file of a run."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stalls import PATIENCE_MS

from anello.rich import decisions

pytestmark = pytest.mark.process

SETTINGS = (
    "source.n_bursts=1",
    "source.burst_ms=100",
    "source.rate_hz=20000",
    "run.seed=5",
    "run.display=off",
    "store.prescale_log2=0",
    "trigger.deadline_us=0",
    f"build.timeout_ms={PATIENCE_MS}",
)


def stored(folder: Path, *settings: str) -> dict[str, np.ndarray]:
    given = [part for setting in (*SETTINGS, *settings) for part in ("--set", setting)]
    command = [
        sys.executable,
        "-m",
        "anello",
        "run",
        "detectors/rich/na62-rich.toml",
        *given,
        "--report-dir",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return decisions.read(folder / "decisions.h5")


def test_quality_is_stored_of_each_ring_where_it_is_asked_for(tmp_path: Path) -> None:
    found = stored(tmp_path / "judged", "trigger.quality=true")
    n_rings = len(found["ring_x_mm"])
    assert n_rings > 1000
    assert found["ring_covariance_mm2"].shape == (n_rings, 3, 3)
    assert (found["ring_n_assigned"] <= 64).all()
    assert np.median(found["ring_log_likelihood_ratio"]) > 20
    variance = found["ring_covariance_mm2"][:, 2, 2]
    assert 0.5 < np.sqrt(np.median(variance)) < 3, "of a radius, mm"
    usual = stored(tmp_path / "usual")
    assert not {*decisions.QUALITY_COLUMNS} & {*usual}
    order, usual_order = np.argsort(found["event_key"]), np.argsort(usual["event_key"])
    assert (found["event_key"][order] == usual["event_key"][usual_order]).all(), "the rings are the same"
    assert np.sort(found["ring_radius_mm"]) == pytest.approx(np.sort(usual["ring_radius_mm"]))
