# SPDX-License-Identifier: Apache-2.0
"""Fits of the ring finder's parameters to a simulated detector. All tests need the engine."""

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from anello.cli import app
from anello.errors import ConfigError

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

from anello.rich import tune
from anello.rich.commands.tuning import TUNED, sample

FEW = 1500
BAD = {"multiring.ring_prior": 45.0, "multiring.min_own_hits": 9.0}


def test_what_was_set_wrong_is_found_and_holds_for_other_events() -> None:
    tried: list[int] = []
    tuned = tune(BAD, {}, n_events=FEW, seed=70, heard=lambda n_tried, n_all, worth: tried.append(n_tried))
    before, after = tuned.before.score, tuned.after.score
    assert after.efficiency_5mm.value > before.efficiency_5mm.value + 0.05
    assert after.ghosts.value < 0.06
    assert tuned.changed["multiring.ring_prior"] < BAD["multiring.ring_prior"]
    assert tried == list(range(1, tuned.n_tried + 1))
    assert (tuned.fit_seed, tuned.judge_seed) == (70, 71)


def test_the_same_seed_gives_the_same_parameters() -> None:
    first, second = (
        tune({}, {"noise_hits": 8}, n_events=400, seed=5, keys=("noise_hits", "ring_prior")) for _ in range(2)
    )
    assert first.after.params == second.after.params
    assert first.after.score == second.after.score


def test_only_what_is_asked_for_changes() -> None:
    tuned = tune(BAD, {}, n_events=400, seed=3, keys=("ring_prior",))
    assert set(tuned.changed) <= {"multiring.ring_prior"}


def test_what_a_ghost_costs_decides_between_rings_and_ghosts() -> None:
    few, many = (tune({}, {}, n_events=FEW, seed=9, ghost_weight=weight).after.score for weight in (10.0, 0.0))
    assert few.ghosts.value < many.ghosts.value
    assert few.efficiency_5mm.value <= many.efficiency_5mm.value + 0.005


def test_radii_that_are_alike_are_learnt_and_others_are_not() -> None:
    keys = ("radius_mean_mm", "radius_sd_mm")
    beam = tune({}, {"momentum_sd_gev": 1.0}, n_events=FEW, seed=12, keys=keys).after.params
    assert beam["multiring.radius_sd_mm"] > 0
    assert 150 < beam["multiring.radius_mean_mm"] < 190
    brief = tune({}, {"sample": "brief"}, n_events=FEW, seed=12, keys=keys)
    assert not brief.changed or brief.after.params["multiring.radius_sd_mm"] > 20


def test_a_sample_has_the_hits_that_the_trigger_uses() -> None:
    in_time, all_hits = sample(300, 4, 8.0, {}), sample(300, 4, 0.0, {})
    assert in_time.event_offset[-1] == len(in_time.hit_x_mm) < len(all_hits.hit_x_mm)
    assert 9 < in_time.own_hits < 14
    assert in_time.noise_hits < all_hits.noise_hits


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"keys": ("ring_pior",)}, "--parameters: must be of min_strength"),
        ({"keys": ("groups",)}, "--parameters"),
    ],
)
def test_unknown_parameters_are_refused(arguments: dict[str, tuple[str, ...]], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        tune({}, {}, n_events=200, **arguments)  # type: ignore[arg-type]
    assert words.partition(":")[0] in str(refused.value)


def test_the_command_tells_and_writes_what_it_found(tmp_path: Path) -> None:
    file = tmp_path / "tuned.toml"
    settings = [f"trigger.{key}={value}" for key, value in BAD.items()]
    options = [part for setting in settings for part in ("--set", setting)]
    done = CliRunner().invoke(app, ["tune", "--events", "500", *options, "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert "which nothing was fitted to" in done.output
    section = tomllib.loads(file.read_text())["trigger"]["multiring"]
    assert section.keys() <= set(TUNED)
    assert section["ring_prior"] < BAD["multiring.ring_prior"]
    printed = json.loads(CliRunner().invoke(app, ["tune", "--events", "500", *options, "--json"]).stdout)
    assert {key.removeprefix("multiring."): value for key, value in printed["changed"].items()} == section
