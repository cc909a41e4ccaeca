# SPDX-License-Identifier: Apache-2.0
"""The camera's event builder in two and three stages, against the size of the fragments.

    python bench/record.py camera [--quick] [--frames 1024,8192] [--modes plain,gso+gro] [--set camera_build.copy=plain]

265 boards' fragments are sent, received, checked, built into events and handed on. First all cases at one rate of
payload, interleaved, so that their CPU time compares; then the highest rate of each, as `anello search` finds it.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator

from camera_run import LAYOUTS, MODES, CameraTrial, Case, cpu_ratios, run_once, runner, summarise
from chain_run import keep_to_cores
from rich.console import Console
from trials import interleaved, numbers, of_repeats, table

from anello.search import report as search_report
from anello.search.bisection import Grid, Quiet, Rules, Search
from anello.search.trial import Trial

HEAD = ["datagram, layout, mode", "offered Gb/s", "Gb/s", "spread %", "events/s", "node CPU %", "us/event", "spread %",
        "source CPU %", "others", "clean", "built and checked", "lost"]  # fmt: skip


def main() -> None:
    options = parse()
    keep_to_cores(options.cores)
    cases = cases_of(options)
    repeats: dict[Case, list[CameraTrial]] = defaultdict(list)
    for case in interleaved(cases, options.repeats):
        repeats[case].append(measure(options, case))
    results = [summarise(case, repeats[case]) for case in cases]
    show(results, options)
    for result in [*results, *compared(repeats)]:
        print(json.dumps(result | {"settings": options.set}), flush=True)
    for case in [] if options.no_search else cases:
        if case.mode in options.search_modes.split(","):
            print(json.dumps(highest_rate(options, case) | {"settings": options.set}), flush=True)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The camera's event builder in two and three stages.")
    parser.add_argument("--frames", default="1024,1744,8192", help="bytes of a datagram; 1744: NectarCAM's waveforms")
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--modes", default=",".join(MODES), help="sender's and receiver's offload")
    parser.add_argument("--boards", type=int, default=265)
    parser.add_argument("--gbit", type=float, default=1.0, help="payload offered for the comparison, Gb/s")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--cores", type=int, default=2, help="that front ends and node share")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as anello run takes it")
    parser.add_argument("--others", type=float, default=0.1, help="cores that the rest of the machine may take")
    parser.add_argument("--tries", type=int, default=3, help="until a run is undisturbed; then it counts anyway")
    parser.add_argument("--no-search", action="store_true", help="leave out the search for the highest rate")
    parser.add_argument("--search", default="0.5,12,0.5", help="lowest, highest and step of the search, Gb/s")
    parser.add_argument("--search-modes", default="plain,gso+gro", help="those of --modes that are searched")
    parser.add_argument("--quick", action="store_true", help="two runs of 0.5 s at two sizes in one mode, no search")
    options = parser.parse_args(arguments)
    if options.quick:
        options.frames, options.modes, options.gbit = "1024,8192", "gso+gro", 0.25
        options.repeats, options.seconds, options.tries, options.no_search = 2, 0.5, 1, True
    return options


def cases_of(options: argparse.Namespace) -> list[Case]:
    """Layouts side by side: what is to be compared runs one after the other."""
    return [
        Case(int(n_bytes), layout, mode, options.boards)
        for n_bytes in numbers(options.frames)
        for mode in options.modes.split(",")
        for layout in options.layouts.split(",")
    ]


def measure(options: argparse.Namespace, case: Case) -> CameraTrial:
    """One run; while others take more of the machine than is allowed it is thrown away and tried again."""
    last: list[CameraTrial] = []

    def one(rate_hz: float) -> Trial:
        last[:] = [run_once(run, rate_hz, options.seconds)]
        return last[0].trial

    with runner([*case.settings(), *options.set], options.seconds) as run:
        quiet_of(options).measure(one, case.rate_hz(options.gbit))
    return last[0]


def quiet_of(options: argparse.Namespace) -> Quiet:
    return Quiet(other_cores=options.others, tries=options.tries)


def compared(repeats: dict[Case, list[CameraTrial]]) -> Iterator[dict[str, object]]:
    """Three stages against two, CPU time of the node, by pairs of neighbouring runs."""
    for case, two in repeats.items():
        three = repeats.get(Case(case.datagram_bytes, "three-stage", case.mode, case.boards), [])
        ratios = cpu_ratios(two, three) if case.layout == "two-stage" and len(two) == len(three) else []
        if ratios:
            name = f"three over two/{case.datagram_bytes}/{case.mode}"
            yield {"case": name, "unit": "ratio of CPU time", **of_repeats(ratios)}


def highest_rate(options: argparse.Namespace, case: Case) -> dict[str, object]:
    """Result of `anello search`; a run in which not every byte was checked is no pass."""
    lowest, highest, step = (case.rate_hz(gbit) for gbit in numbers(options.search))
    print(f"highest/{case.name}:", flush=True)
    measured: dict[int, CameraTrial] = {}

    def one(rate_hz: float) -> Trial:
        done = run_once(run, rate_hz, options.seconds)
        measured[id(done.trial)] = done
        return done.trial

    rules, quiet = Rules(), quiet_of(options)
    with runner([*case.settings(), *options.set], options.seconds) as run:
        result = Search(
            Grid(lowest, highest, step), one, seconds=options.seconds, rules=rules,
            quiet=quiet, n_repeats=3, n_confirm=max(3, options.repeats),
            watcher=search_report.ConsoleWatcher(Console(), rules, quiet),
        ).run()  # fmt: skip
    print("\n".join(search_report.lines(result)), flush=True)
    said: dict[str, object] = {"step_gbit_per_s": case.gbit_per_s(step), "words": search_report.lines(result)}
    if result.first_failing:
        said["first_failing_gbit_per_s"] = case.gbit_per_s(result.first_failing.rate_hz)
    if not result.found:
        return {"case": f"highest/{case.name}", "median": None} | said
    runs = [measured[id(trial)] for trial in result.found.trials]
    return summarise(case, runs) | {"case": f"highest/{case.name}"} | said


def show(results: list[dict], options: argparse.Namespace) -> None:
    print(f"{options.boards} boards and the node on {options.cores} cores of one machine, loopback, {options.repeats} "
          f"repeats of {options.seconds:g} s, interleaved. CPU in % of a core; others: cores, at worst.")  # fmt: skip
    print("Every payload byte of the events under `built and checked` was checked by its fragment's CRC-32C.")
    print(table(HEAD, [row(result) for result in results]), flush=True)
    for mode in options.modes.split(","):
        ways = [result["way"] for result in results if result["mode"] == mode and "way" in result]
        print(f"Mode {mode}: {ways[0] if ways else 'no run came to its end'}.", flush=True)


def row(result: dict) -> list[str]:
    if result["median"] is None:
        return [result["case"], *["-"] * (len(HEAD) - 2), result["errors"][0]]
    lost = ", ".join(f"{cause} {n}" for cause, n in result["losses"].items()) or "none"
    return [
        result["case"], f"{result['offered']:.2f}", f"{result['median']:.3f}", f"{result['spread'] * 100:.1f}",
        f"{result['events_per_s']:.0f}", f"{result['node_percent']:.0f}", f"{result['node_us_per_event']:.0f}",
        f"{result['node_us_spread'] * 100:.0f}", f"{result['source_percent']:.0f}", f"{result['other_cores']:.2f}",
        f"{result['clean_repeats']}/{result['n_repeats']}", f"{result['n_verified']}/{result['n_offered']}",
        "; ".join([lost, *result["problems"]]),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
