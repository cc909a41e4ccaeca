# SPDX-License-Identifier: Apache-2.0
"""The chain from simulated boards to decisions, against the event rate.

    python bench/record.py chain [--quick] [--rates 0.25,0.5] [--algorithms multiring] [--set threads.wait=spin] ...

For each rate and ring finder, several interleaved repeats: rate achieved, losses by cause, latency from send to
decision, CPU of both processes. Then the highest rate that goes through without loss and with p99.9 below 1 ms.
"""

import argparse
import json
from collections import defaultdict

from chain_run import MIX, Run, keep_to_cores, meets_deadline, run_once, summarise
from trials import highest_passing, interleaved, numbers, table

from anello.hiccups import delay_of_share, share_later_than
from anello.hiccups import measure as measure_hiccups

HICCUP_S = 3.0

HEAD = ["ring finder", "offered M/s", "M/s", "spread %", "clean", "p50 us", "p99", "p99.9", "p99.99", "> 1 ms",
        "source", "node", "others", "losses (packets)"]  # fmt: skip


def main() -> None:
    options = parse()
    keep_to_cores(options.cores)
    cases = [(name, rate_mhz * 1e6) for name in options.algorithms.split(",") for rate_mhz in numbers(options.rates)]
    repeats: dict[tuple[str, float], list[Run]] = defaultdict(list)
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
        print(json.dumps(critical_rate(options, name) | {"settings": options.set}), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The chain against the event rate.")
    parser.add_argument("--rates", default="0.25,0.5,0.75,1,1.5,2", help="M events/s")
    parser.add_argument("--algorithms", default="multiring,single,histogram")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each repeat")
    parser.add_argument("--cores", type=int, default=2, help="that front ends and node share")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as anello run takes it")
    parser.add_argument("--others", type=float, default=0.1, help="cores that the rest of the machine may take")
    parser.add_argument("--tries", type=int, default=3, help="until a repeat is undisturbed; then it counts anyway")
    parser.add_argument("--no-search", action="store_true", help="leave out the search for the highest rate")
    parser.add_argument("--search", default="0.1,3,0.05", help="lowest, highest and step of the search, M events/s")
    parser.add_argument("--quick", action="store_true", help="one repeat of 0.5 s at two rates, no search")
    options = parser.parse_args()
    if options.quick:
        options.rates, options.repeats, options.seconds, options.no_search = "0.25,0.5", 1, 0.5, True
    return options


def machine_floor() -> dict[str, object]:
    """What the machine costs a latency, whatever the program: see hiccups."""
    late = measure_hiccups(HICCUP_S)
    share = share_later_than(late, HICCUP_S, 1e-3)
    return {"case": "machine", "share_above_1ms": share, "p99.9_us": delay_of_share(late, HICCUP_S, 1e-3) * 1e6,
            "max_us": max(late) * 1e6, "median": share}  # fmt: skip


def measure(options: argparse.Namespace, algorithm: str, rate_hz: float) -> Run:
    """One run; while others take more of the machine than is allowed it is thrown away and tried again."""
    settings = [*MIX, f"trigger.algorithm={algorithm}", *options.set]
    for _ in range(options.tries):
        run = run_once(settings, rate_hz=rate_hz, burst_s=options.seconds)
        if run.other_cores <= options.others:
            break
    return run


def critical_rate(options: argparse.Namespace, algorithm: str) -> dict[str, object]:
    """The highest rate without loss and with p99.9 below 1 ms; each verdict from at least three repeats."""
    n_repeats = max(3, options.repeats)
    verdicts: dict[float, list[Run]] = {}

    def passes(rate_hz: float) -> bool:
        runs = verdicts[rate_hz] = [measure(options, algorithm, rate_hz) for _ in range(n_repeats)]
        worst_us = max(run.latency_us["p99.9"] for run in runs)
        good = meets_deadline(runs)
        verdict = f"{'passes' if good else 'fails'}; {sum(run.is_clean for run in runs)} of {n_repeats} clean"
        print(f"  {algorithm} at {rate_hz / 1e6:.2f} M/s: {verdict}, p99.9 at worst {worst_us:.0f} us", flush=True)
        return good

    print(f"highest rate without loss and with p99.9 < 1 ms, {algorithm}:")
    lowest, highest, step = (rate_mhz * 1e6 for rate_mhz in numbers(options.search))
    rate_hz = highest_passing(lowest, highest, step, passes)
    found = {"case": f"highest/{algorithm}", "algorithm": algorithm, "step_hz": step}
    return found | (summarise(verdicts[rate_hz]) if rate_hz else {"median": None, "lowest_hz": lowest})


def show(results: list[dict], options: argparse.Namespace) -> None:
    print(f"Boards and node on {options.cores} cores of one machine, loopback, {options.repeats} repeats of "
          f"{options.seconds:g} s; MIX events of 4 boards. CPU in cores, others: at worst.")  # fmt: skip
    print(f"Receive: {results[0]['mode']}. On loopback and with GSO and GRO whole super-packets cross.")
    print(table(HEAD, [row(result) for result in results]), flush=True)
    print("Legs, median in us, " + ", ".join(f"{r['case']}: {legs(r)}" for r in results[:1]))


def row(result: dict) -> list[str]:
    latency = result["latency_us"]
    lost = ", ".join(f"{cause} {n}" for cause, n in result["losses"].items()) or "none"
    return [
        result["algorithm"], f"{result['offered_hz'] / 1e6:.2f}", f"{result['median'] / 1e6:.3f}",
        f"{result['spread'] * 100:.1f}", f"{result['clean_repeats']}/{result['n_repeats']}",
        *(f"{latency[name]:.0f}" for name in ("p50", "p99", "p99.9", "p99.99")), str(result["deadline_misses"]),
        f"{result['source_cores']:.2f}", f"{result['node_cores']:.2f}",
        f"{result['other_cores']:.2f}",
        lost + ("" if result["balanced"] else "; LEDGER OFF"),
    ]  # fmt: skip


def legs(result: dict) -> str:
    return " ".join(f"{leg} {value:.0f}" for leg, value in result["legs_us"].items())


if __name__ == "__main__":
    main()
