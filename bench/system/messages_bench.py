# SPDX-License-Identifier: Apache-2.0
"""Latency and bandwidth of the receive stage against message size, as NaNet-10 shows its own.

    python bench/record.py messages [--quick] [--sizes 16,4096] [--program build/release/bench/receive_messages]

Sender and receiver are processes of their own, over loopback and over a veth pair. The engine's intake is measured in
turn with recvmmsg that discards: what the system call alone can do. Writes bench/results/messages.html.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import page
from trials import interleaved, numbers, powers_of_two, table
from veth import LOOPBACK, VethUnavailableError, veth_pair
from veth import Path as NetworkPath

from anello.search.trial import spread

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build/release/bench/receive_messages"
PAPER = (
    "NaNet-10 (FPGA card; figures 5 and 6) shows latency and bandwidth of its receive path for messages of 16 B to "
    "4 kB on a 10 Gb/s link, which bounds its bandwidth at 1.25 GB/s. The card writes into the application's memory; "
    "here the kernel's stack and a copy lie in between, and no card or cable at all."
)
LINK_GBIT = 10.0
MAX_SUPER_PACKET_BYTES, MAX_SEGMENTS = 60_000, 64
MODES = {
    "plain": "each message its own datagram, no offload",
    "offload": "GSO at the sender, GRO at the receiver: up to 64 messages pass the stack as one",
}
Samples = dict["Case", list[dict[str, Any]]]


@dataclass(frozen=True)
class Case:
    """One point of one line of one plot."""

    path: str
    mode: str  # of MODES
    taker: str  # raw, or a backend of the engine's: "anello" is its default, socket
    n_bytes: int
    busy_poll_us: int = 0  # receive.busy_poll_us
    one_core: bool = False  # sender and receiver share it: the whole cost of a message, the sender's half as well


def main() -> None:
    options = parse()
    if options.backends:
        compare_backends(options)
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    paths = [LOOPBACK]
    try:
        with veth_pair() as pair:
            bandwidth, latency = measure_all([*paths, pair], options)
    except VethUnavailableError as problem:
        print(f"veth: skipped, {problem}")
        bandwidth, latency = measure_all(paths, options)
    report(bandwidth, latency)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Receive latency and bandwidth against message size.")
    parser.add_argument("--sizes", default=",".join(map(str, powers_of_two(16, 4096))), help="bytes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--rate", type=float, default=10_000, help="messages/s when latency is measured")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--backends", action="store_true", help="only the engine's backends side by side, over veth")
    parser.add_argument("--busy-poll", type=int, default=50, metavar="US", help="of --backends: with it and without")
    parser.add_argument("--quick", action="store_true", help="three sizes, one repeat")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.repeats = "16,256,4096", 1
    if options.program == PROGRAM:
        build()
    return options


def build() -> None:
    """`./dev bench` configures the build and builds micro benchmarks; this program is built here."""
    command = ["cmake", "--build", str(PROGRAM.parent.parent), "--target", PROGRAM.name]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def measure_all(paths: list[NetworkPath], options: argparse.Namespace) -> tuple[Samples, Samples]:
    """Bandwidth and latency samples; the engine's and the raw intake in turn."""
    sizes = [int(size) for size in numbers(options.sizes)]
    by_name = {path.name: path for path in paths}
    product = itertools.product(by_name, MODES, sizes, ("anello", "raw"))  # the two takers one after the other
    cases = [Case(path, mode, taker, size) for path, mode, size, taker in product]
    bandwidth: Samples = defaultdict(list)
    latency: Samples = defaultdict(list)
    for case in interleaved(cases, options.repeats):
        bandwidth[case].append(measure(case, by_name[case.path], 0.0, options))
        if case.mode == "plain":  # single messages: there is nothing to gather
            latency[case].append(measure(case, by_name[case.path], options.rate, options))
    return bandwidth, latency


