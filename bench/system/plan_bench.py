# SPDX-License-Identifier: Apache-2.0
"""How far the simulation of `anello plan` is from runs of `anello exchange --local` on this machine.

    python bench/record.py plan [--quick] [--nodes 2,4,8] [--protocols push,pull,shift]
    python bench/system/plan_bench.py RUN/summary.json... --calibrate RUN/summary.json...

Without runs it makes them, for each protocol, and calibrates with those of one and two nodes: one gives the cost of a
message that stays, two that of one that moves. Nodes then share the machine's cores, in the simulation too: it must
predict larger farms on the same cores. Readout units have more buffers than a cache holds (N_BUFFERS), as caches
do not help either where nodes outnumber cores. One JSON line for each run; `calibrated`: its costs come from it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trials import table

from anello.exchange.configuration.config import ALIGNMENT_BYTES, BYTES_BESIDE_FRAGMENT, MFP_HEADER_BYTES
from anello.plan.calibration import calibrate
from anello.plan.farm import Costs, Farm
from anello.plan.simulation import simulate

CONFIG = Path(__file__).parents[2] / "configs/lhcb-exchange.toml"
CALIBRATING = (1, 2)  # nodes
LEAST_MEPS = 2000
N_BUFFERS, N_CREDITS = 512, 80
HEAD = ["protocol", "nodes", "measured, Gb/s", "simulated", "error", ""]


def main() -> None:
    options = parse()
    if options.runs:
        results = compare_all(options.runs, options.calibrate or options.runs[:1], options)
    else:
        results = [result for protocol in options.protocols.split(",") for result in measured(protocol, options)]
    print(table(HEAD, [row(result) for result in results]), flush=True)
    for result in results:
        print(json.dumps(result), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--calibrate", nargs="+", type=Path, default=[])
    parser.add_argument("--nodes", default="2,4,8", help="what is compared")
    parser.add_argument("--protocols", default="push,pull,shift")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each run")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="that all nodes share")
    parser.add_argument("--quick", action="store_true", help="short runs, pushed, up to four nodes")
    options = parser.parse_args()
    if options.quick:
        options.nodes, options.protocols, options.seconds = "2,4", "push", 0.5
    return options


def measured(protocol: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Makes the runs, and compares them."""
    compared = [int(n) for n in options.nodes.split(",")]
    sizes = sorted({*CALIBRATING, *compared})
    with tempfile.TemporaryDirectory() as folder:
        settings = [f"exchange.protocol={protocol}", "run.display=off", f"generator.n_buffers={N_BUFFERS}",
                    f"exchange.credits={N_CREDITS}"]  # fmt: skip
        command = [sys.executable, "-m", "anello", "exchange", str(CONFIG), "--local", ",".join(map(str, sizes)),
                   "--duration", str(options.seconds), "--no-reference", "--report-dir", folder,
                   *(part for setting in settings for part in ("--set", setting))]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{protocol}: {done.stderr.strip()[-400:] or done.stdout.strip()[-400:]}")
        files = {n: Path(folder) / f"nodes-{n}/summary.json" for n in sizes}
        return compare_all([files[n] for n in compared], [files[n] for n in CALIBRATING], options)


def compare_all(runs: Sequence[Path], used: Sequence[Path], options: argparse.Namespace) -> list[dict[str, Any]]:
    costs = calibrate(used, Costs())
    return [compare(json.loads(run.read_text()), costs, run in used, options) for run in runs]


def compare(summary: dict[str, Any], costs: Costs, calibrated: bool, options: argparse.Namespace) -> dict[str, Any]:
    farm = farm_of(summary, costs, options.cores)
    simulated = simulate(farm)
    # Builders also count the headers of messages.
    gbps = simulated.built_gbps * farm.n_nodes * farm.message_bytes / farm.payload_bytes
    built = summary["rates"]["built_gbit_per_s"]
    return {
        "case": f"{farm.protocol}/{farm.n_nodes}", "protocol": farm.protocol, "nodes": farm.n_nodes,
        "calibrated": calibrated, "unit": "Gb/s of built events, all nodes", "measured": built, "simulated": gbps,
        "error": gbps / built - 1, "off": abs(gbps / built - 1), "cores": options.cores,
        "costs": {"message_us": farm.message_ns * 1e-3, "own_share": costs.own_share},
    }  # fmt: skip


def farm_of(summary: dict[str, Any], costs: Costs, n_cores: int) -> Farm:
    """The farm of this run, for the simulation: its nodes share a machine."""
    config, n_nodes = summary["config"], len(summary["nodes"])
    packing, fragment_bytes = config["exchange.packing"], config["generator.fragment_mean_bytes"]
    padded = -(-fragment_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    rate_hz = config["generator.rate_hz"]
    return Farm(
        n_nodes=n_nodes, protocol=config["exchange.protocol"], payload_bytes=packing * fragment_bytes,
        message_bytes=MFP_HEADER_BYTES + packing * (BYTES_BESIDE_FRAGMENT + padded), n_meps=LEAST_MEPS,
        mep_interval_ns=packing / rate_hz * 1e9 if rate_hz else 0.0, n_credits=config["exchange.credits"],
        n_buffers=max(n_nodes + 1, config["generator.n_buffers"]), costs=costs, n_cores=n_cores, link_gbps=0.0,
        steps_ahead=config.get("exchange.steps_ahead", 0), jitter_ns=0.0,
    )  # fmt: skip


def row(result: dict[str, Any]) -> list[str]:
    return [
        result["protocol"], str(result["nodes"]), f"{result['measured']:.1f}", f"{result['simulated']:.1f}",
        f"{result['error']:+.0%}", "calibrated" if result["calibrated"] else "predicted",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
