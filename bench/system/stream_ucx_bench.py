# SPDX-License-Identifier: Apache-2.0
"""Streams over UCX and TCP and ucx_perftest at the same sizes: `python bench/record.py stream_ucx [OPTION...]`.

"copied": send() and recv(), which copy into the ring and out of it; its like is ucx_perftest's stream_bw. "untouched":
reserve/commit and peek/release without a look at the bytes; its like is ucp_put_bw, which puts one buffer again and
again. Each side has a core, its courier on the same. All four take turns; ratios are of medians.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path

from fabric_pair_bench import peer_rate
from trials import interleaved, table

from anello.search.trial import spread

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build/release/bench/stream_transfer"
OWN = {"copied": "ring_ucx_tcp", "untouched": "ring_ucx_tcp_untouched"}
PEERS = {"copied": "stream_bw", "untouched": "ucp_put_bw"}
Case = tuple[int, str]  # bytes, taker


def main() -> None:
    options = parse()
    sizes = [int(size) for size in options.sizes.split(",")]
    cases: list[Case] = list(itertools.product(sizes, [*OWN, *PEERS.values()]))
    samples: dict[Case, list[float]] = defaultdict(list)
    for case in interleaved(cases, options.repeats):
        samples[case].append(measure(case, options))
    print("A stream over UCX and TCP, MB/s, and its share of what ucx_perftest reaches.")
    takers = [*OWN, *PEERS.values()]
    print(table(["bytes", *takers, *(f"{own}/{peer}" for own, peer in PEERS.items())],
                [row(samples, size, takers) for size in sizes]))  # fmt: skip
    for (n_bytes, taker), taken in samples.items():
        result = {"case": f"{taker}/{n_bytes}", "unit": "MB/s", "median": statistics.median(taken)}
        print(json.dumps(result | {"spread": spread(taken), "n_repeats": len(taken)}), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Streams over UCX compared with ucx_perftest.")
    parser.add_argument("--sizes", default="65536,262144,1048576,4194304,16777216", help="bytes per send")
    parser.add_argument("--bytes", type=int, default=800_000_000, help="per transfer")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--wait", default="block", help="programs and couriers are more than two cores")
    parser.add_argument("--ring", type=int, default=4 << 20)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    return parser.parse_args()


def row(samples: dict[Case, list[float]], n_bytes: int, takers: list[str]) -> list[str]:
    middle = {taker: statistics.median(samples[n_bytes, taker]) for taker in takers}
    ratios = [f"{middle[own] / middle[peer]:.2f}" for own, peer in PEERS.items()]
    return [str(n_bytes), *(f"{middle[taker]:.0f}" for taker in takers), *ratios]


def measure(case: Case, options: argparse.Namespace) -> float:
    n_bytes, taker = case
    if taker not in OWN:
        # UCX 1.13 puts large buffers over TCP at some tens of MB/s: a twentieth of the bytes takes long enough.
        n_all = options.bytes // (20 if taker == "ucp_put_bw" else 1)
        return peer_rate(taker, "tcp", n_bytes, max(10, n_all // n_bytes))
    cores = sorted(os.sched_getaffinity(0))
    command = [str(options.program), "bandwidth", f"transport={OWN[taker]}", f"chunk={n_bytes}",
               f"bytes={options.bytes}", f"wait={options.wait}", f"ring={options.ring}",
               f"cores={cores[0]},{cores[-1]}"]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    return float(json.loads(done.stdout)["megabytes_per_s"])


if __name__ == "__main__":
    main()
