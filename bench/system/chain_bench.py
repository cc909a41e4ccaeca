# SPDX-License-Identifier: Apache-2.0
"""The chain from simulated boards to decisions, against the event rate.

    python bench/record.py chain [--quick] [--rates 0.25,0.5] [--algorithms multiring] [--set threads.wait=spin] ...

For each rate and ring finder, several interleaved repeats: rate achieved, losses by cause, latency from send to
decision, CPU of both processes. Then the highest rate that passes, as `anello search` finds it.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator

from chain_run import MIX, keep_to_cores, parser_of_cases, run_once, runner, summarise
from rich.console import Console
from trials import interleaved, numbers, table

from anello.search import report as search_report
from anello.search.bisection import Grid, Quiet, Rules, Search, SearchResult
from anello.search.trial import Trial
from anello.system.hiccups import delay_of_share, share_later_than
from anello.system.hiccups import measure as measure_hiccups

HICCUP_S = 3.0

HEAD = ["ring finder", "offered M/s", "M/s", "spread %", "clean", "p50 us", "p99", "p99.9", "p99.99", "> 1 ms",
        "source", "node", "others", "losses (packets)"]  # fmt: skip


def main() -> None:
    options = parse()
    keep_to_cores(options.cores)
    cases = [(name, rate_mhz * 1e6) for name in options.algorithms.split(",") for rate_mhz in numbers(options.rates)]
    repeats: dict[tuple[str, float], list[Trial]] = defaultdict(list)
    for name, rate_hz in interleaved(cases, options.repeats):
        repeats[name, rate_hz].append(measure(options, name, rate_hz))
    results = [{"case": f"{name}/{rate_hz:.0f}", "algorithm": name, **summarise(repeats[name, rate_hz])}
               for name, rate_hz in cases]  # fmt: skip
    show(results, options)
    floor = machine_floor()
    print(f"This machine by itself: {floor['share_above_1ms'] * 100:.2f} % of arrivals wait more than 1 ms for a "
          f"thread that only naps; its own p99.9 is {floor['p99.9_us']:.0f} us.")  # fmt: skip
    print(json.dumps(floor), flush=True)
    for result in results:
        print(json.dumps(result | {"settings": options.set}), flush=True)
    for name in [] if options.no_search else options.algorithms.split(","):
        for case in highest_rates(options, name):
            print(json.dumps(case | {"settings": options.set}), flush=True)


def parse() -> argparse.Namespace:
    parser = parser_of_cases(
        "The chain against the event rate.", rates="0.25,0.5,0.75,1,1.5,2", algorithms="multiring,single,histogram",
        repeats=3, seconds=2.0,
    )  # fmt: skip
    parser.add_argument("--others", type=float, default=0.1, help="cores that the rest of the machine may take")
    parser.add_argument("--tries", type=int, default=3, help="until a repeat is undisturbed; then it counts anyway")
    parser.add_argument("--no-search", action="store_true", help="leave out the search for the highest rate")
    parser.add_argument("--search", default="0.1,3,0.05", help="lowest, highest and step of the search, M events/s")
    parser.add_argument("--deadline-us", type=float, default=1000.0, help="of p99.9 in the search; 0: none")
    parser.add_argument("--quick", action="store_true", help="one repeat of 0.5 s at two rates, no search")
    options = parser.parse_args()
    if options.quick:
        options.rates, options.repeats, options.seconds, options.no_search = "0.25,0.5", 1, 0.5, True
    return options


def machine_floor() -> dict[str, object]:
    """Latency that the machine itself adds to any program: see hiccups."""
    late = measure_hiccups(HICCUP_S)
    share = share_later_than(late, HICCUP_S, 1e-3)
    return {"case": "machine", "share_above_1ms": share, "p99.9_us": delay_of_share(late, HICCUP_S, 1e-3) * 1e6,
            "max_us": max(late) * 1e6, "median": share}  # fmt: skip


def measure(options: argparse.Namespace, algorithm: str, rate_hz: float) -> Trial:
    """One run; it is discarded and repeated while other programs take more of the machine than is allowed."""
    settings = settings_of(options, algorithm)
    quiet = quiet_of(options)
    trial, _ = quiet.measure(lambda hz: run_once(settings, rate_hz=hz, burst_s=options.seconds), rate_hz)
    return trial


def quiet_of(options: argparse.Namespace) -> Quiet:
    return Quiet(other_cores=options.others, tries=options.tries)


def settings_of(options: argparse.Namespace, algorithm: str) -> list[str]:
    return [*MIX, f"trigger.algorithm={algorithm}", *options.set]


def highest_rates(options: argparse.Namespace, algorithm: str) -> Iterator[dict[str, object]]:
    """Searches with the deadline; if no rate keeps it, which may be the machine's fault, also without."""
    with_deadline = highest_rate(options, algorithm, options.deadline_us)
    yield with_deadline
    if with_deadline["median"] is None and options.deadline_us:
        yield highest_rate(options, algorithm, 0.0)


