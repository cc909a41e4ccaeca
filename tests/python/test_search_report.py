# SPDX-License-Identifier: Apache-2.0
"""How a run's summary is judged, and the report of a search. No engine is needed."""

import io
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import camera_synthetic
import pytest
import synthetic
from rich.console import Console

from anello import registry
from anello.configuration.load import load
from anello.report import summary
from anello.search import report as search_report
from anello.search import trial
from anello.search.bisection import Grid, Quiet, Rules, Search, SearchResult
from anello.search.trial import StoppedError, Trial
from anello.system.cpu import CpuTime
from anello.system.interruption import Interruption
from anello.system.link import interface_to, kind_of

RICH = trial.keys_of("rich")
MODE = {
    "offload_asked": "GSO and GRO", "interface": "loopback (lo)", "machines": "front ends and node on one machine",
    "backend": "socket", "receive": "4 UDP ports",
}  # fmt: skip
GOOD = Trial(
    offered_hz=0.0, seconds=2.0, n_events=1000, latency_us={"p50": 200.0, "p99.9": 700.0, "max": 900.0},
    source_cores=0.3, node_cores=0.8, n_datagrams=500, n_super_packets=20, mode=MODE,
)  # fmt: skip


def result_of(limit_hz: float, bad: Trial, **options: object) -> SearchResult:
    def run(rate_hz: float) -> Trial:
        return replace(GOOD if rate_hz <= limit_hz else bad, offered_hz=rate_hz, achieved_hz=rate_hz + 7)

    return Search(Grid(100e3, 400e3, 50e3), run, seconds=2.0, **options).run()  # type: ignore[arg-type]


def text(result: SearchResult) -> str:
    return "\n".join(search_report.lines(result))


# --- A run's summary ----------------------------------------------------------------------------------------------
def trial_of(**changes: Any) -> Trial:
    record = synthetic.record(**changes)
    content = json.loads(summary.line(record))
    return trial.from_summary(content, 500.0, 2.0)


def source_counters(**generator: int) -> dict[str, dict[str, int]]:
    return synthetic.source_counters() | {"source": {"time_forgone_ns": 0, "behind_ns_max": 0} | generator}


def test_trial_of_a_good_run() -> None:
    cpu = {"wall_s": 2.0, "source_cores": 0.3, "node_cores": 0.8, "other_cores": 0.05}
    good = trial_of(source=source_counters(behind_ns_max=3_000_000), cpu=cpu, interface="loopback (lo)")
    assert good.is_clean
    assert (good.n_events, good.achieved_hz) == (1000, 500.0)
    assert (good.source_cores, good.node_cores, good.other_cores) == (0.3, 0.8, 0.05)
    assert good.behind_s == pytest.approx(3e-3)
    assert 0 < good.latency_us["p50"] < good.latency_us["p99.9"] < good.latency_us["max"]
    assert good.n_datagrams == 4 * (100 + 12)
    assert good.n_super_packets == 0
    node = {name: {k: n for k, n in block.items() if k != "super_packets"} for name, block in
            synthetic.node_counters().items()}  # fmt: skip
    assert trial_of(node=node).n_super_packets is None, "these counters say nothing of them"
    assert good.mode["interface"] == "loopback (lo)"
    assert good.mode["offload_asked"] == "GSO and GRO"


def test_trial_of_a_camera_is_judged_by_the_cameras_way() -> None:
    content = json.loads(summary.line(camera_synthetic.record()))
    way = content["latency"]["first_to_sent"]
    assert trial.from_summary(content, 500.0, 2.0).latency_us["p99.9"] == way["p999_ns"] * 1e-3 > 0


def test_trial_counts_all_that_was_lost_and_all_that_was_not_offered() -> None:
    node = synthetic.node_counters()
    node["receive.board1"]["duplicate_packets"] = 2
    node["build"]["fragments_late"] = 5
    node["receive.board0"]["super_packets"], node["receive.board2"]["super_packets"] = 30, 4
    bad = trial_of(node=node, source=source_counters(time_forgone_ns=500_000_000))
    assert dict(bad.losses) == {"duplicate": 2, "fragments late": 5}
    assert bad.problems != ()
    assert (bad.forgone_s, bad.achieved_hz) == (0.5, 400.0)
    assert bad.n_super_packets == 34
    assert not bad.is_clean


def test_spread_is_relative_and_needs_two() -> None:
    assert trial.spread([100.0]) == 0.0
    assert trial.spread([90.0, 110.0]) == pytest.approx(0.1414, abs=1e-4)


