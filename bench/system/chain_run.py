# SPDX-License-Identifier: Apache-2.0
"""One measured run of the RICH chain, as `anello search` makes it, and several summed up."""

import itertools
import os
import statistics
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anello.search.report import mode_words
from anello.search.trial import Trial, TrialRunner, keys_of, spread

# Events on which ring finders are compared: rings of uniform radius, 10/55/15/15/5 % of events with 0..4 of them.
MIX = (
    "source.simulation.sample=brief", "source.simulation.ring_shares=[0.10, 0.55, 0.15, 0.15, 0.05]",
    "source.simulation.noise_hits=2.5", "source.simulation.out_of_time_rings=0.0",
    "source.simulation.centre_x_mm=0.0", "source.simulation.centre_y_mm=0.0",
    "source.simulation.centre_sd_mm=60.0", "source.simulation.centre_max_mm=140.0",
    "source.simulation.smear_mm=2.0",
)  # fmt: skip

_seeds = itertools.count(1)


def parser_of_cases(description: str, *, rates: str, algorithms: str, repeats: int, seconds: float) -> ArgumentParser:
    """Which runs of the chain are measured, and these defaults; a benchmark adds what is its own."""
    parser = ArgumentParser(description=description)
    parser.add_argument("--rates", default=rates, help="M events/s")
    parser.add_argument("--algorithms", default=algorithms)
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--seconds", type=float, default=seconds, help="of each repeat")
    parser.add_argument("--cores", type=int, default=2, help="that front ends and node share")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as anello run takes it")
    return parser


@contextmanager
def runner(settings: Sequence[str], burst_s: float) -> Iterator[TrialRunner]:
    """Makes trials of a rate: one burst of burst_s, all defaults but `settings`, which are as for --set."""
    with tempfile.TemporaryDirectory() as folder:
        defaults = Path(folder) / "defaults.toml"
        defaults.touch()
        yield TrialRunner(
            defaults, settings, keys=keys_of("rich"), seconds=burst_s, seed=next(_seeds), folder=Path(folder)
        )


def run_once(settings: Sequence[str], *, rate_hz: float, burst_s: float) -> Trial:
    """One burst of burst_s at rate_hz. Raises RuntimeError where there is no result."""
    with runner(settings, burst_s) as run:
        trial = run(rate_hz)
    if trial.error or not trial.latency_us:
        raise RuntimeError(f"at {rate_hz:g} events/s: {trial.error or 'no event was decided'}")
    return trial


def summarise(runs: Sequence[Trial]) -> dict[str, Any]:
    """Repeats of one case as one result: median and spread of the rate, medians of the rest, sums of what was lost."""
    rates = [run.achieved_hz for run in runs]
    causes = {cause for run in runs for cause in run.losses}
    return {
        "unit": "events/s",
        "median": statistics.median(rates),
        "spread": spread(rates),
        "n_repeats": len(runs),
        "samples": {"achieved_hz": rates, "latency_us": [dict(run.latency_us) for run in runs]},
        "offered_hz": runs[0].offered_hz,
        "clean_repeats": sum(run.is_clean for run in runs),
        "losses": {cause: sum(run.losses.get(cause, 0) for run in runs) for cause in sorted(causes)},
        "balanced": not any(run.problems for run in runs),
        "latency_us": {
            name: statistics.median(run.latency_us[name] for run in runs)
            for name in runs[0].latency_us
            if all(name in run.latency_us for run in runs)
        },
        "p99.9_us_worst": max((run.latency_us["p99.9"] for run in runs if "p99.9" in run.latency_us), default=None),
        "legs_us": {leg: statistics.median(run.legs_us.get(leg, 0.0) for run in runs) for leg in runs[0].legs_us},
        "deadline_misses": sum(run.deadline_misses for run in runs),
        "n_events": sum(run.n_events for run in runs),
        "source_cores": statistics.median(run.source_cores for run in runs),
        "node_cores": statistics.median(run.node_cores for run in runs),
        "other_cores": max(run.other_cores for run in runs),
        "forgone_s": max(run.forgone_s for run in runs),
        "mode": mode_words(runs),
    }


def keep_to_cores(n_cores: int) -> None:
    """This process and its children on the first n_cores that they may use."""
    usable = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, usable[:n_cores])
