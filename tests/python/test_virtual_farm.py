# SPDX-License-Identifier: Apache-2.0
"""`anello simulate` as a user types it; what the farms do is tested in tests/unit/simulate."""

import json
import os
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from anello import cli
from anello.engine import _engine
from anello.errors import ConfigError
from anello.system.exit_codes import BAD_NEWS
from anello.system.output import console
from anello.virtual_farm import books, command, swarm, timeline

ROOT = Path(__file__).parents[2]


def simulate(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, ["simulate", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def simulated(*arguments: str) -> dict[str, Any]:
    _, output = simulate(*arguments, "--json")
    parsed: dict[str, Any] = json.loads(output)
    return parsed


@pytest.mark.process
def test_a_swarm_is_explained_and_tells_its_seeds() -> None:
    code, output = simulate("--seeds", "200", "--first", "12")
    assert code == 0
    assert "seeds from 12" in output
    assert re.search(r"200 farms with \d+ faults, all explained, 16 also by their ledger", output)


class Crashing:
    """Farms of which one ends its process."""

    def __init__(self, farms: Any, seed: int) -> None:
        self._farms, self._seed = farms, seed

    def search(self, begin: int, n_seeds: int) -> Any:
        if begin <= self._seed < begin + n_seeds:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._farms.search(begin, n_seeds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._farms, name)


@pytest.mark.process
def test_a_farm_that_crashes_is_named_and_the_others_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = command.Drawn.engine
    monkeypatch.setattr(command.Drawn, "engine", lambda drawn: Crashing(engine(drawn), 173))
    code, output = simulate("--seeds", "200", "--first", "100", "--jobs", "2")
    assert code == BAD_NEWS
    assert "200 farms" in output
    assert "1 NOT explained" in output
    assert "seed 173: its process crashed" in output
    assert "anello simulate --replay 173" in output


@pytest.mark.process
def test_after_ctrl_c_what_was_judged_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = swarm.Swarm.run

    def interrupted(*arguments: Any) -> Iterator[Any]:
        yield next(whole(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(swarm.Swarm, "run", interrupted)
    code, output = simulate("--seeds", "500", "--first", "12", "--jobs", "1")
    assert code == 0
    assert "64 farms" in output


def test_ctrl_c_before_anything_is_judged_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Iterator[Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(swarm.Swarm, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command.search(command.Drawn.usual(), command.Options(500, 0, 12, 1), console())


@pytest.mark.process
def test_without_a_first_seed_each_swarm_has_its_own() -> None:
    firsts = {simulate("--seeds", "1")[1].splitlines()[0] for _ in range(3)}
    assert len(firsts) == 3


@pytest.mark.process
def test_as_many_farms_as_asked_for_whatever_the_jobs() -> None:
    one, two = (simulated("--seeds", "150", "--first", "1", "--jobs", jobs) for jobs in ("1", "2"))
    assert one["runs"] == two["runs"] == 150
    assert one["events"] == two["events"]
    assert simulated("--minutes", "0.001", "--first", "1")["runs"] >= 64


def test_a_replay_is_the_same_run_each_time() -> None:
    first, second = (simulated("--replay", "27199") for _ in range(2))
    assert first == second
    assert first["findings"] == []
    other = simulated("--replay", "27199", "--change", "latency_ns=12345")
    assert other["digest"] != first["digest"]


@pytest.mark.process
def test_the_ledger_judges_all_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert simulated("--seeds", "70", "--first", "1", "--ledger")["ledgers"] == 70
    monkeypatch.setattr(books, "what_is_off", lambda _: ["the ledger: sent: 2 = 1 received"])
    code, output = simulate("--seeds", "4", "--first", "1")
    assert code == BAD_NEWS
    assert "4 NOT explained" in output
    assert "the ledger: sent: 2 = 1 received" in simulate("--replay", "1")[1]


@pytest.mark.parametrize("lost", ["mfps_sent", "meps_complete", "mfps_received", "meps_assigned"])
def test_a_ledger_that_does_not_close_is_reported(lost: str) -> None:
    farm = _engine.FarmDraw([], 3, 0, ["n_nodes=3", "reliable=1", "when_full=wait"]).books(3, [])
    assert books.what_is_off(farm) == []
    blocks = [block for book in farm["books"] for block in book["counters"].values() if lost in block]
    blocks[0][lost] -= 1
    assert books.what_is_off(farm)


@pytest.mark.process
def test_faults_are_those_asked_for() -> None:
    assert simulated("--seeds", "50", "--faults", "none")["faults"] == 0
    texts = [text for seed in range(40) for text in simulated("--replay", str(seed), "--faults", "stop")["faults"]]
    assert texts
    assert all(" stops for " in text for text in texts)


def test_a_configuration_decides_what_it_knows(tmp_path: Path) -> None:
    config = tmp_path / "farm.toml"
    config.write_text(
        'chain = "exchange"\n[exchange]\nroles = ["em+ru", "bu", "ru+bu"]\nprotocol = "shift"\npacking = 7\n'
        "credits = 3\nn_meps = 11\nsteps_ahead = 3\n[generator]\nn_buffers = 9\n"
    )
    for seed in ("1", "2", "3"):
        scenario = simulated(str(config), "--replay", seed)["scenario"]
        assert scenario.startswith("3 nodes (em+ru bu ru+bu), shift 3 ahead, 11 MEPs of 7 events")
        assert "3 credits, 9 buffers" in scenario
    assert ", push, 5 MEPs" in simulated("--set", "exchange.n_meps=5", "--replay", "1")["scenario"]


@pytest.mark.parametrize(("seed", "n_nodes"), [(795932694549, 4), (795932548011, 3)])
def test_a_farm_without_faults_lacks_nothing(seed: int, n_nodes: int) -> None:
    """Once, packets lacked parts: a switch's buffer held one cell more than the link, and passed one in a latency."""
    config = str(ROOT / "configs/lhcb-exchange.toml")
    code, output = simulate(config, "--replay", str(seed), "--change", "faults=", "--change", f"n_nodes={n_nodes}")
    assert code == 0, output


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--world", "nothing=1"], "nothing"),
        (["--world", "n_meps=x"], "n_meps"),
        (["--replay", "1", "--change", "gbps=-1"], "gbps"),
        (["--faults", "war"], "--faults"),
        (
            [
                "--world",
                "n_nodes=4",
                "--world",
                "roles=all",
                "--world",
                "protocol=shift",
                "--world",
                "n_buffers=2",
                "--seeds",
                "2",
            ],
            "n_buffers",
        ),
        (["--set", "exchange.packing=0"], "exchange.packing"),
        (["--chain", "telescope"], "chain"),
        (["--chain", "camera", "detectors/rich/na62-rich.toml"], "--chain"),
        (["--chain", "rich", "--faults", "crash"], "--faults"),
        (["--chain", "rich", "--world", "nothing=1", "--seeds", "1"], "nothing"),
    ],
)
@pytest.mark.process
def test_what_is_wrong_is_refused_by_name(arguments: list[str], field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        simulate(*arguments)
    assert caught.value.field == field


@pytest.mark.parametrize("option", ["--first", "--replay"])
@pytest.mark.parametrize("seed", ["-1", "99999999999999999999"])
def test_a_seed_that_cannot_be_is_wrong_use(option: str, seed: str) -> None:
    assert CliRunner().invoke(cli.app, ["simulate", option, seed]).exit_code == 2


class Failing:
    """Farms of which one seed is not explained."""

    finding = "MEP 3 was built by node 1 and by node 2"

    def search(self, first: int, n_seeds: int) -> dict[str, Any]:
        sums = dict.fromkeys(("runs", "faults", "built", "incomplete", "fragments", "events"), n_seeds)
        return sums | {"virtual_s": 1.0, "failed": [seed for seed in range(first, first + n_seeds) if seed == 70]}

    def books(self, seed: int, changes: list[str]) -> dict[str, Any]:
        return {"roles": ["all"], "nodes": 0, "may_lose": False, "died": [], "books": [], "books_lost": False}

    def reduce(self, seed: int) -> list[str]:
        return [] if seed != 70 else ["faults=0", "n_meps=4"]

    def replay(self, seed: int, changes: list[str], max_messages: int) -> dict[str, Any]:
        trace = [("fault", 1_000, 2_000, 1, 1, "at 1 us: node 1 stops"), ("built", 5_000, 5_000, 1, 1, "MEP 3")]
        return {"scenario": "3 nodes", "lanes": ["node 0", "node 1"], "faults": ["node 1 stops"],
                "findings": [self.finding], "trace": trace, "digest": 1}  # fmt: skip


@pytest.mark.process
def test_what_is_not_explained_is_reported_by_a_command_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command.Drawn, "engine", lambda _: Failing())
    code, output = simulate("--seeds", "130", "--first", "1", "--faults", "stop", "--world", "gbps=1")
    assert code == BAD_NEWS
    assert "1 NOT explained" in output
    assert f"seed 70: {Failing.finding}" in output
    shown = shlex.split(output.partition("shown by: ")[2])
    assert shown[:2] == ["anello", "simulate"]
    code, output = simulate(*shown[2:])
    assert code == BAD_NEWS
    assert Failing.finding in output
    assert "node 1 stops" in output


def test_the_command_repeats_all_that_a_farm_was_drawn_from() -> None:
    drawn = command.Drawn(Path("a b.toml"), ("exchange.packing=2",), ("gbps=1",), "stop,cut", 2, 7)
    words = shlex.split(command.command_of(drawn, 5, ["n_meps=1"]))
    assert words == [
        "anello", "simulate", "a b.toml", "--set", "exchange.packing=2", "--world", "gbps=1", "--faults", "stop,cut",
        "--max-faults", "2", "--nodes", "7", "--replay", "5", "--change", "n_meps=1",
    ]  # fmt: skip
    assert shlex.split(command.command_of(command.Drawn.usual(), 5, [])) == ["anello", "simulate", "--replay", "5"]


def test_a_timeline_has_a_lane_for_each_node_and_all_that_happened(tmp_path: Path) -> None:
    farms = _engine.FarmDraw(["stop"], 4, 4, ["n_nodes=3"])
    runs = {seed: farms.replay(seed, [], timeline.MOST_MESSAGES) for seed in range(20)}
    seed, run = next((seed, run) for seed, run in runs.items()
                     if {"fault", "built"} <= {line[0] for line in run["trace"]})  # fmt: skip
    page = tmp_path / "seed.html"
    options = ("--faults", "stop", "--nodes", "4", "--world", "n_nodes=3")
    code, _ = simulate("--replay", str(seed), *options, "--timeline", str(page))
    assert code == 0
    text = page.read_text()
    assert f"Seed {seed}" in text
    assert " stops for " in text
    figure = timeline.draw(run)
    assert {"messages", "processes", "what a node sees of another"} < {trace["name"] for trace in figure.data}
    lanes = {y for trace in figure.data for y in trace["y"] if y is not None}
    assert lanes == {0, 1, 2}
    assert len(figure.layout["annotations"]) == sum(line[0] == "fault" for line in run["trace"]) > 0


# --- Chains of one node -----------------------------------------------------------------------------------------------
CHAINS = ("rich", "camera", "km3net")


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.process
def test_chains_are_explained_and_a_replay_is_the_same_run(chain: str) -> None:
    code, output = simulate("--chain", chain, "--seeds", "100", "--first", "12")
    assert code == 0
    words = (
        r"100 chains with \d+ troubles, all explained, 8 also by their ledger: [\d,]+ events that came, [\d,]+ of them"
    )
    assert re.search(words, output)
    first, second = (simulated("--chain", chain, "--replay", "12") for _ in range(2))
    assert first == second
    assert first["findings"] == []
    assert simulated("--chain", chain, "--replay", "12", "--change", "latency_ns=12345")["digest"] != first["digest"]


@pytest.mark.parametrize("chain", ["rich", "km3net", pytest.param("camera", marks=pytest.mark.long)])
@pytest.mark.process
def test_troubles_of_chains_are_those_asked_for(chain: str) -> None:
    assert simulated("--chain", chain, "--seeds", "20", "--first", "1", "--faults", "none")["faults"] == 0
    runs = (simulated("--chain", chain, "--replay", str(seed), "--faults", "stop") for seed in range(30))
    texts = {text for run in runs for text in run["faults"]}
    assert texts
    assert all("the node's process stands still" in text for text in texts)


def test_a_configuration_decides_of_a_chain_what_it_knows(tmp_path: Path) -> None:
    config = tmp_path / "rich.toml"
    config.write_text(
        "[source]\nrate_hz = 12345.0\n[build]\ntimeout_ms = 7.0\n[trigger]\nthreads = 3\n"
        '[threads]\nlayout = ["receive", "build", "trigger+emit", "store"]\n'
    )
    for seed in ("1", "2", "3"):
        scenario = simulated(str(config), "--replay", seed)["scenario"]
        assert scenario.startswith("receive | build | trigger+emit | store, 3 trigger threads, 1 lanes")
        assert "at 12345 Hz" in scenario
        assert "timeout 7 ms" in scenario
    camera = simulated("detectors/camera/cta-camera.toml", "--replay", "1")["scenario"]
    assert camera.startswith("receive+build+filter | send, 1 groups")
    assert "at 300 Hz within 0 us; timeout 50 ms" in camera
    line = simulated("detectors/km3net/km3net.toml", "--replay", "1")["scenario"]
    assert line.startswith("receive | trigger | store, ")
    assert "run 1, window 8, lag 3, 24 buffers" in line
    assert "timeout 1000 ms; events of 4 L1 of 4 DOMs, limit 100" in line


def test_a_chain_that_is_not_explained_is_reported_and_drawn(tmp_path: Path) -> None:
    """A disk that takes nothing for minutes: the chain does not end in time."""
    page = tmp_path / "seed.html"
    changes = ("stores=1", "chunk_events=100", "disk_slowness=1000000", "n_bursts=1")
    given = [word for change in changes for word in ("--change", change)]
    code, output = simulate("--chain", "rich", "--replay", "1", *given, "--timeline", str(page))
    assert code == BAD_NEWS
    assert "draining took too long" in output
    assert "board 0" in page.read_text()
    assert "draining took too long" in page.read_text()


class FailingChains:
    """The engine's part of a detector, of which one seed is not explained."""

    finding = "event 3 came, and was not decided"

    def virtual_search(self, first: int, n_seeds: int, settings: list[str]) -> dict[str, Any]:
        assert "n_lanes=2" in settings
        sums = dict.fromkeys(("runs", "faults", "events", "decided"), n_seeds)
        return sums | {"virtual_s": 1.0, "failed": [seed for seed in range(first, first + n_seeds) if seed == 70]}

    def virtual_books(self, seed: int, changes: list[str]) -> dict[str, Any]:
        return {"has_ended": False}

    def virtual_reduce(self, seed: int, settings: list[str]) -> list[str]:
        return ["loss=0"]

    def virtual_replay(self, seed: int, changes: list[str], max_messages: int) -> dict[str, Any]:
        assert {"n_lanes=2", "loss=0"} <= {*changes}
        return {"scenario": "a chain", "lanes": ["board 0"], "faults": [], "findings": [self.finding], "trace": [],
                "digest": 1}  # fmt: skip


@pytest.mark.process
def test_a_chain_that_is_not_explained_is_reported_by_a_command_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "compiled_part", lambda _: FailingChains())
    code, output = simulate("--chain", "rich", "--seeds", "130", "--first", "1", "--world", "n_lanes=2")
    assert code == BAD_NEWS
    assert "130 chains with 130 troubles, 1 NOT explained" in output
    assert f"seed 70: {FailingChains.finding}" in output
    shown = shlex.split(output.partition("shown by: ")[2])
    assert shown == shlex.split("anello simulate --chain rich --world n_lanes=2 --replay 70 --change loss=0")
    assert simulate(*shown[2:])[0] == BAD_NEWS


def test_names_of_keys_and_faults_are_the_engines() -> None:
    assert set(_engine.chain_trouble_kinds()) > {"loss", "stop", "disk_full"}
    assert "n_meps" in _engine.farm_scenario_keys()
    assert "crash" in _engine.farm_fault_kinds()
