# SPDX-License-Identifier: Apache-2.0
"""`anello search`: its options, checked, and the search as a user sees it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from anello.configuration.base import FrontEndsConfig
from anello.errors import ConfigError
from anello.search import report as search_report
from anello.search.bisection import Grid, Quiet, Rules, Search, SearchResult
from anello.search.trial import QUANTILES, TrialRunner, keys_of

MAX_RUNS, MAX_SECONDS = 1000, 100.0


@dataclass(frozen=True)
class Options:
    """Options of the command line. Rates that are not given are derived from the configuration's own."""

    lowest_hz: float | None = None
    highest_hz: float | None = None
    step_hz: float | None = None
    repeats: int = 3
    confirm: int = 5
    seconds: float = 2.0
    deadline_us: float | None = None
    quantile: str = "p99.9"
    others: float = 0.1
    stop_ms: float = 10.0
    tries: int = 3

    def check(self, config: FrontEndsConfig) -> None:
        """Checks the options. Raises ConfigError, also where the configuration cannot be searched."""
        for holds, option, rule, given, remedy in self._checks():
            if not holds:
                raise ConfigError(option, rule, str(given), remedy)
        self.grid(config.front_ends.rate_hz)
        if config.receive.backend == "pcap":
            rule = "must take what the front ends send: a file has the rate it was recorded with"
            raise ConfigError("receive.backend", rule, "pcap", "Set it to socket")

    def _checks(self) -> Iterator[tuple[bool, str, str, object, str]]:
        rates = (("--lowest", self.lowest_hz), ("--highest", self.highest_hz), ("--step", self.step_hz))
        for option, value in rates:
            yield value is None or 0 < value < math.inf, option, "must be above 0", value, "It is a rate in events/s"
        runs = (("--repeats", self.repeats, 3), ("--confirm", self.confirm, 5), ("--tries", self.tries, 3))
        for option, value, default in runs:
            yield 1 <= value <= MAX_RUNS, option, f"must be 1 to {MAX_RUNS}", value, f"The default is {default}"
        good = 0.05 <= self.seconds <= MAX_SECONDS
        yield good, "--seconds", f"must be 0.05 to {MAX_SECONDS:g}", self.seconds, "The default is 2"
        deadline = self.deadline_us
        good = deadline is None or 0 < deadline < math.inf
        yield good, "--deadline-us", "must be above 0", deadline, "For example 1000"
        names = ", ".join(QUANTILES)
        yield self.quantile in QUANTILES, "--quantile", f"must be one of {names}", self.quantile, "The default is p99.9"
        yield self.others >= 0, "--others", "must not be negative", self.others, "The default is 0.1"
        yield self.stop_ms > 0, "--stop-ms", "must be above 0", self.stop_ms, "The default is 10"

    def grid(self, rate_hz: float) -> Grid:
        """The rates of the search. rate_hz: the configuration's own. Raises ConfigError."""
        grid = Grid(
            lowest_hz=0.1 * rate_hz if self.lowest_hz is None else self.lowest_hz,
            highest_hz=10 * rate_hz if self.highest_hz is None else self.highest_hz,
            step_hz=0.1 * rate_hz if self.step_hz is None else self.step_hz,
        )
        if grid.highest_hz < grid.lowest_hz:
            rule = f"must not be below the lowest rate, {grid.lowest_hz:g}"
            raise ConfigError("--highest", rule, f"{grid.highest_hz:g}", "Give both, or neither")
        return grid


def search(
    config: FrontEndsConfig,
    config_file: Path,
    settings: Sequence[str],
    options: Options,
    *,
    directory: Path,
    console: Console,
) -> SearchResult:
    """Searches, shows, and writes search.json and search.html into the directory. Ctrl-C ends it with the results so
    far.

    The options must have been checked.
    """
    from anello.system.interruption import interruptible

    grid = options.grid(config.front_ends.rate_hz)
    rules = Rules(options.deadline_us, options.quantile)
    quiet = Quiet(other_cores=options.others, stop_ms=options.stop_ms, tries=options.tries)
    with interruptible() as interrupted:  # also while it writes: a late Ctrl-C costs no result
        runner = TrialRunner(
            config_file,
            settings,
            keys=keys_of(config.chain),
            seconds=options.seconds,
            seed=config.run.seed,
            folder=directory,
            stopped=interrupted,
        )
        with search_report.ConsoleWatcher(console, rules, quiet) as watcher:
            result = Search(
                grid,
                runner,
                seconds=options.seconds,
                rules=rules,
                quiet=quiet,
                n_repeats=options.repeats,
                n_confirm=options.confirm,
                watcher=watcher,
            ).run()
        page = search_report.write(result, directory, f"{config.run.name}, highest rate", Path(config.run.directory))
        search_report.show(result, console)
    console.print(f"report: {page}", soft_wrap=True, highlight=False)
    return result
