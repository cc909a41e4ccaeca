# SPDX-License-Identifier: Apache-2.0
"""The search for the highest rate that loses nothing: bisection, several runs per verdict, and a confirmation.

It works on any function that makes a Trial at a rate: `anello search` passes a TrialRunner, a test a function.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from anello.search.trial import StoppedError, Trial

MAX_CONFIRMATIONS = 8  # if this many candidates fail in turn, runs differ too much to name a rate
BEHIND_S = 0.010  # s; a source that is behind its clock by less has only written a burst a little late
BEHIND_SHARE = 0.01  # share of the run; the larger of the two limits applies
BACKLOG_US = 5000.0  # us; a median latency below this is no backlog
KERNEL_DROPPED = "dropped by the kernel"  # the chains' name for that loss
# share of the run; the larger limit applies: buffers hide for a while that a node is too slow, the median latency does
# not
BACKLOG_SHARE = 0.01

Run = Callable[[float], Trial]


class Outcome(StrEnum):
    """Why a run does not pass: the first reason that applies."""

    PASSES = "passes"
    BROKEN = "the run failed"
    LEDGER = "the ledger does not balance"
    LOSS = "something was lost"
    SOURCE = "the source is the limit"
    BACKLOG = "the node falls behind"
    DEADLINE = "the deadline is missed"


@dataclass(frozen=True)
class Rules:
    """The requirements for a run to pass, in addition to no loss."""

    deadline_us: float | None = None
    quantile: str = "p99.9"  # of the latency from send to decision, which must not exceed the deadline

    def lateness(self, trial: Trial) -> tuple[str, float]:
        """The value compared with the deadline, us, and its name: the quantile, or the latest event of all where the
        run has too few events for the quantile."""
        name = self.quantile if self.quantile in trial.latency_us else "max"
        return name, trial.latency_us.get(name, math.inf)

    def judge(self, trial: Trial) -> Outcome:
        _, late_us = self.lateness(trial)
        found = {
            Outcome.BROKEN: bool(trial.error) or not trial.n_events,
            Outcome.LEDGER: bool(trial.problems),
            Outcome.LOSS: bool(trial.losses),
            Outcome.SOURCE: trial.forgone_s > 0 or trial.behind_s > max(BEHIND_S, BEHIND_SHARE * trial.seconds),
            Outcome.BACKLOG: trial.latency_us.get("p50", 0.0) > max(BACKLOG_US, BACKLOG_SHARE * trial.seconds * 1e6),
            Outcome.DEADLINE: self.deadline_us is not None and late_us > self.deadline_us,
        }
        return next((outcome for outcome, applies in found.items() if applies), Outcome.PASSES)


class Culprit(StrEnum):
    """The cause of a run's failure, from its measurements."""

    MACHINE = "the machine stood still"
    OTHERS = "other programs"
    SOURCE = "the front ends"
    KERNEL = "the kernel's buffers were full"
    NODE = "the node"


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """Limits above which other programs, or the machine itself, disturb a run. A disturbed run is repeated whether
    it passes or fails, otherwise the selection would favour passes; after `tries` runs the last one counts."""

    other_cores: float = 0.1
    stop_ms: float = 10.0  # longest single stop of the machine
    tries: int = 3

    def is_disturbed(self, trial: Trial) -> bool:
        return trial.other_cores > self.other_cores or trial.stop_ms > self.stop_ms

    def cause(self, trial: Trial, outcome: Outcome) -> Culprit | None:
        """The cause of a run's failure; None: it passed, or gave no result."""
        if outcome in (Outcome.PASSES, Outcome.BROKEN, Outcome.LEDGER):
            return None
        found = {
            Culprit.MACHINE: trial.stop_ms > self.stop_ms,
            Culprit.OTHERS: trial.other_cores > self.other_cores,
            Culprit.SOURCE: outcome is Outcome.SOURCE,
            Culprit.KERNEL: KERNEL_DROPPED in trial.losses,
        }
        return next((cause for cause, applies in found.items() if applies), Culprit.NODE)

    def measure(self, run: Run, rate_hz: float) -> tuple[Trial, int]:
        """Runs a trial, and returns it with the number of disturbed trials before it."""
        trial, n_thrown_away = run(rate_hz), 0
        while self.is_disturbed(trial) and n_thrown_away + 1 < self.tries:
            trial, n_thrown_away = run(rate_hz), n_thrown_away + 1
        return trial, n_thrown_away


