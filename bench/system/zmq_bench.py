# SPDX-License-Identifier: Apache-2.0
"""Unmodified ZeroMQ PUSH/PULL between two processes: TCP and ipc as the distribution has them, and over Anello's rings.

    python bench/record.py zmq [--quick] [--sizes 65536,1048576] [--rounds 7] [--gigabytes 1]

Needs `./dev zmq`. One program (zmq_messages.cpp), which knows nothing of rings; the library that it is started with
makes the difference. Before the timed rounds each case is run once with every byte compared, outside the timed part.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials import interleaved, numbers, of_repeats, powers_of_two, table

from anello.search.trial import spread

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build/zmq/zmq_messages"
RINGS = ROOT / "build/zmq/lib"
ENDPOINTS = {"tcp": "tcp://127.0.0.1:*", "ipc": "ipc://*", "ring": "ipc://*", "off": "ipc://*"}
MEANINGS = {
    "tcp": "the distribution's libzmq over loopback",
    "ipc": "the distribution's libzmq over a unix socket",
    "ring": "the same ipc:// address with ./dev zmq's library at both ends",
    "off": "that library with ZMQ_ANELLO_RING=0: what a user gets who switches it off",
}
WAYS = {"own memory": 0, "zmq_send": 1}  # zmq_msg_init_data, or the copy that zmq_send makes
SMALLEST, LARGEST = 64 * 1024, 16 << 20
MIN_MESSAGES = 20


@dataclass(frozen=True)
class Case:
    n_bytes: int
    way: str  # of WAYS
    transport: str  # of ENDPOINTS


def main() -> None:
    options = parse()
    build()
    sizes = [int(size) for size in numbers(options.sizes)]
    cases = [Case(*case) for case in itertools.product(sizes, WAYS, options.transports.split(","))]
    for case in cases:
        run(case, options.gigabytes / 4, verify=True)
    rates: dict[Case, list[float]] = defaultdict(list)
    for case in interleaved(cases, options.rounds):
        rates[case].append(run(case, options.gigabytes))
    report(rates)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="ZeroMQ PUSH/PULL over TCP, ipc and rings.")
    parser.add_argument("--sizes", default=",".join(map(str, powers_of_two(SMALLEST, LARGEST)[::2])), help="bytes")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="moved in each run")
    parser.add_argument("--transports", default="tcp,ipc,ring", help="of tcp, ipc, ring, off")
    parser.add_argument("--quick", action="store_true", help="two sizes, one round of a quarter of a gigabyte")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.rounds, options.gigabytes = f"{SMALLEST},{1 << 20}", 1, 0.25
    if not (RINGS / "libzmq.so.5").exists():
        raise SystemExit(f"there is no {RINGS}/libzmq.so.5: ./dev zmq builds it")
    return options


def build() -> None:
    """Against the headers and the library of ./dev zmq; the loader finds the distribution's in other runs."""
    source = Path(__file__).with_name("zmq_messages.cpp")
    include, link = f"-I{RINGS.parent}/include", f"-L{RINGS}"
    subprocess.run(["g++", "-std=c++20", "-O2", include, source, "-o", PROGRAM, link, "-lzmq"], check=True)


def environment(transport: str) -> dict[str, str]:
    added = {"ring": {"LD_LIBRARY_PATH": str(RINGS)}, "off": {"LD_LIBRARY_PATH": str(RINGS), "ZMQ_ANELLO_RING": "0"}}
    own = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return own | added.get(transport, {})


def run(case: Case, gigabytes: float, verify: bool = False) -> float:
    """MB/s from the first message received to the last."""
    n_messages = max(MIN_MESSAGES, int(gigabytes * 1e9 / case.n_bytes))
    shared = [f"bytes={case.n_bytes}", f"messages={n_messages}"]
    library = environment(case.transport)
    pull = [PROGRAM, "pull", f"endpoint={ENDPOINTS[case.transport]}", f"verify={int(verify)}", *shared]
    with subprocess.Popen(pull, stdout=subprocess.PIPE, text=True, env=library) as receiver:
        assert receiver.stdout is not None
        push = [PROGRAM, "push", f"endpoint={receiver.stdout.readline().strip()}", f"copy={WAYS[case.way]}", *shared]
        sender = subprocess.run(push, env=library, check=False)
        line = receiver.stdout.readline()
    if receiver.returncode != 0 or sender.returncode != 0:
        raise SystemExit(f"zmq_messages failed: {case}, {line}")
    taken: dict[str, Any] = json.loads(line)
    if taken["wrong"] or taken["peer_offers_ring"] != (case.transport == "ring"):
        raise SystemExit(f"not what was to be measured: {case}, {line}")
    return n_bytes_timed(taken) / taken["seconds"] / 1e6


def n_bytes_timed(taken: dict[str, Any]) -> float:
    return float(taken["bytes"] * (taken["messages"] - 1))  # the clock begins with the first


def report(rates: dict[Case, list[float]]) -> None:
    for name in {case.transport: None for case in rates}:
        print(f"{name}: {MEANINGS[name]}")
    print("Payload, MB/s, medians; every byte was compared in a run of its own before.")
    print(table(["bytes, sent from", *head(rates)], list(rows(rates))), flush=True)
    for case, taken in rates.items():
        tcp = rates.get(Case(case.n_bytes, case.way, "tcp"), [])
        print(json.dumps({
            "case": f"push-pull/{case.transport}/{case.way}/{case.n_bytes}", "unit": "MB/s", **of_repeats(taken),
            "of_tcp": [mine / theirs for mine, theirs in zip(taken, tcp, strict=False)], "verified": True,
        }), flush=True)  # fmt: skip


def head(rates: dict[Case, list[float]]) -> list[str]:
    transports = list({case.transport: None for case in rates})
    return [*transports, *(f"{name} / tcp" for name in transports if name != "tcp"), "spread %"]


def rows(rates: dict[Case, list[float]]) -> list[list[str]]:
    lines: dict[tuple[int, str], dict[str, list[float]]] = defaultdict(dict)
    for case, taken in rates.items():
        lines[case.n_bytes, case.way][case.transport] = taken
    return [
        [f"{n_bytes}, {way}", *(f"{statistics.median(taken):.0f}" for taken in line.values()),
         *(f"{statistics.median(taken) / statistics.median(line['tcp']):.2f}" if "tcp" in line else "-"
           for name, taken in line.items() if name != "tcp"),
         f"{max(spread(taken) for taken in line.values()) * 100:.0f}"]
        for (n_bytes, way), line in lines.items()
    ]  # fmt: skip


if __name__ == "__main__":
    main()