def test_cpu_shares_are_per_second_of_the_run() -> None:
    used = CpuTime(12.0, 5.0, 100.0).since(CpuTime(10.0, 3.5, 97.0))
    assert used.shares(0.5) == {"wall_s": 2.0, "node_cores": 0.75, "source_cores": 0.25, "other_cores": 0.5}
    assert CpuTime(1.0, 5.0, 2.0).shares(1.0)["other_cores"] == 0.0, "clocks of 10 ms may make it negative"


def test_interfaces_by_what_they_are() -> None:
    assert interface_to("127.0.0.1") == interface_to("127.3.2.1") == "loopback (lo)"
    assert interface_to("no such host.invalid") == ""
    assert kind_of("nosuch0") == "virtual interface (nosuch0)"


# --- Words --------------------------------------------------------------------------------------------------------
def test_words_of_a_rate_that_was_found() -> None:
    said = text(result_of(250e3, replace(GOOD, losses={"never came": 1234})))
    assert said.startswith(
        "250,000 /s: no loss in 5 of 5 runs of 2 s (95 % upper limit on the chance that a run loses: 45 %)"
    )
    assert "decided 250,007 to 250,007 /s" in said
    assert "front ends 0.30 (0.30 to 0.30), node 0.80" in said
    assert "lowest rate that failed: 300,000 /s, something was lost: 1,234 never came" in said
    assert "mode: GSO and GRO, 100 super-packets counted among 2,500 datagrams; loopback (lo); front ends" in said
    assert "receive backend socket: 4 UDP ports" in said
    assert "loss-free" not in said


def test_words_of_a_deadline() -> None:
    late = replace(GOOD, latency_us={"p50": 200.0, "p99.9": 1234.0, "max": 2000.0})
    said = text(result_of(250e3, late, rules=Rules(1000.0, "p99.9")))
    assert "no loss and p99.9 within 1000 µs in 5 of 5 runs of 2 s" in said
    assert "chance that a run loses or is late: 45 %" in said
    assert "300,000 /s, the deadline is missed: p99.9 is 1,230 µs" in said


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (replace(GOOD, forgone_s=0.2, behind_s=0.011),
         "the source is the limit: behind its clock by up to 11 ms, 200 ms forgone"),
        (replace(GOOD, latency_us={"p50": 30e3}), "the node falls behind: half of the decisions later than 30,000 µs"),
        (replace(GOOD, problems=("hits: built: 3 unaccounted for",)),
         "the ledger does not balance: hits: built: 3 unaccounted for"),
        (Trial(0.0, 2.0, error="Address already in use"), "the run failed: Address already in use"),
    ],
)  # fmt: skip
def test_words_of_each_failure(bad: Trial, words: str) -> None:
    assert words in text(result_of(250e3, bad))
    assert f"no rate passes: the lowest, 100,000 /s, fails\n  lowest rate that failed: 100,000 /s, {words}" in text(
        result_of(0.0, bad)
    )


def test_words_say_when_the_limit_was_not_reached() -> None:
    assert "this was the highest rate asked for: the limit lies above" in text(result_of(math.inf, GOOD))
    limited = text(result_of(250e3, replace(GOOD, forgone_s=0.2)))
    assert "the node may do more than these front ends could offer" in limited


def test_words_of_an_interrupted_search() -> None:
    n_runs = 0

    def stopped(rate_hz: float) -> Trial:
        nonlocal n_runs
        n_runs += 1
        if n_runs > 2:
            raise StoppedError
        return replace(GOOD, offered_hz=rate_hz)

    said = text(Search(Grid(1e3, 2e3, 1e3), stopped, seconds=2.0).run())
    assert "passed so far, not confirmed: 1,000 /s, no loss in 2 of 2 runs of 2 s" in said
    n_runs = 2
    assert text(Search(Grid(1e3, 2e3, 1e3), stopped, seconds=2.0).run()) == "interrupted; no rate has passed so far"


@pytest.mark.parametrize(
    ("asked", "n_super_packets", "words"),
    [
        ("none", 0, "plain"),
        ("none", None, "plain"),
        ("GSO and GRO", 0, "plain (GSO and GRO asked for, no super-packet was received)"),
        ("GRO", 3, "GRO, 3 super-packets counted among 500 datagrams"),
        ("GSO", None, "GSO asked for, super-packets not counted"),
    ],
)
def test_offload_is_what_was_counted(asked: str, n_super_packets: int | None, words: str) -> None:
    one = replace(GOOD, n_super_packets=n_super_packets, mode=MODE | {"offload_asked": asked})
    assert search_report.offload_words([one]) == words