@dataclass(frozen=True)
class Grid:
    """The rates that the search may use: lowest, lowest + step, ... up to highest, Hz."""

    lowest_hz: float
    highest_hz: float
    step_hz: float

    @property
    def n_steps(self) -> int:
        return int((self.highest_hz - self.lowest_hz) / self.step_hz + 1e-9)

    def rate_hz(self, index: int) -> float:
        return self.lowest_hz + index * self.step_hz


@dataclass(frozen=True)
class RateVerdict:
    """The verdict of the runs at one rate. The first failing run ends them, because it decides."""

    rate_hz: float
    trials: tuple[Trial, ...]
    outcome: Outcome  # of the last trial
    n_wanted: int  # runs that a pass needs
    n_thrown_away: int  # disturbed runs that were repeated
    confirms: bool  # a repetition after the search had chosen this rate
    is_overruled: bool = False  # it failed and was repeated at once: the next verdict counts

    @property
    def passes(self) -> bool:
        return self.outcome is Outcome.PASSES and len(self.trials) == self.n_wanted

    @property
    def fails(self) -> bool:
        return self.outcome is not Outcome.PASSES and not self.is_overruled


@dataclass(frozen=True)
class Bracket:
    """The present bracket: the highest rate that passes, the lowest that fails."""

    passes_hz: float | None
    fails_hz: float | None


class SearchWatcher(Protocol):
    """Receives the progress of the search."""

    def trying(self, rate_hz: float, number: int, n_wanted: int, bracket: Bracket, confirms: bool) -> None: ...
    def decided(self, verdict: RateVerdict) -> None: ...


class NoWatcher:
    def trying(self, rate_hz: float, number: int, n_wanted: int, bracket: Bracket, confirms: bool) -> None:
        pass

    def decided(self, verdict: RateVerdict) -> None:
        pass


@dataclass(frozen=True)
class SearchResult:
    """All verdicts in the order of the search."""

    grid: Grid
    rules: Rules
    quiet: Quiet
    seconds: float
    verdicts: tuple[RateVerdict, ...]
    interrupted: bool

    @property
    def found(self) -> RateVerdict | None:
        """The confirmation of the highest rate that passes."""
        confirmed = [verdict for verdict in self.verdicts if verdict.confirms and verdict.passes]
        return confirmed[-1] if confirmed else None

    @property
    def candidate(self) -> RateVerdict | None:
        """If no rate is confirmed: the highest rate below all failing ones, all of whose runs so far pass."""
        fails_hz = min((verdict.rate_hz for verdict in self.verdicts if verdict.fails), default=math.inf)
        good = [verdict for verdict in self.verdicts if not verdict.fails and verdict.rate_hz < fails_hz]
        return max(good, key=lambda verdict: (verdict.rate_hz, verdict.confirms), default=None)

    @property
    def first_failing(self) -> RateVerdict | None:
        """The lowest rate that failed."""
        failing = [verdict for verdict in self.verdicts if verdict.fails]
        return min(failing, key=lambda verdict: verdict.rate_hz, default=None)

    @property
    def n_thrown_away(self) -> int:
        return sum(verdict.n_thrown_away for verdict in self.verdicts)

    @property
    def n_counted_disturbed(self) -> int:
        return sum(self.quiet.is_disturbed(trial) for verdict in self.verdicts for trial in verdict.trials)


