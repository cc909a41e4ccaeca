# SPDX-License-Identifier: Apache-2.0
"""The load curve of the RICH's trigger: latency from the event itself against the event rate, open loop.

    python bench/record.py load [--rates 0.05,0.5] [--algorithms multiring] [--seconds 3] [--repeats 1] [--quick]

The configuration is the demo's, with its deadline, and MIX events (chain_run.py). Front ends keep their schedule
even if packets are lost, and every delay after the scheduled time counts into the latency. Prints a table and writes
bench/results/load.svg.
"""

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import lateness
from chain_run import MIX, keep_to_cores, parser_of_cases
from curve import Curve, write_svg
from lateness import LIMIT_US, Lateness
from trials import interleaved, numbers, table

from anello.report import plot

DRAWN = ("p50", "p99", "p99.9")
HEAD = ["ring finder", "M events/s", "p50 us", "p99", "p99.9", "p99.99", "floor p99.9", "> 1 ms", "explained",
        "degraded %", "lossless", "at rate", "kept"]  # fmt: skip


def main() -> None:
    options = parse()
    lateness.take_weight()
    keep_to_cores(options.cores)
    cases = [(name, rate) for name in options.algorithms.split(",") for rate in numbers(options.rates)]
    repeats: dict[tuple[str, float], list[Lateness]] = defaultdict(list)
    for seed, (name, rate) in enumerate(interleaved(cases, options.repeats), 1):
        summary = lateness.run(settings(options, name, rate, seed), timeout_s=200 + options.seconds)
        repeats[name, rate].append(lateness.of_summary(summary))
        print(table(HEAD, [row(name, rate, repeats[name, rate])]).splitlines()[-1], flush=True)
    print(table(HEAD, [row(*case, repeats[case]) for case in cases]), flush=True)
    for name, rate in cases:
        print(json.dumps({"case": f"{name}/{rate:g}", "settings": options.set, **result(repeats[name, rate])}),
              flush=True)  # fmt: skip
    print(f"picture: {draw(options.picture, cases, repeats)}", flush=True)


def parse() -> argparse.Namespace:
    parser = parser_of_cases(
        "Latency from the event against the event rate.", rates="0.05,0.15,0.3,0.5,0.7,1,1.25,1.5",
        algorithms="single,multiring", repeats=1, seconds=3.0,
    )  # fmt: skip
    parser.add_argument("--picture", type=Path, default=Path(__file__).parents[1] / "results/load.svg")
    parser.add_argument("--quick", action="store_true", help="0.5 s at two rates")
    options = parser.parse_args()
    if options.quick:
        options.rates, options.repeats, options.seconds = "0.1,0.5", 1, 0.5
    return options


def settings(options: argparse.Namespace, algorithm: str, rate: float, seed: int) -> list[str]:
    """One burst."""
    return [
        *MIX, f"trigger.algorithm={algorithm}", f"source.rate_hz={rate * 1e6:.1f}", f"run.seed={seed}",
        f"run.duration_s={options.seconds:g}", f"source.burst_ms={options.seconds * 1e3:g}", "source.gap_ms=0",
        "run.n_report_events=0", *options.set,
    ]  # fmt: skip


def median(runs: list[Lateness], name: str) -> float | None:
    known = [one.event_us[name] for one in runs if name in one.event_us]
    return statistics.median(known) if known else None


def floor_us(runs: list[Lateness]) -> float | None:
    known = [one.floor_us for one in runs if one.floor_us is not None]
    return statistics.median(known) if known else None


def result(runs: list[Lateness]) -> dict[str, Any]:
    return {"unit": "us", "median": median(runs, "p50"), "n_repeats": len(runs),
            "kept": sum(one.keeps_limit for one in runs), "runs": [one.as_dict() for one in runs]}  # fmt: skip


def row(name: str, rate: float, runs: list[Lateness]) -> list[str]:
    """Medians of the quantiles, sums of the rest."""

    def us(value: float | None) -> str:
        return "-" if value is None else f"{value:.0f}"

    explained = [one.n_explained for one in runs if one.n_explained is not None]
    behind_s = max(one.forgone_s for one in runs)
    return [
        name, f"{rate:g}", *(us(median(runs, key)) for key in (*DRAWN, "p99.99")), us(floor_us(runs)),
        str(sum(one.n_late for one in runs)), str(sum(explained)) if explained else "-",
        f"{100 * statistics.mean(one.degraded for one in runs):.2f}",
        f"{sum(one.is_lossless for one in runs)}/{len(runs)}",
        "yes" if behind_s == 0 else f"{behind_s:.2f} s behind", f"{sum(one.keeps_limit for one in runs)}/{len(runs)}",
    ]  # fmt: skip


def draw(path: Path, cases: list[tuple[str, float]], repeats: dict[tuple[str, float], list[Lateness]]) -> Path:
    """One line for each ring finder and quantile; a hollow point is not at rate, or lost something."""
    curves = []
    names = list(dict.fromkeys(name for name, _ in cases))
    for name, colour in zip(names, (plot.BLUE, plot.ORANGE, plot.GREEN, plot.PURPLE), strict=False):
        for quantile, dash in zip(DRAWN, ("2 5", "8 4", ""), strict=True):
            points = [(rate, median(repeats[one, rate], quantile), is_whole(repeats[one, rate]))
                      for one, rate in cases if one == name]  # fmt: skip
            curves.append(Curve(f"{name} {quantile}", colour, dash, points))
    floors = [(rate, floor_us(repeats[name, rate]), True) for name, rate in cases if name == names[-1]]
    curves.append(Curve("machine's own p99.9", plot.SOFT, "", floors))
    path.parent.mkdir(parents=True, exist_ok=True)
    words = {"x": "events offered, M/s", "y": "event to decision, µs", "hollow": "lost data, or not at rate"}
    path.write_text(write_svg(curves, **words, limit=(LIMIT_US, "1 ms")))
    return path


def is_whole(runs: list[Lateness]) -> bool:
    return all(one.is_lossless and one.forgone_s == 0 for one in runs)


if __name__ == "__main__":
    main()
