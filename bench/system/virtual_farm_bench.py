# SPDX-License-Identifier: Apache-2.0
"""How fast farms go in virtual time (`anello simulate`), on one core.

    python bench/record.py virtual_farm [--rounds 5]

any: farms as they are drawn, each byte looked at. 1 Gb/s: four nodes that build that much each, of parts of 120 kB, for
ten seconds, with faults that do not end a run; fragments are not carried, and virtual time over real time is what
counts. One JSON line each, medians over the rounds, and how far they lie apart.
"""

import argparse
import json
import statistics
import time
from typing import Any

from trials import table

from anello.engine import _engine

N_FARMS = 1000
N_LONG = 8
LONG = (
    "n_nodes=4", "roles=all", "n_meps=10000", "packing=600", "fragment_bytes=200", "rate_hz=600000", "gbps=10",
    "n_credits=10", "n_buffers=16", "timeout_ns=5e8", "peer_timeout_ns=1e9", "sink_holds_ns=0", "preemption=0",
    "carries_fragments=0", "reliable=1", "nodes_per_leaf=0",
)  # fmt: skip
NOT_DEADLY = ["stop", "cut", "slow_card", "slow_core", "sink_full", "source_stuck"]
HEAD = ["farms", "per second", "times real time", "spread"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    cases = {
        "any": (_engine.FarmDraw(_engine.farm_fault_kinds(), 5, 4, []), N_FARMS),
        "1 Gb/s": (_engine.FarmDraw(NOT_DEADLY, 4, 4, list(LONG)), N_LONG),
    }
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (farms, n_farms) in cases.items():
            measured[name].append(timed(farms, n_farms))
    results = [summed(name, each) for name, each in measured.items()]
    print(table(HEAD, [row(result) for result in results]), flush=True)
    for result in results:
        print(json.dumps(result), flush=True)


def timed(farms: Any, n_farms: int) -> dict[str, float]:
    begun_s = time.perf_counter()
    found = farms.search(1, n_farms)
    wall_s = time.perf_counter() - begun_s
    return {"farms_per_s": n_farms / wall_s, "times_real_time": found["virtual_s"] / wall_s,
            "not_explained": len(found["failed"])}  # fmt: skip


def summed(name: str, rounds: list[dict[str, float]]) -> dict[str, Any]:
    rates = [one["farms_per_s"] for one in rounds]
    medians = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    return {"case": name, **medians, "spread": (max(rates) - min(rates)) / medians["farms_per_s"], "samples": rounds}


def row(result: dict[str, Any]) -> list[str]:
    return [result["case"], f"{result['farms_per_s']:.0f}", f"{result['times_real_time']:.0f}",
            f"{result['spread'] * 100:.0f} %"]  # fmt: skip


if __name__ == "__main__":
    main()