class Search:
    """Assumes that a rate passes if a higher one does, and detects where that is wrong: a rate that fails its
    confirmation counts as failing, and the search continues below it."""

    def __init__(
        self,
        grid: Grid,
        run: Run,
        *,
        seconds: float,
        rules: Rules | None = None,
        quiet: Quiet | None = None,
        n_repeats: int = 3,
        n_confirm: int = 5,
        watcher: SearchWatcher | None = None,
    ) -> None:
        self._grid, self._run_once, self._seconds = grid, run, seconds
        self._rules, self._quiet = rules or Rules(), quiet or Quiet()
        self._n_repeats, self._n_confirm = n_repeats, n_confirm
        self._watcher = watcher or NoWatcher()
        self._verdicts: list[RateVerdict] = []
        self._passing: set[int] = set()
        self._lowest_failing = grid.n_steps + 1

    def run(self) -> SearchResult:
        """Runs the search. Ends early, with the results so far, where the runs raise StoppedError."""
        interrupted = False
        try:
            self._ask_lowest()
            for _ in range(MAX_CONFIRMATIONS):
                candidate = self._bisected()
                if candidate is None or self._ask(candidate, self._n_confirm, confirms=True):
                    break
        except StoppedError:
            interrupted = True
        return SearchResult(self._grid, self._rules, self._quiet, self._seconds, tuple(self._verdicts), interrupted)

    def _bisected(self) -> int | None:
        """The highest index that passes, with the next one failing; None when none passes."""
        while True:
            passing = self._highest_passing()
            if passing is None or self._lowest_failing - passing == 1:
                return passing
            self._ask((passing + self._lowest_failing) // 2, self._n_repeats, confirms=False)

    def _highest_passing(self) -> int | None:
        return max((index for index in self._passing if index < self._lowest_failing), default=None)

    def _ask_lowest(self) -> None:
        """Measures the lowest rate, again if it fails: without it there is no search, and one hiccup would end it."""
        first = self._measure(0, self._n_repeats, False)
        if first.fails:
            self._note(replace(first, is_overruled=True))
            self._ask(0, self._n_repeats, confirms=False)
        else:
            self._take(0, first)

    def _ask(self, index: int, n_wanted: int, *, confirms: bool) -> bool:
        return self._take(index, self._measure(index, n_wanted, confirms))

    def _take(self, index: int, verdict: RateVerdict) -> bool:
        self._note(verdict)
        if verdict.passes:
            self._passing.add(index)
        else:
            self._lowest_failing = index
        return verdict.passes

    def _note(self, verdict: RateVerdict) -> None:
        self._verdicts.append(verdict)
        self._watcher.decided(verdict)

    def _measure(self, index: int, n_wanted: int, confirms: bool) -> RateVerdict:
        rate_hz = self._grid.rate_hz(index)
        trials: list[Trial] = []
        n_thrown_away = 0

        def verdict() -> RateVerdict:
            outcome = self._rules.judge(trials[-1])
            return RateVerdict(rate_hz, tuple(trials), outcome, n_wanted, n_thrown_away, confirms)

        try:
            while len(trials) < n_wanted and (not trials or not verdict().fails):
                self._watcher.trying(rate_hz, len(trials) + 1, n_wanted, self._bracket(), confirms)
                trial, n_more = self._quiet.measure(self._run_once, rate_hz)
                trials.append(trial)
                n_thrown_away += n_more
        except StoppedError:
            if trials:
                self._note(verdict())
            raise
        return verdict()

    def _bracket(self) -> Bracket:
        passing, failing = self._highest_passing(), self._lowest_failing
        return Bracket(
            None if passing is None else self._grid.rate_hz(passing),
            None if failing > self._grid.n_steps else self._grid.rate_hz(failing),
        )


def failure_chance_limit(n_failed: int, n_runs: int, confidence: float = 0.95) -> float:
    """Upper limit, at this confidence, of the probability that a run fails, when n_failed of n_runs did.

    Clopper and Pearson's upper limit: the probability p at which n_failed or fewer failures of n_runs are as rare as 1
    - confidence.
    """
    if not 0 <= n_failed <= n_runs or n_runs < 1:
        raise ValueError(f"n_failed must be 0 to n_runs, and n_runs at least 1: {n_failed} of {n_runs}")
    if n_failed == n_runs:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        so_few = sum(math.comb(n_runs, k) * middle**k * (1 - middle) ** (n_runs - k) for k in range(n_failed + 1))
        low, high = (middle, high) if so_few > 1 - confidence else (low, middle)
    return high