# --- Files and terminal -------------------------------------------------------------------------------------------
def test_files_hold_all_runs(tmp_path: Path) -> None:
    result = result_of(250e3, replace(GOOD, losses={"<late>": 1}))
    page = search_report.write(result, tmp_path, "a <search>").read_text()
    assert "a &lt;search&gt;" in page
    assert "<late>" not in page
    assert page.count('<div class="plot"') == 2
    content = json.loads((tmp_path / "search.json").read_text())
    assert content["found_hz"] == 250e3
    assert content["best"]["failure_chance_limit"] == pytest.approx(0.4507, abs=1e-4)
    assert content["first_failing"]["outcome"] == "loss"
    assert content["first_failing"]["trials"][0]["losses"] == {"<late>": 1}
    assert sum(verdict["n_runs"] for verdict in content["verdicts"]) == sum(len(v.trials) for v in result.verdicts)


@pytest.mark.parametrize("terminal", [True, False])
def test_terminal_shows_each_verdict(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")  # whatever the tests run in
    output = io.StringIO()
    console = Console(file=output, width=120, force_terminal=terminal)
    with search_report.ConsoleWatcher(console, Rules(), Quiet()) as watcher:
        result = result_of(250e3, replace(GOOD, losses={"never came": 2}), watcher=watcher)
    search_report.show(result, console)
    assert "1 of 3 runs: something was lost: 2 never came" in output.getvalue()
    assert ("trying 250,000 /s, run 2 of 3; 100,000 /s passes, none fails yet" in output.getvalue()) is terminal
    assert "again: passes" in output.getvalue()


# --- The run as a process -----------------------------------------------------------------------------------------
def lead(code: str, stopped: Callable[[], bool] = lambda: False, limit_s: float = 60.0) -> dict[str, object]:
    """Result of a runner that starts this program in place of `anello run`."""
    event = Interruption()
    seconds = limit_s - trial.START_AND_DRAIN_S
    runner = trial.TrialRunner(Path("none"), [], keys=RICH, seconds=seconds, stopped=event)
    if stopped():
        event.set()
    return runner._lead([sys.executable, "-c", code])


@pytest.mark.process
def test_last_line_of_a_run_is_its_result() -> None:
    assert lead("print('noise'); print('{\"rates\": 1}')") == {"rates": 1}


@pytest.mark.process
def test_run_that_crashes_or_says_nothing_is_a_result_with_its_last_words() -> None:
    assert lead("import sys; sys.exit('board 3 burns')") == {"error": "the run ended with exit code 1: board 3 burns"}
    assert lead("import os; os.abort()") == {"error": "the run ended with exit code -6: it said nothing"}


@pytest.mark.process
def test_run_that_hangs_is_stopped() -> None:
    assert lead("import time; time.sleep(600)", limit_s=0.3) == {"error": "it was stopped after 0 s"}


@pytest.mark.process
def test_user_stops_a_run() -> None:
    with pytest.raises(StoppedError):
        lead("import time; time.sleep(600)", stopped=lambda: True)


@pytest.mark.process
def test_run_that_cannot_start_is_no_crash_of_the_search(tmp_path: Path) -> None:
    runner = trial.TrialRunner(tmp_path / "none.toml", [], keys=RICH, seconds=0.1)
    assert "none.toml: must be a readable file" in runner(1000.0).error


@pytest.mark.parametrize("name", registry.detectors())
def test_each_chain_has_the_keys_that_a_run_is_given(name: str) -> None:
    keys = trial.keys_of(name)
    command = trial.TrialRunner(Path("x.toml"), [f"chain={name}"], keys=keys, seconds=0.25)._command(500.0, "/nowhere")
    config = load(None, [part for part in command if "=" in part])
    assert config.chain == name
    assert config.flat()[keys.rate_key] == 500.0


def test_each_run_has_a_seed_of_its_own() -> None:
    runner = trial.TrialRunner(Path("x.toml"), ["run.name=a"], keys=RICH, seconds=0.3, seed=7)
    first, second = runner._command(5000.0, "/nowhere"), runner._command(5000.0, "/nowhere")
    assert "run.seed=7" in first
    assert "run.seed=8" in second
    assert {"source.rate_hz=5000.0", "source.burst_ms=300.0", "run.display=off", "run.name=a"} <= set(first)
