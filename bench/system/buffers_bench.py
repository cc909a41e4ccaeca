# SPDX-License-Identifier: Apache-2.0
"""Throughput and latency of the chain against events per buffer and gathering time, as NaNet-1 shows its own.

    python bench/record.py buffers [--quick] [--sizes 16,8192] [--gathering-us 50,1600] [--rate 0.5] [--set KEY=VALUE]

Throughput: what is decided while far more is offered than goes through. Latency: at a rate that goes through.
Prints tables and JSON lines, and writes bench/results/buffers.html.
"""

import argparse
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping

import page
from chain_run import MIX, keep_to_cores, run_once, summarise
from trials import interleaved, numbers, powers_of_two, table

from anello.search.trial import Trial

PAPER = (
    "NaNet-1 (FPGA card, GPU; figures 5 to 8): 1.7 M events/s at 128 to 1024 events per buffer, over one 1 Gb/s link; "
    "less with smaller buffers; latency grows with the buffer and with the gathering time. There a board's packets "
    "went by hardware into GPU memory; here everything is software on one machine's loopback, and the machine makes "
    "the packets too."
)
PAPER_HZ = 1.7e6
OVERLOAD_GATHERING_US = 400.0
Point = tuple[int, float]  # events per buffer, gathering time in us


def main() -> None:
    options = parse()
    keep_to_cores(options.cores)
    sizes = [int(size) for size in numbers(options.sizes)]
    times_us = numbers(options.gathering_us)
    overload = run_all(options, [(size, OVERLOAD_GATHERING_US) for size in sizes], options.overload * 1e6)
    rated = run_all(options, [(size, time_us) for time_us in times_us for size in sizes], options.rate * 1e6)
    print(PAPER)
    show_throughput(overload, options)
    show_latency(rated, sizes, times_us, options)
    print(f"plot: {draw(overload, rated, sizes, times_us, options)}")
    for kind, results in (("overload", overload), ("rated", rated)):
        for (size, time_us), runs in results.items():
            print(json.dumps({
                "case": f"{kind}/{size}/{time_us:g}", "events_per_buffer": size, "gathering_time_us": time_us,
                "settings": options.set, **summarise(runs),
            }), flush=True)  # fmt: skip


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The chain against events per buffer and gathering time.")
    parser.add_argument("--sizes", default=",".join(map(str, powers_of_two(16, 8192))), help="events per buffer")
    parser.add_argument("--gathering-us", default="50,100,200,400,800,1600")
    parser.add_argument("--rate", type=float, default=0.25, help="for the latency, M events/s")
    parser.add_argument("--overload", type=float, default=2.0, help="offered for the throughput, M events/s")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.7, help="of each repeat")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--quick", action="store_true", help="three sizes, two gathering times, once")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.gathering_us, options.repeats, options.seconds = "16,256,4096", "100,800", 1, 0.4
    return options


def settings_of(size: int, gathering_us: float) -> list[str]:
    """One size for the buffers of both stages, and packets that do not hold more than a buffer."""
    return [
        f"receive.events_per_buffer={size}", f"build.batch_events={size}", f"source.max_events_per_packet={size}",
        f"receive.gathering_time_us={gathering_us}", f"build.batch_time_us={gathering_us}",
        f"source.flush_us={min(100.0, gathering_us)}",
    ]  # fmt: skip


def run_all(options: argparse.Namespace, points: list[Point], rate_hz: float) -> Mapping[Point, list[Trial]]:
    runs: dict[Point, list[Trial]] = defaultdict(list)
    for point in interleaved(points, options.repeats):
        settings = [*MIX, *settings_of(*point), *options.set]
        runs[point].append(run_once(settings, rate_hz=rate_hz, burst_s=options.seconds))
    return runs


def show_throughput(overload: Mapping[Point, list[Trial]], options: argparse.Namespace) -> None:
    rows = []
    for (size, _), runs in overload.items():
        result = summarise(runs)
        ratio = result["median"] / PAPER_HZ
        cores = [f"{result[name]:.2f}" for name in ("node_cores", "source_cores", "other_cores")]
        rate = [f"{result['median'] / 1e6:.3f}", f"{result['spread'] * 100:.0f}", f"{ratio:.2f}"]
        rows.append([str(size), *rate, *cores])
    print(f"Throughput with {options.overload:g} M events/s offered, gathering {OVERLOAD_GATHERING_US:g} us:")
    print(table(["events per buffer", "decided M/s", "spread %", "of 1.7 M/s", "node", "source", "others"], rows))


def p999_us(runs: list[Trial]) -> float:
    return statistics.median(run.latency_us.get("p99.9", math.nan) for run in runs)


def p50_us(runs: list[Trial]) -> float:
    return statistics.median(run.latency_us.get("p50", math.nan) for run in runs)


def show_latency(rated: Mapping[Point, list[Trial]], sizes: list[int], times_us: list[float],
                 options: argparse.Namespace) -> None:  # fmt: skip
    rows = [[str(size), *(cell(rated[size, time_us]) for time_us in times_us)] for size in sizes]
    print(f"Latency from send to decision at {options.rate:g} M events/s, us, p50 / p99.9; * something was lost:")
    print(table(["events per buffer", *(f"{time_us:g} us" for time_us in times_us)], rows), flush=True)


def cell(runs: list[Trial]) -> str:
    lost = "" if all(run.is_clean for run in runs) else "*"
    return f"{p50_us(runs):.0f} / {p999_us(runs):.0f}{lost}"


def draw(overload: Mapping[Point, list[Trial]], rated: Mapping[Point, list[Trial]], sizes: list[int],
         times_us: list[float], options: argparse.Namespace) -> str:  # fmt: skip
    rates = [sorted(run.achieved_hz / 1e6 for run in overload[size, OVERLOAD_GATHERING_US]) for size in sizes]
    throughput = page.Series("decided", sizes, [statistics.median(values) for values in rates],
                             [values[0] for values in rates], [values[-1] for values in rates])  # fmt: skip
    x = "events per buffer"
    limit = {"deadline 1 ms": 1000.0}

    def family(of: object) -> list[page.Series]:
        return [page.Series(f"gathering {time_us:g} us", sizes, [of(rated[size, time_us]) for size in sizes])  # type: ignore[operator]
                for time_us in times_us]  # fmt: skip

    figures = [
        ("Throughput", f"Events decided while {options.overload:g} M events/s are offered; bars: all repeats.",
         page.lines([throughput], x=x, y="M events/s", limits={"NaNet-1, one 1 Gb/s link": PAPER_HZ / 1e6})),
        ("Latency, median", f"From send to decision, at {options.rate:g} M events/s.",
         page.lines(family(p50_us), x=x, y="us", log_y=True, limits=limit)),
        ("Latency, 99.9 %", "The same events.", page.lines(family(p999_us), x=x, y="us", log_y=True, limits=limit)),
    ]  # fmt: skip
    return str(page.write(page.RESULTS / "buffers.html", "Events per buffer and gathering time", PAPER, figures))


if __name__ == "__main__":
    main()
