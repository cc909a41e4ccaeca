# SPDX-License-Identifier: Apache-2.0
"""How far the simulation of `anello plan` is from runs of `anello exchange --local` on this machine.

    python bench/system/plan_bench.py RUN/summary.json... [--calibrate RUN/summary.json...] [--cores N]

Costs come from the runs after --calibrate (else from the first run, which then proves nothing and is said to be
"calibrated"). All nodes share the machine's cores and memory. One JSON line for each run.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from anello.exchange.config import MFP_HEADER_BYTES
from anello.plan.calibration import calibrate
from anello.plan.farm import GBPS, Costs, Farm
from anello.plan.simulation import simulate

LEAST_MEPS = 2000


def farm_of(summary: dict[str, Any], costs: Costs, n_cores: int, memory_gbps: float) -> Farm:
    """The farm that this run was: its nodes share a machine."""
    config, n_nodes = summary["config"], len(summary["nodes"])
    packing, fragment_bytes = config["exchange.packing"], config["generator.fragment_mean_bytes"]
    rate_hz = config["generator.rate_hz"]
    return Farm(
        n_nodes=n_nodes, protocol=config["exchange.protocol"], payload_bytes=packing * fragment_bytes,
        message_bytes=MFP_HEADER_BYTES + packing * (6 + -(-fragment_bytes // 8) * 8), n_meps=LEAST_MEPS,
        mep_interval_ns=packing / rate_hz * 1e9 if rate_hz else 0.0, n_credits=config["exchange.credits"],
        n_buffers=max(n_nodes, config["generator.n_buffers"]), costs=costs, n_cores=n_cores, link_rate=0.0,
        memory_rate=memory_gbps * GBPS,
    )  # fmt: skip


def compare(path: Path, costs: Costs, calibrated: bool, n_cores: int, memory_gbps: float) -> dict[str, Any]:
    summary = json.loads(path.read_text())
    farm = farm_of(summary, costs, n_cores, memory_gbps)
    simulated = simulate(farm)
    # What builders count holds the headers of messages too.
    gbps = simulated.built_gbps * farm.n_nodes * farm.message_bytes / farm.payload_bytes
    measured = summary["rates"]["built_gbit_per_s"]
    return {
        "run": str(path), "nodes": farm.n_nodes, "protocol": farm.protocol, "calibrated": calibrated,
        "measured_gbit_per_s": measured, "simulated_gbit_per_s": gbps, "error": gbps / measured - 1,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--calibrate", nargs="+", type=Path, default=[])
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--memory-gbps", type=float, default=106.0)
    options = parser.parse_args()
    used = options.calibrate or options.runs[:1]
    costs = calibrate(used, Costs())
    for path in options.runs:
        print(json.dumps(compare(path, costs, path in used, options.cores, options.memory_gbps)), flush=True)


if __name__ == "__main__":
    main()
