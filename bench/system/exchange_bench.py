# SPDX-License-Identifier: Apache-2.0
"""Events built between nodes on this machine: transports, protocols and numbers of nodes side by side.

    python bench/record.py exchange [--quick] [--nodes 1,2,4,8] [--transports ucx,tcp] [--set exchange.verify_share=1]

Each run is `anello exchange --local N` as a user types it: multi-event packets of 600 fragments of about 200 B, a share
of the payload verified, the farm's ledger balanced. One way, from a readout node to a builder node, is measured in
turn with `ucx_perftest`, which sends messages of the same size over the same transport and does nothing else.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials import interleaved, numbers, of_repeats, table

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs/lhcb-exchange.toml"
ONE_WAY_ROLES = '["em+ru", "bu"]'
MESSAGE_BYTES = 123_648  # a multi-fragment packet of the configuration, at most
PERFTEST_LIMIT_S = 30.0
PERFTEST_START_S = 0.3
TLS = {"ucx": "", "ucx-tcp": "tcp", "ucx-shm": "shm,self", "tcp": "", "udp": ""}
HEAD = ["case", "Gb/s", "spread %", "Gb/s per node", "p50 ms", "p99.9 ms", "cores", "verified", "lost", "balanced"]


@dataclass(frozen=True)
class Case:
    transport: str  # of TLS
    protocol: str  # push, pull, shift; "one-way"; or "perftest"
    n_nodes: int

    @property
    def name(self) -> str:
        return f"{self.transport}/{self.protocol}/{self.n_nodes}"

    def settings(self) -> list[str]:
        one_way = self.protocol == "one-way"
        kind = self.transport.partition("-")[0]
        settings = [f"fabric.transport={kind}", f"fabric.ucx_tls={TLS[self.transport]}",
                    f"exchange.protocol={'push' if one_way else self.protocol}"]  # fmt: skip
        # ucx_perftest spins too.
        return [*settings, f"exchange.roles={ONE_WAY_ROLES}", "exchange.wait=spin"] if one_way else settings


@dataclass(frozen=True)
class Sample:
    gbit_per_s: float
    p50_ms: float = 0.0
    p999_ms: float = 0.0
    cores: float = 0.0
    verified_share: float = 0.0
    n_lost: int = 0
    balanced: bool = True


def main() -> None:
    options = parse()
    cases = [
        Case(transport, protocol, int(n))
        for n in numbers(options.nodes) for transport in options.transports.split(",")
        for protocol in options.protocols.split(",")
    ]  # fmt: skip
    one_way = [
        Case(transport, kind, 2) for transport in options.one_way.split(",") if transport
        for kind in ("one-way", "perftest")
    ]  # fmt: skip
    samples: dict[Case, list[Sample]] = defaultdict(list)
    for case in interleaved([*cases, *one_way], options.repeats):
        samples[case].append(perftest(case) if case.protocol == "perftest" else exchange(case, options))
    results = [summarise(case, samples[case]) for case in [*cases, *one_way]]
    print(f"{options.repeats} repeats of {options.seconds:g} s, interleaved, all nodes on the cores of this machine.")
    print(table(HEAD, [row(result) for result in results]), flush=True)
    for result in [*results, *(against_perftest(case, samples) for case in one_way if case.protocol == "one-way")]:
        print(json.dumps(result | {"settings": options.set}), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Events built between nodes on this machine.")
    parser.add_argument("--nodes", default="1,2,4,8")
    parser.add_argument("--transports", default="ucx,tcp", help=f"of {', '.join(TLS)}")
    parser.add_argument("--protocols", default="push,pull,shift")
    parser.add_argument("--one-way", default="ucx-shm,ucx-tcp", help="transports compared with ucx_perftest")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as anello exchange takes it")
    parser.add_argument("--quick", action="store_true", help="one short run of 1 and 2 nodes, pushed")
    options = parser.parse_args()
    if options.quick:
        options.nodes, options.protocols, options.repeats, options.seconds = "1,2", "push", 1, 0.5
    return options


def exchange(case: Case, options: argparse.Namespace) -> Sample:
    """One run; raises RuntimeError with its last words where it failed. An unbalanced ledger is a result."""
    with tempfile.TemporaryDirectory() as folder:
        settings = [*case.settings(), f"run.duration_s={options.seconds}", "run.display=off",
                    f"run.directory={folder}", *options.set]  # fmt: skip
        command = [sys.executable, "-m", "anello", "exchange", str(CONFIG), "--local", str(case.n_nodes),
                   "--no-reference", *(part for setting in settings for part in ("--set", setting))]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = sorted(Path(folder).rglob("summary.json"))
        if not found:
            raise RuntimeError(f"{case.name}: {done.stderr.strip()[-400:] or done.stdout.strip()[-400:]}")
        return sample_of(json.loads(found[0].read_text()))


def _ms(value_ns: float | None) -> float:
    return math.nan if value_ns is None else value_ns * 1e-6


def sample_of(summary: dict[str, Any]) -> Sample:
    way = summary["latency"]["ready_to_built"]
    return Sample(
        gbit_per_s=summary["rates"]["built_gbit_per_s"], p50_ms=_ms(way["p50_ns"]), p999_ms=_ms(way["p999_ns"]),
        cores=sum(node["cores"] for node in summary["nodes"]), verified_share=summary["verified"],
        n_lost=sum(summary["losses"].values()), balanced=summary["balanced"],
    )  # fmt: skip


def perftest(case: Case) -> Sample:
    """ucx_perftest between two processes: active messages of the same size, for about two seconds."""
    environment = os.environ | {"UCX_TLS": TLS[case.transport], "UCX_WARN_UNUSED_ENV_VARS": "n"}
    port = str(20000 + time.monotonic_ns() % 20000)
    command = ["ucx_perftest", "-t", "ucp_am_bw", "-s", str(MESSAGE_BYTES), "-n", "30000", "-w", "1000", "-p", port]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(PERFTEST_START_S)
        done = subprocess.run(
            [*command, "127.0.0.1"], env=environment, capture_output=True, text=True, timeout=PERFTEST_LIMIT_S,
            check=False,
        )  # fmt: skip
    finally:
        server.kill()
        server.wait()
    lines = re.findall(r"^Final:\s+(.*)$", done.stdout, re.MULTILINE)
    if not lines:
        raise RuntimeError(f"ucx_perftest said nothing: {done.stderr.strip()[-300:]}. apt-get install ucx-utils")
    mebibytes_per_s = float(lines[-1].split()[5])  # iterations, percentile, average, overall, MB/s average, overall
    return Sample(mebibytes_per_s * 2**20 * 8e-9)


def summarise(case: Case, samples: Sequence[Sample]) -> dict[str, Any]:
    rates = [sample.gbit_per_s for sample in samples]
    return {
        "case": case.name, "transport": case.transport, "protocol": case.protocol, "nodes": case.n_nodes,
        "unit": "Gb/s of built events, all nodes", **of_repeats(rates),
        "p50_ms": statistics.median(sample.p50_ms for sample in samples),
        "p99.9_ms": statistics.median(sample.p999_ms for sample in samples),
        "cores": statistics.median(sample.cores for sample in samples),
        "verified_share": samples[0].verified_share, "n_lost": sum(one.n_lost for one in samples),
        "balanced": all(sample.balanced for sample in samples),
    }  # fmt: skip


def against_perftest(case: Case, samples: dict[Case, list[Sample]]) -> dict[str, Any]:
    """One way through the exchange over what ucx_perftest moves, repeat by repeat."""
    theirs = samples[Case(case.transport, "perftest", 2)]
    ratios = [our.gbit_per_s / their.gbit_per_s for our, their in zip(samples[case], theirs, strict=True)]
    return {"case": f"one way over ucx_perftest/{case.transport}", "unit": "ratio of bandwidth", **of_repeats(ratios)}


def row(result: dict[str, Any]) -> list[str]:
    return [
        result["case"], f"{result['median']:.1f}", f"{result['spread'] * 100:.0f}",
        f"{result['median'] / result['nodes']:.1f}", f"{result['p50_ms']:.2f}", f"{result['p99.9_ms']:.2f}",
        f"{result['cores']:.2f}", f"{result['verified_share']:.0%}", f"{result['n_lost']:,}",
        "yes" if result["balanced"] else "NO",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