def compare_backends(options: argparse.Namespace) -> None:
    """Message rates of every backend over veth: all on one core, and sender and receiver on a core each."""
    sizes = [int(size) for size in numbers(options.sizes)]
    takers = [("anello", 0), ("anello", options.busy_poll), ("io_uring", 0), ("af_xdp", 0),
              ("af_xdp", options.busy_poll)]  # fmt: skip
    n_cores = len(sorted(os.sched_getaffinity(0))[: options.cores])
    samples: Samples = defaultdict(list)
    with veth_pair() as pair:
        shares = (True, False) if n_cores > 1 else (True,)
        product = itertools.product(shares, sizes, takers)  # the takers in turn
        cases = [Case(pair.name, "plain", taker, size, poll_us, shared) for shared, size, (taker, poll_us) in product]
        for case in interleaved(cases, options.repeats):
            samples[case].append(measure(case, pair, 0.0, options))
    print("Messages that the engine took while the sender sent as fast as it could; ratio to sockets.")
    print(table(["cores, bytes, backend", "M msg/s", "spread %", "of socket", "lost %"], backend_rows(samples)))
    for case, taken in samples.items():
        print(json.dumps(result("backends", "messages/s", "messages_per_s", case, taken)), flush=True)


def backend_rows(samples: Samples) -> list[list[str]]:
    rows = []
    for case, taken in samples.items():
        sockets = samples[replace(case, taker="anello", busy_poll_us=0)]
        rate, socket_rate = (middle(one, "messages_per_s") for one in (taken, sockets))
        name = f"{'one' if case.one_core else 'two'}, {case.n_bytes}, {case.taker}"
        rows.append([name + (", busy poll" if case.busy_poll_us else ""), f"{rate / 1e6:.2f}",
                     f"{spread([sample['messages_per_s'] for sample in taken]) * 100:.0f}",
                     f"{rate / socket_rate:.2f}", f"{lost_share(taken) * 100:.0f}"])  # fmt: skip
    return rows