def highest_rate(options: argparse.Namespace, algorithm: str, deadline_us: float) -> dict[str, object]:
    """Result of `anello search`; deadline_us: limit of p99.9 in us, 0: none."""
    lowest, highest, step = (rate_mhz * 1e6 for rate_mhz in numbers(options.search))
    rules, quiet = Rules(deadline_us or None, "p99.9"), quiet_of(options)
    case = f"highest/{algorithm}" + ("" if deadline_us else "/no deadline")
    print(f"{case}:", flush=True)
    with runner(settings_of(options, algorithm), options.seconds) as run:
        result = Search(
            Grid(lowest, highest, step), run, seconds=options.seconds, rules=rules,
            quiet=quiet, n_repeats=max(3, options.repeats),
            watcher=search_report.ConsoleWatcher(Console(), rules, quiet),
        ).run()  # fmt: skip
    print("\n".join(search_report.lines(result)), flush=True)
    return {"case": case, "algorithm": algorithm, "step_hz": step, **summed_up(result)}


def summed_up(result: SearchResult) -> dict[str, object]:
    """The confirmed rate like any other case, with everything that qualifies it."""
    said: dict[str, object] = {"deadline_us": result.rules.deadline_us, "words": search_report.lines(result)}
    failing = result.first_failing
    if failing:
        why = search_report.reason(failing.trials[-1], result.rules, result.quiet)
        said |= {"first_failing_hz": failing.rate_hz, "why": why}
    return said | (summarise(result.found.trials) if result.found else {"median": None})


def show(results: list[dict], options: argparse.Namespace) -> None:
    print(f"Boards and node on {options.cores} cores of one machine, loopback, {options.repeats} repeats of "
          f"{options.seconds:g} s; MIX events of 4 boards. CPU in cores, others: at worst.")  # fmt: skip
    print(f"Mode: {results[0]['mode']}.")
    print(table(HEAD, [row(result) for result in results]), flush=True)
    print("Legs, median in us, " + ", ".join(f"{r['case']}: {legs(r)}" for r in results[:1]))


def row(result: dict) -> list[str]:
    latency = result["latency_us"]
    lost = ", ".join(f"{cause} {n}" for cause, n in result["losses"].items()) or "none"
    return [
        result["algorithm"], f"{result['offered_hz'] / 1e6:.2f}", f"{result['median'] / 1e6:.3f}",
        f"{result['spread'] * 100:.1f}", f"{result['clean_repeats']}/{result['n_repeats']}",
        *(f"{latency[name]:.0f}" if name in latency else "-" for name in ("p50", "p99", "p99.9", "p99.99")),
        str(result["deadline_misses"]),
        f"{result['source_cores']:.2f}", f"{result['node_cores']:.2f}",
        f"{result['other_cores']:.2f}",
        lost + ("" if result["balanced"] else "; LEDGER OFF"),
    ]  # fmt: skip


def legs(result: dict) -> str:
    return " ".join(f"{leg} {value:.0f}" for leg, value in result["legs_us"].items())


if __name__ == "__main__":
    main()
