# SPDX-License-Identifier: Apache-2.0
"""The search for the highest rate, with runners that only pretend: no engine is needed."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anello.configuration.load import load
from anello.errors import ConfigError
from anello.search.bisection import (
    MAX_CONFIRMATIONS,
    Bracket,
    Culprit,
    Grid,
    Outcome,
    Quiet,
    RateVerdict,
    Rules,
    Search,
    SearchResult,
)
from anello.search.bisection import failure_chance_limit as limit
from anello.search.command import Options
from anello.search.trial import StoppedError, Trial

SECONDS = 2.0
GRID = Grid(10e3, 400e3, 10e3)
GOOD = Trial(
    offered_hz=0.0, seconds=SECONDS, achieved_hz=1.0, n_events=1000, latency_us={"p50": 200.0, "p99.9": 700.0},
    source_cores=0.3, node_cores=0.8,
)  # fmt: skip
LOSSY = replace(GOOD, losses={"never came": 3})


def runner(limit_hz: float, bad: Trial = LOSSY) -> Callable[[float], Trial]:
    """A runner whose runs pass up to a rate."""
    return lambda rate_hz: replace(GOOD if rate_hz <= limit_hz else bad, offered_hz=rate_hz, achieved_hz=rate_hz)


def search(run: Callable[[float], Trial], grid: Grid = GRID, **options: object) -> SearchResult:
    return Search(grid, run, seconds=SECONDS, **options).run()  # type: ignore[arg-type]


def after(n_bad: int, bad: Trial = LOSSY) -> Callable[[float], Trial]:
    """A runner whose first runs are bad at any rate."""
    left = iter(range(n_bad))
    return lambda rate_hz: replace(GOOD if next(left, None) is None else bad, offered_hz=rate_hz, achieved_hz=rate_hz)


# --- Bisection ----------------------------------------------------------------------------------------------------
@given(limit_index=st.integers(0, 60), n_steps=st.integers(0, 60))
def test_last_that_passes_is_found_with_few_questions(limit_index: int, n_steps: int) -> None:
    result = search(runner(10 + limit_index * 5), Grid(10, 10 + n_steps * 5, 5))
    assert result.found is not None
    assert result.found.rate_hz == 10 + min(limit_index, n_steps) * 5
    asked = [verdict.rate_hz for verdict in result.verdicts if not verdict.confirms]
    assert len(asked) == len(set(asked)) <= 8


def test_first_failing_rate_is_the_next_one_and_says_why() -> None:
    result = search(runner(173e3))
    assert result.found is not None
    assert result.first_failing is not None
    assert (result.found.rate_hz, result.first_failing.rate_hz) == (170e3, 180e3)
    assert result.first_failing.outcome is Outcome.LOSS


def test_one_hiccup_at_the_lowest_rate_does_not_end_the_search() -> None:
    result = search(after(1))
    assert result.found is not None
    assert result.found.rate_hz == GRID.highest_hz
    assert result.first_failing is None
    assert [(verdict.is_overruled, verdict.passes) for verdict in result.verdicts[:2]] == [(True, False), (False, True)]


def test_the_lowest_rate_is_asked_twice_and_no_more() -> None:
    result = search(after(2), n_repeats=1)
    assert result.found is None
    assert len(result.verdicts) == 2
    assert result.first_failing == result.verdicts[1]


def test_a_run_in_which_the_machine_stood_still_is_repeated() -> None:
    stopped = replace(GOOD, stop_ms=10.1)
    result = search(after(1, stopped), Grid(1, 1, 1))
    assert result.found is not None
    assert result.n_thrown_away == 1
    assert result.n_counted_disturbed == 0
    assert not Quiet().is_disturbed(replace(stopped, stop_ms=10.0))


@pytest.mark.parametrize(
    ("trial", "cause"),
    [
        (GOOD, None),
        (replace(LOSSY, error="it crashed"), None),
        (LOSSY, Culprit.NODE),
        (replace(LOSSY, losses={"dropped by the kernel": 1}), Culprit.KERNEL),
        (replace(GOOD, forgone_s=0.5), Culprit.SOURCE),
        (replace(LOSSY, other_cores=0.2), Culprit.OTHERS),
        (replace(LOSSY, stop_ms=11, other_cores=0.2), Culprit.MACHINE),
        (replace(GOOD, stop_ms=11), None),
    ],
)
def test_the_cause_of_a_failure_is_reported_by_what_was_measured(trial: Trial, cause: Culprit | None) -> None:
    assert Quiet().cause(trial, Rules().judge(trial)) is cause


def test_highest_is_reached_in_spite_of_rounding() -> None:
    result = search(runner(math.inf), Grid(0.1, 0.3, 0.1))
    assert result.found is not None
    assert result.found.rate_hz == pytest.approx(0.3)
    assert result.first_failing is None


def test_nothing_passes() -> None:
    result = search(runner(0.0))
    assert result.found is result.candidate is None
    assert [verdict.rate_hz for verdict in result.verdicts] == 2 * [GRID.lowest_hz]


def test_all_repeats_must_pass_and_the_first_failure_decides() -> None:
    n_runs = 0

    def third_run_fails(rate_hz: float) -> Trial:
        nonlocal n_runs
        n_runs += 1
        return LOSSY if n_runs % 3 == 0 else GOOD

    assert search(third_run_fails, n_repeats=3).found is None
    assert n_runs == 2 * 3, "the lowest rate is asked twice"
    assert search(lambda _: LOSSY, n_repeats=3).verdicts[0].trials == (LOSSY,)


def test_rate_that_fails_its_confirmation_is_given_up_for_a_lower_one() -> None:
    n_runs: dict[float, int] = {}

    def fails_late(rate_hz: float) -> Trial:
        n_runs[rate_hz] = n_runs.get(rate_hz, 0) + 1
        return LOSSY if rate_hz > 200e3 or (rate_hz > 150e3 and n_runs[rate_hz] > 4) else GOOD

    result = search(fails_late)
    assert result.found is not None
    assert result.first_failing is not None
    assert (result.found.rate_hz, result.first_failing.rate_hz) == (150e3, 160e3)
    assert result.first_failing.confirms
    assert len(result.found.trials) == 5


@given(seed=st.integers(0, 10_000))
def test_noisy_runner_ends_and_names_only_what_was_confirmed(seed: int) -> None:
    chance = random.Random(seed)

    def noisy(rate_hz: float) -> Trial:
        return LOSSY if chance.random() < (rate_hz / 400e3) ** 2 else GOOD

    result = search(noisy)
    assert sum(verdict.confirms for verdict in result.verdicts) <= MAX_CONFIRMATIONS
    assert len(result.verdicts) < 8 * (MAX_CONFIRMATIONS + 1)
    if result.found:
        assert len(result.found.trials) == 5
        assert all(result.rules.judge(trial) is Outcome.PASSES for trial in result.found.trials)
        failing = [verdict.rate_hz for verdict in result.verdicts if verdict.fails]
        assert all(result.found.rate_hz < rate_hz for rate_hz in failing)


# --- Why a run is no pass -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, Outcome.PASSES),
        ({"error": "it crashed"}, Outcome.BROKEN),
        ({"n_events": 0}, Outcome.BROKEN),
        ({"problems": ("off",), "losses": {"late": 1}}, Outcome.LEDGER),
        ({"losses": {"late": 1}, "forgone_s": 1.0}, Outcome.LOSS),
        ({"forgone_s": 1e-6}, Outcome.SOURCE),
        ({"behind_s": 0.021}, Outcome.SOURCE),
        ({"behind_s": 0.019}, Outcome.PASSES),
        ({"latency_us": {"p50": 21e3, "p99.9": 22e3}}, Outcome.BACKLOG),
        ({"latency_us": {"p50": 19e3, "p99.9": 22e3}}, Outcome.PASSES),
    ],
)
def test_outcome_of_a_run(changes: dict[str, object], outcome: Outcome) -> None:
    assert Rules().judge(replace(GOOD, **changes)) is outcome  # type: ignore[arg-type]


def test_deadline_is_kept_by_the_quantile_that_was_named() -> None:
    assert Rules(700.0, "p99.9").judge(GOOD) is Outcome.PASSES
    assert Rules(699.0, "p99.9").judge(GOOD) is Outcome.DEADLINE
    assert Rules(699.0, "p50").judge(GOOD) is Outcome.PASSES
    assert Rules(699.0, "p99").judge(GOOD) is Outcome.DEADLINE, "an unknown latency keeps no deadline"


def test_source_that_could_not_offer_is_no_pass() -> None:
    result = search(runner(100e3, replace(GOOD, forgone_s=0.2, behind_s=0.01)))
    assert result.found is not None
    assert result.found.rate_hz == 100e3
    assert result.first_failing is not None
    assert result.first_failing.outcome is Outcome.SOURCE


# --- Other programs -----------------------------------------------------------------------------------------------
def test_disturbed_runs_are_repeated_within_a_bound_and_counted() -> None:
    n_runs = 0

    def disturbed_every_other(rate_hz: float) -> Trial:
        nonlocal n_runs
        n_runs += 1
        return replace(GOOD, other_cores=0.5 if n_runs % 2 else 0.0)

    result = search(disturbed_every_other, Grid(1, 1, 1))
    assert (result.n_thrown_away, result.n_counted_disturbed) == (8, 0)
    always = search(lambda _: replace(GOOD, other_cores=0.5), Grid(1, 1, 1), quiet=Quiet(other_cores=0.1, tries=2))
    assert (always.n_thrown_away, always.n_counted_disturbed) == (8, 8)
    assert always.found is not None


@pytest.mark.parametrize("trial", [GOOD, LOSSY])
def test_disturbed_run_is_thrown_away_whether_it_passes_or_not(trial: Trial) -> None:
    runs = iter([replace(trial, other_cores=0.5), replace(trial, other_cores=0.0)])
    assert Quiet(other_cores=0.1, tries=3).measure(lambda _: next(runs), 1.0) == (replace(trial, other_cores=0.0), 1)


# --- The end ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_runs_before", range(40))
def test_interruption_keeps_what_is_known(n_runs_before: int) -> None:
    good, n_runs = runner(150e3), 0

    def stopped(rate_hz: float) -> Trial:
        nonlocal n_runs
        if n_runs == n_runs_before:
            raise StoppedError
        n_runs += 1
        return good(rate_hz)

    result = search(stopped)
    assert sum(len(verdict.trials) for verdict in result.verdicts) == n_runs
    assert result.interrupted is (result.found is None)
    assert n_runs == min(n_runs_before, 22)
    assert (result.candidate is None) is (n_runs_before == 0)
    if result.candidate:
        assert result.candidate.rate_hz <= 150e3


class Listener:
    def __init__(self) -> None:
        self.brackets: list[Bracket] = []
        self.verdicts: list[RateVerdict] = []

    def trying(self, rate_hz: float, number: int, n_wanted: int, bracket: Bracket, confirms: bool) -> None:
        assert 1 <= number <= n_wanted
        assert confirms or bracket.passes_hz is None or rate_hz > bracket.passes_hz
        assert bracket.fails_hz is None or rate_hz < bracket.fails_hz
        self.brackets.append(bracket)

    def decided(self, verdict: RateVerdict) -> None:
        self.verdicts.append(verdict)


def test_watcher_sees_the_bracket_close_and_each_verdict() -> None:
    listener = Listener()
    result = search(runner(173e3), watcher=listener)
    assert tuple(listener.verdicts) == result.verdicts
    assert listener.brackets[0] == Bracket(None, None)
    assert listener.brackets[-1] == Bracket(170e3, 180e3)


# --- What so many runs prove --------------------------------------------------------------------------------------
def test_upper_limit_is_that_of_clopper_and_pearson() -> None:
    assert limit(0, 5) == pytest.approx(1 - 0.05**0.2)  # 45 %
    assert limit(0, 1) == pytest.approx(0.95)
    assert limit(1, 10) == pytest.approx(0.3942, abs=1e-4)  # table of 95 % one-sided limits
    assert limit(0, 59) < 0.05 < limit(0, 58)
    assert limit(3, 3) == 1.0


@given(n_runs=st.integers(1, 40), data=st.data())
def test_upper_limit_covers_what_was_seen_and_falls_with_more_runs(n_runs: int, data: st.DataObject) -> None:
    n_failed = data.draw(st.integers(0, n_runs - 1))
    value = limit(n_failed, n_runs)
    assert n_failed / n_runs < value < 1
    assert limit(n_failed, n_runs + 1) < value < limit(n_failed + 1, n_runs)
    so_few = sum(math.comb(n_runs, k) * value**k * (1 - value) ** (n_runs - k) for k in range(n_failed + 1))
    assert so_few == pytest.approx(0.05)


@pytest.mark.parametrize(("n_failed", "n_runs"), [(0, 0), (-1, 3), (4, 3)])
def test_upper_limit_of_nonsense_is_refused(n_failed: int, n_runs: int) -> None:
    with pytest.raises(ValueError, match="n_failed must be 0 to n_runs"):
        limit(n_failed, n_runs)


# --- Options ------------------------------------------------------------------------------------------------------
def test_rates_follow_from_the_configuration() -> None:
    assert Options().grid(150e3) == Grid(15e3, 1.5e6, 15e3)
    assert Options(lowest_hz=1e3, highest_hz=2e3, step_hz=100.0).grid(150e3) == Grid(1e3, 2e3, 100.0)
    with pytest.raises(ConfigError, match="--highest: must not be below the lowest rate, 15000"):
        Options(highest_hz=1e3).grid(150e3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(lowest_hz=0.0), "--lowest: must be above 0"),
        (Options(step_hz=-1.0), "--step: must be above 0"),
        (Options(highest_hz=math.nan), "--highest: must be above 0"),
        (Options(repeats=0), "--repeats: must be 1 to 1000"),
        (Options(confirm=0), "--confirm: must be 1 to 1000"),
        (Options(stop_ms=0), "--stop-ms: must be above 0"),
        (Options(tries=0), "--tries: must be 1 to 1000"),
        (Options(seconds=0.0), "--seconds: must be 0.05 to 100"),
        (Options(deadline_us=0.0), "--deadline-us: must be above 0"),
        (Options(quantile="p42"), "--quantile: must be one of p50, p99, p99.9, p99.99, max"),
        (Options(others=-0.1), "--others: must not be negative"),
    ],
)
def test_wrong_options_are_refused(options: Options, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        options.check(load(None))


def test_default_options_are_right() -> None:
    Options().check(load(None))