def segments(case: Case) -> int:
    return min(MAX_SEGMENTS, MAX_SUPER_PACKET_BYTES // case.n_bytes) if case.mode == "offload" else 1


def measure(case: Case, path: NetworkPath, rate: float, options: argparse.Namespace) -> dict[str, Any]:
    gro = int(case.mode == "offload")
    cores = sorted(os.sched_getaffinity(0))  # two that spin must not share one
    sender_core = cores[0 if case.one_core else -1]
    taker = "socket" if case.taker == "anello" else case.taker
    shared = [f"address={path.address}", f"bytes={case.n_bytes}"]
    receive = [*path.before_receiver, str(options.program), "receive", *shared, f"taker={taker}", f"gro={gro}",
               f"interface={path.interface}", f"core={cores[0]}", f"busy_poll={case.busy_poll_us}",
               f"seconds={options.seconds}"]  # fmt: skip
    with subprocess.Popen(receive, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        port = receiver.stdout.readline().strip()
        send = [*path.before_sender, str(options.program), "send", *shared, f"port={port}", f"core={sender_core}",
                f"segments={segments(case)}", f"rate={rate}", f"seconds={options.seconds + 5}"]  # fmt: skip
        with subprocess.Popen(send) as sender:
            line = receiver.stdout.readline()
            sender.terminate()
    if receiver.returncode != 0 or not line:
        raise SystemExit(f"receive_messages failed, exit {receiver.returncode}: {case}")
    taken: dict[str, Any] = json.loads(line)
    return taken | {
        "gbit_per_s": taken["bytes"] * 8e-9 / taken["seconds"],
        "messages_per_s": taken["messages"] / taken["seconds"],
    }


# --- Showing ------------------------------------------------------------------------------------------------------
def report(bandwidth: Samples, latency: Samples) -> None:
    print(PAPER)
    for mode, meaning in MODES.items():
        print(f"mode {mode}: {meaning}")
    print("Bandwidth of payload while the sender sends as fast as it can; lost: for lack of room at the receiver.")
    print(table(["path, mode, bytes", "anello Gb/s", "raw Gb/s", "anello/raw", "anello M msg/s", "lost %"],
                bandwidth_rows(bandwidth)))  # fmt: skip
    print("Latency of single messages, from before the send call to after the receive call, us:")
    print(table(["path, bytes", "anello p50", "p99", "p99.9", "raw p50", "p99", "p99.9"], latency_rows(latency)))
    print(f"plot: {draw(bandwidth, latency)}", flush=True)
    for case, taken in bandwidth.items():
        print(json.dumps(result("bandwidth", "Gb/s", "gbit_per_s", case, taken)), flush=True)
    for case, taken in latency.items():
        print(json.dumps(result("latency", "us", "p50_us", case, taken)), flush=True)


def middle(samples: list[dict[str, Any]], key: str) -> float:
    return statistics.median(sample[key] for sample in samples)


def lost_share(samples: list[dict[str, Any]]) -> float:
    lost = sum(sample["lost"] for sample in samples)
    return lost / max(1, lost + sum(sample["messages"] for sample in samples))


def engine_cases(samples: Samples) -> list[tuple[Case, Case]]:
    """Each case of the engine's with its raw twin."""
    return [(case, Case(case.path, case.mode, "raw", case.n_bytes)) for case in samples if case.taker == "anello"]


def bandwidth_rows(samples: Samples) -> list[list[str]]:
    rows = []
    for case, raw in engine_cases(samples):
        mine, other = middle(samples[case], "gbit_per_s"), middle(samples[raw], "gbit_per_s")
        rate_mhz = statistics.median(sample["messages"] / sample["seconds"] for sample in samples[case]) / 1e6
        rows.append([f"{case.path}, {case.mode}, {case.n_bytes}", f"{mine:.2f}", f"{other:.2f}", f"{mine / other:.2f}",
                     f"{rate_mhz:.2f}", f"{lost_share(samples[case]) * 100:.0f}"])  # fmt: skip
    return rows


def latency_rows(samples: Samples) -> list[list[str]]:
    keys = ("p50_us", "p99_us", "p99.9_us")
    return [
        [f"{case.path}, {case.n_bytes}", *(f"{middle(samples[one], key):.1f}" for one in (case, raw) for key in keys)]
        for case, raw in engine_cases(samples)
    ]


def result(kind: str, unit: str, key: str, case: Case, taken: list[dict[str, Any]]) -> dict[str, Any]:
    values = [sample[key] for sample in taken]
    mode = case.mode + ("-one-core" if case.one_core else "") + ("-busy-poll" if case.busy_poll_us else "")
    return {
        "case": f"{kind}/{case.path}/{mode}/{case.taker}/{case.n_bytes}", "unit": unit,
        "median": statistics.median(values), "spread": spread(values), "n_repeats": len(values),
        "messages_per_s": statistics.median(sample["messages"] / sample["seconds"] for sample in taken),
        "lost_share": lost_share(taken), "mode": MODES[case.mode],
        **{name: middle(taken, name) for name in ("p50_us", "p99_us", "p99.9_us")},
    }  # fmt: skip


def draw(bandwidth: Samples, latency: Samples) -> Path:
    def family(samples: Samples, key: str) -> list[page.Series]:
        chosen: dict[str, list[Case]] = defaultdict(list)
        for case in sorted(samples, key=lambda case: case.n_bytes):
            chosen[f"{case.path}, {case.mode}, {case.taker}"].append(case)
        return [
            page.Series(name, [case.n_bytes for case in cases], [middle(samples[case], key) for case in cases])
            for name, cases in chosen.items()
        ]

    x = "message, bytes"
    return page.write(page.RESULTS / "messages.html", "Receiving messages", PAPER, [
        ("Bandwidth", "Payload; the line is what NaNet-10's link can carry.",
         page.lines(family(bandwidth, "gbit_per_s"), x=x, y="Gb/s", log_y=True, limits={"10 Gb/s": LINK_GBIT})),
        ("Latency", "Single messages, median.", page.lines(family(latency, "p50_us"), x=x, y="us")),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
