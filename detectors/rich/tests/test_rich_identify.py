# SPDX-License-Identifier: Apache-2.0
"""`anello identify` started as by a user, and the trigger that decides by its counts."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import anello.rich
from anello import cli
from anello.errors import ConfigError
from anello.rich.python_trigger import Batch, as_columns

ROOT = Path(__file__).parents[3]


def identified(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli.app, ["identify", *arguments, "--json"])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def test_matrices_have_all_events_and_are_mostly_right() -> None:
    matrices = identified("--events", "4000", "--seed", "3")["matrices"]
    assert [len(one["classes"]) for one in matrices] == [5, 4, 4]
    rings, electrons, particles = (np.array(one["counts"]) for one in matrices)
    assert rings.sum() == electrons.sum() == 4000
    assert particles.sum() > 3000
    for counts, least in ((rings, 0.75), (electrons, 0.85), (particles, 0.88)):
        assert counts.trace() / counts.sum() > least
    assert identified("--events", "4000", "--seed", "3")["matrices"] == matrices
    assert identified("--events", "4000", "--seed", "4")["matrices"] != matrices


def test_shares_are_of_their_classes() -> None:
    rings = identified("--events", "2000")["matrices"][0]
    counts = np.array(rings["counts"])
    assert rings["efficiency"][1] == pytest.approx(counts[1, 1] / counts[1].sum())
    assert rings["purity"][2] == pytest.approx(counts[2, 2] / counts[:, 2].sum())


def test_a_wider_pull_finds_more_electron_like_rings() -> None:
    few, many = (
        np.array(identified("--events", "2000", "--max-pull", pull)["matrices"][1]["counts"])[:, 1:].sum()
        for pull in ("1", "4")
    )
    assert few < many


def test_without_events_nothing_is_claimed() -> None:
    matrices = identified("--events", "1", "--set", "source.simulation.ring_shares=[1]")["matrices"]
    assert matrices[2]["efficiency"] == [None] * 4


def test_another_chain_is_refused() -> None:
    with pytest.raises(ConfigError, match="chain"):
        identified("--set", "chain=camera")


def example() -> Any:
    spec = importlib.util.spec_from_file_location("electron_trigger", ROOT / "examples/electron_trigger.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_decides_by_both_numbers() -> None:
    events = anello.simulate.rich(300, seed=5, out_of_time_rings=0.0)
    n = len(events.hit_pmt)
    batch = Batch(
        np.arange(300, dtype=np.uint64),
        events.event_offset,
        events.hit_pmt,
        events.hit_x_mm,
        events.hit_y_mm,
        np.zeros(n, np.int16),
    )
    offset, *_, ids = as_columns(example().decide(batch), 300)
    n_rings = np.diff(offset.astype(int))
    assert (ids[n_rings == 0] == 0).all()
    assert (ids[n_rings > 0] & 0xF == n_rings[n_rings > 0]).all()
    n_electrons = ids[n_rings > 0] >> 4 & 0xF
    assert n_electrons.max() >= 1
    assert (n_electrons <= n_rings[n_rings > 0]).all()
