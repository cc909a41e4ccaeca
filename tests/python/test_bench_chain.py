# SPDX-License-Identifier: Apache-2.0
"""System benchmarks: how runs are summed up, and when they pass."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

import chain_bench
from chain_run import MIX, run_once, summarise

from anello.search.bisection import Grid, Search, SearchResult
from anello.search.trial import Trial


def run(achieved_hz: float = 500e3, p999_us: float = 400.0, losses: Mapping[str, int] | None = None) -> Trial:
    latency_us = {"p50": 200.0, "p99": 300.0, "p99.9": p999_us, "p99.99": 600.0, "max": 700.0}
    return Trial(
        offered_hz=500e3, seconds=2.0, achieved_hz=achieved_hz, n_events=1000, losses=losses or {},
        latency_us=latency_us, legs_us={"sent_to_kernel": 9.0}, source_cores=0.3, node_cores=0.8, other_cores=0.1,
        mode={"offload_asked": "none"},
    )  # fmt: skip


def test_repeats_become_a_median_with_spread_and_all_losses() -> None:
    repeats = [
        run(490e3),
        run(500e3, losses={"overwritten": 2}),
        run(510e3, losses={"overwritten": 3, "never came": 1}),
    ]
    result = summarise(repeats)
    assert (result["median"], result["spread"]) == (500e3, pytest.approx(0.02))
    assert result["losses"] == {"never came": 1, "overwritten": 5}
    assert (result["clean_repeats"], result["n_repeats"], result["balanced"]) == (1, 3, True)


def result_of(limit_hz: float) -> SearchResult:
    def one(rate_hz: float) -> Trial:
        return run() if rate_hz <= limit_hz else run(losses={"never came": 7})

    return Search(Grid(100e3, 300e3, 100e3), one, seconds=2.0).run()


def test_search_becomes_a_case_with_its_reason_and_its_words() -> None:
    found = chain_bench.summed_up(result_of(200e3))
    assert (found["median"], found["n_repeats"], found["first_failing_hz"]) == (500e3, 5, 300e3)
    assert found["why"] == "something was lost: 7 never came; cause: the node"
    assert str(found["words"]).count("5 of 5 runs") == 1
    assert chain_bench.summed_up(result_of(0.0))["median"] is None


@pytest.mark.long
@pytest.mark.process
def test_search_comes_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    options = SimpleNamespace(search="0.002,0.004,0.002", set=[], seconds=0.2, others=9.0, tries=1, repeats=1)
    case = chain_bench.highest_rate(options, "single", 0.0)
    assert (case["case"], case["step_hz"]) == ("highest/single/no deadline", 2e3)
    assert "median" in case
    assert "2,000 /s" in capsys.readouterr().out


def test_where_no_rate_keeps_the_deadline_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def highest(_: object, algorithm: str, deadline_us: float) -> dict[str, object]:
        return {"case": algorithm, "median": None if deadline_us else 5.0}

    monkeypatch.setattr(chain_bench, "highest_rate", highest)
    cases = list(chain_bench.highest_rates(SimpleNamespace(deadline_us=1000.0), "single"))
    assert [case["median"] for case in cases] == [None, 5.0]
    assert len(list(chain_bench.highest_rates(SimpleNamespace(deadline_us=0.0), "single"))) == 1


def test_losses_and_an_open_ledger_stand_in_the_table() -> None:
    result = {"algorithm": "single", **summarise([run(losses={"overwritten": 2}), replace(run(), problems=("off",))])}
    assert chain_bench.row(result)[-1] == "overwritten 2; LEDGER OFF"


@pytest.mark.process
def test_short_run_is_measured_end_to_end() -> None:
    measured = run_once([*MIX, "trigger.algorithm=single"], rate_hz=5000.0, burst_s=0.2)
    assert measured.n_events == pytest.approx(1000, rel=0.2)
    assert measured.problems == ()
    assert 0 < measured.latency_us["p50"] <= measured.latency_us["max"]
    assert measured.achieved_hz <= measured.n_events / 0.2
    assert measured.node_cores > 0
    assert measured.source_cores > 0
