# SPDX-License-Identifier: Apache-2.0
"""Messages between two processes over UCX, compared with ucx_perftest with the same UCX_TLS and size.

    python bench/record.py fabric_pair [--tls tcp,shm+self] [--sizes 64,131072] [--repeats 5]

Each side has a core. ucx_perftest receives active messages without looking at their bytes (ucp_am_bw), or copies them
to where they belong as we do (tag_bw). All three take turns; ratios are of medians.
"""

import argparse
import itertools
import json
import os
import socket
import statistics
import subprocess
import time
from collections import defaultdict
from pathlib import Path

from trials import interleaved, powers_of_two, table

from anello.search.trial import spread

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build/release/bench/fabric_pair"
PERFTESTS = ("ucp_am_bw", "tag_bw")
TAKERS = ("anello", *PERFTESTS)
BYTES_PER_TRIAL = {"tcp": 4e8, "shm,self": 2e9}
Case = tuple[str, int, str]  # tls, bytes, taker


def main() -> None:
    options = parse()
    tls = [choice.replace("+", ",") for choice in options.tls.split(",")]
    sizes = [int(size) for size in options.sizes.split(",")]
    cases: list[Case] = list(itertools.product(tls, sizes, TAKERS))
    samples: dict[Case, list[float]] = defaultdict(list)
    for case in interleaved(cases, options.repeats):
        samples[case].append(measure(case, options.program))
    print("Payload from one process to another, MB/s, and our share of what ucx_perftest reaches.")
    head = ["tls, bytes", *TAKERS, *(f"of {name}" for name in PERFTESTS), "spread %"]
    print(table(head, [row(samples, choice, size) for choice, size in itertools.product(tls, sizes)]))
    for case, taken in samples.items():
        result = {"case": f"{case[0]}/{case[1]}/{case[2]}", "unit": "MB/s", "median": statistics.median(taken)}
        print(json.dumps(result | {"spread": spread(taken), "n_repeats": len(taken)}), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Messages over UCX compared with ucx_perftest.")
    parser.add_argument("--tls", default="tcp,shm+self", help="values of UCX_TLS, their own commas written +")
    parser.add_argument("--sizes", default=",".join(map(str, [*powers_of_two(64, 1 << 20)][::2])), help="bytes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    return parser.parse_args()


def row(samples: dict[Case, list[float]], tls: str, n_bytes: int) -> list[str]:
    middle = {taker: statistics.median(samples[tls, n_bytes, taker]) for taker in TAKERS}
    ratios = [f"{middle['anello'] / middle[name]:.2f}" for name in PERFTESTS]
    noise = f"{spread(samples[tls, n_bytes, 'anello']) * 100:.0f}"
    return [f"{tls}, {n_bytes}", *(f"{middle[taker]:.0f}" for taker in TAKERS), *ratios, noise]


def n_messages(tls: str, n_bytes: int) -> int:
    """Enough for a trial of a fraction of a second."""
    return max(500, min(400_000, int(BYTES_PER_TRIAL.get(tls, 4e8) / n_bytes)))


def measure(case: Case, program: Path) -> float:
    tls, n_bytes, taker = case
    number = n_messages(tls, n_bytes)
    return own_rate(program, tls, n_bytes, number) if taker == "anello" else peer_rate(taker, tls, n_bytes, number)


def own_rate(program: Path, tls: str, n_bytes: int, number: int) -> float:
    command = [str(program), f"tls={tls}", f"bytes={n_bytes}", f"messages={number}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    result = json.loads(done.stdout)
    return float(result["bytes"] * result["messages"] / result["seconds"] / 1e6)


def peer_rate(test: str, tls: str, n_bytes: int, number: int) -> float:
    """What ucx_perftest calls the overall bandwidth, which it gives in 2^20 B/s."""
    cores = sorted(os.sched_getaffinity(0))
    port, environment = free_port(), os.environ | {"UCX_TLS": tls}
    common = ["ucx_perftest", "-p", str(port)]
    sizes = ["-s", str(n_bytes), "-n", str(number), "-w", str(number // 10), "-f", "-v"]
    with subprocess.Popen([*common, "-c", str(cores[0])], env=environment, stdout=subprocess.DEVNULL) as server:
        wait_for(port)
        command = [*common, "127.0.0.1", "-c", str(cores[-1]), "-t", test, *sizes]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
        server.wait(timeout=120)
    return float(done.stdout.strip().splitlines()[-1].split(",")[5]) * (1 << 20) / 1e6


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("", 0))
        return int(taken.getsockname()[1])


def wait_for(port: int) -> None:
    """Until somebody listens; a connection would be taken for the client's."""
    listening = f":{port:04X} 00000000:0000 0A"
    for _ in range(500):
        if listening in Path("/proc/net/tcp").read_text() or f":{port:04X} " in Path("/proc/net/tcp6").read_text():
            return
        time.sleep(0.01)
    raise SystemExit(f"ucx_perftest does not listen at port {port}")


if __name__ == "__main__":
    main()
