# SPDX-License-Identifier: Apache-2.0
"""What the exchange's own code carries on simulated switches, and what an independent program does that sends the same
messages packet by packet without an exchange.

    python bench/record.py plan_network [--seeds 8] [--nodes 16,32]

Cards of 100 Gb/s, one switch or four leaves with a quarter as many spines as there are nodes, 128 KiB a port, packets
of 4096 + 26 bytes, messages that start up to 1 us late; nodes whose processor costs nothing. Share of the link in %,
means over the seeds. The reference's figures (REFERENCE) are means over eight seeds of a program of 150 lines that is
no part of this project; a barrier takes 5 us in it. One JSON line per case.
"""

import argparse
import json
import statistics
from dataclasses import replace
from typing import Any

from trials import table

from anello.plan.farm import Costs, Farm
from anello.plan.simulation import simulate

HEAD = ["nodes", "switches", "message, KiB", "protocol", "reference", "exchange", "lowest", "highest", "off by"]
PROTOCOLS = {"shift, out of step": ("shift", 0), "shift": ("shift", 4), "push": ("push", 4), "pull": ("pull", 4)}
# Shift has two messages under way and waits for none; shift in step has five under way, four ahead of the slowest;
# push has four under way to each other node. (nodes, on two levels, KiB) -> share of the link in %, by protocol.
REFERENCE = {
    (16, False, 128): {"shift, out of step": 84.1, "shift": 95.5, "push": 99.2},
    (16, False, 1024): {"shift, out of step": 88.6, "shift": 98.8, "push": 99.3},
    (16, True, 128): {"shift, out of step": 73.8, "shift": 90.1, "push": 99.1},
    (16, True, 1024): {"shift, out of step": 65.2, "shift": 98.4, "push": 99.3},
    (32, False, 128): {"shift, out of step": 83.6, "shift": 96.8, "push": 99.2},
    (32, False, 1024): {"shift, out of step": 54.4, "shift": 98.7, "push": 99.3},
    (32, True, 128): {"shift, out of step": 72.2, "shift": 91.0, "push": 99.2},
    (32, True, 1024): {"shift, out of step": 48.5, "shift": 99.0, "push": 99.3},
}
FREE = Costs(0.0, 0.0, "nothing costs anything", own_share=0.0)
LEAST_ROUNDS = {128: 40, 1024: 15}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--nodes", default="16,32")
    options = parser.parse_args()
    results = [
        measured(n_nodes, has_leaves, kib, protocol, options.seeds)
        for n_nodes in map(int, options.nodes.split(","))
        for has_leaves in (False, True)
        for kib in LEAST_ROUNDS
        for protocol in PROTOCOLS
    ]
    print(table(HEAD, [row(result) for result in results]), flush=True)
    for result in results:
        print(json.dumps(result), flush=True)


def measured(n_nodes: int, has_leaves: bool, kib: int, protocol: str, n_seeds: int) -> dict[str, Any]:
    shares = [share(farm_of(n_nodes, has_leaves, kib, protocol, seed)) for seed in range(1, n_seeds + 1)]
    reference = REFERENCE.get((n_nodes, has_leaves, kib), {}).get(protocol)
    mean = statistics.mean(shares)
    return {
        "case": f"{n_nodes}/{'tree' if has_leaves else 'flat'}/{kib}/{protocol}", "nodes": n_nodes,
        "two_levels": has_leaves,
        "kib": kib, "protocol": protocol, "unit": "% of the link", "mean": mean, "lowest": min(shares),
        "highest": max(shares), "samples": shares, "reference": reference,
        "error": mean / reference - 1 if reference else None,
    }  # fmt: skip


def farm_of(n_nodes: int, has_leaves: bool, kib: int, protocol: str, seed: int) -> Farm:
    words, steps_ahead = PROTOCOLS[protocol]
    flat = Farm(
        n_nodes=n_nodes, protocol=words, steps_ahead=steps_ahead, payload_bytes=1024.0 * kib,
        message_bytes=1024.0 * kib, n_meps=LEAST_ROUNDS[kib] * n_nodes, n_buffers=3 * n_nodes, costs=FREE,
        nodes_per_leaf=n_nodes, packet_overhead_bytes=26, cell_bytes=4096, jitter_ns=1000.0, seed=seed,
    )  # fmt: skip
    return replace(flat, nodes_per_leaf=n_nodes // 4, n_spines=n_nodes // 4) if has_leaves else flat


def share(farm: Farm) -> float:
    """Share of the link's rate that the payload of the card's packets takes, in %."""
    headers = farm.packet_overhead_bytes / farm.packet_bytes
    return simulate(farm).card_gbps / (1 + headers) / farm.link_gbps * 100


def row(result: dict[str, Any]) -> list[str]:
    reference, error = result["reference"], result["error"]
    return [
        str(result["nodes"]), "two levels" if result["two_levels"] else "one", str(result["kib"]), result["protocol"],
        "-" if reference is None else f"{reference:.1f}", f"{result['mean']:.1f}", f"{result['lowest']:.1f}",
        f"{result['highest']:.1f}", "-" if error is None else f"{100 * error:+.0f} %",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
