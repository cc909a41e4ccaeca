# SPDX-License-Identifier: Apache-2.0
"""Nodes of a real farm that are killed or stopped at seeded moments, at full load: do the others survive, and does the
farm's ledger close?

    PYTHONPATH=tests .venv/bin/python -m new_seeds.killed_farm [--seeds 8] [--first 1] [--transports memory,ucx,tcp,udp]
        [--large] [--standby] [--audit] [--cuts] [--set KEY=VALUE]

Three nodes on this machine that all read out and build, as fast as they can, for two seconds. Each seed draws who, when
(from before the run begins to its very end), and what: killed (SIGKILL), ended (SIGTERM), or stopped for up to
three peer timeouts (SIGSTOP). --large: messages of 1 MB and 100 credits. A survivor that ends by a signal has crashed.
Where the manager dies, nobody writes the farm's report, and only crashes count; with --standby, node 1 takes over, and
the report tells how long nothing was built. --audit: nodes store what they build, and their files are read and compared
with what the ledger counts, packet by packet. --cuts: nodes have network namespaces around a bridge (root), and instead
a node's cable is pulled out for up to three peer timeouts. One JSON line for each seed.
"""

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from veth import Star, star

from anello.engine import _engine
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import RendezvousServer
from anello.mep_file import records

ROOT = Path(__file__).parents[2]
N_NODES = 3
DURATION_S = 2.0
PEER_TIMEOUT_S = 0.5
START_S = 2.0  # until nodes have met, about
END_S = 60.0
KINDS = ("kill", "kill", "term", "stop")
MEMORY = ("ucx", "")
TRANSPORTS = {"memory": MEMORY, "ucx": ("ucx", "tcp"), "tcp": ("tcp", ""), "udp": ("udp", "")}
SETTINGS = (
    f"run.duration_s={DURATION_S}", "run.display=off", "exchange.packing=400", "exchange.timeout_ms=200",
    f"exchange.peer_timeout_ms={PEER_TIMEOUT_S * 1e3:g}", "exchange.verify_share=0.1",
)  # fmt: skip
STORED = ("output.to=store", "output.file=events-node{node}.raw")
LARGE = ("exchange.packing=4000", "exchange.credits=100", "generator.n_buffers=16")


@dataclass(frozen=True)
class Moment:
    seed: int
    victim: int
    what: str
    is_at_start: bool  # after processes were started; else after packets are built
    at_s: float
    stopped_s: float

    @classmethod
    def draw(cls, seed: int, victims: Sequence[int], kinds: Sequence[str]) -> "Moment":
        chance = random.Random(seed)
        victim = chance.choice(victims)
        what = chance.choice(kinds)
        is_at_start = chance.random() < 0.25
        at_s = chance.uniform(0.1, START_S if is_at_start else DURATION_S + 0.2)
        return cls(seed, victim, what, is_at_start, at_s, chance.uniform(0.1, 3) * PEER_TIMEOUT_S)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--transports", default=",".join(TRANSPORTS))
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--standby", action="store_true")
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--cuts", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a configuration key")
    options = parser.parse_args()
    roles, victims = ("all+sb", (0, 0, 1, 2)) if options.standby else ("all", (0, 1, 1, 2, 2))
    settings = (
        *(LARGE if options.large else ()),
        *(STORED if options.audit else ()),
        f'exchange.roles=["{roles}"]',
        *options.set,
    )
    transports = [name for name in options.transports.split(",") if not options.cuts or TRANSPORTS[name] != MEMORY]
    seeds = range(options.first, options.first + options.seeds)
    with star(N_NODES) if options.cuts else nullcontext() as network:
        for transport, seed in itertools.product(transports, seeds):
            moment = Moment.draw(seed, victims, ("cut",) if network else KINDS)
            print(json.dumps(tried(transport, moment, settings, network)), flush=True)


def tried(transport: str, moment: Moment, more: Sequence[str], network: Star | None) -> dict[str, Any]:
    """One run. crashed: survivors that ended by a signal, or not in time; balanced: None if there is no report."""
    with (tempfile.TemporaryDirectory() as folder,
          RendezvousServer(f"ipc://{folder}/meet", N_NODES, Pace(timeout_s=END_S)) as server):  # fmt: skip
        nodes = [start(rank, transport, Path(folder), more, network) for rank in range(N_NODES)]
        if not moment.is_at_start:
            wait_for_packets(nodes[0])
        strike(nodes[moment.victim], moment, network)
        if moment.what == "kill":
            nodes[moment.victim].wait()
            server.report_dead(moment.victim, "killed")
        codes = [ended(node) for node in nodes]
        crashed = sum(code < 0 for rank, code in enumerate(codes) if rank != moment.victim)
        report = Path(folder) / "report/summary.json"
        summary = json.loads(report.read_text()) if report.exists() else None
        off = [] if summary is None else [
            row["name"] for row in (*summary["ledger"]["rows"], *summary["ledger"]["boards"])
            if row.get("problem") or dict(map(tuple, row["parts"])).get("unexplained")]  # fmt: skip
        n_stored, amiss = (0, []) if summary is None else audited(report.parent, summary)
        off += amiss
        said = "" if not crashed and not off else "\n".join(
            (Path(folder) / f"said-{rank}.txt").read_text()[-2000:] for rank in range(N_NODES))  # fmt: skip
    balanced = None if summary is None else bool(summary["balanced"]) and not off
    counters = {} if summary is None else summary["counters"]["node"]
    took_over = counters.get("node1.manager", {}).get("takeovers", 0)
    return {"transport": transport, "set": list(more), **asdict(moment), "codes": codes, "crashed": crashed,
            "balanced": balanced, "off": off, "stored": n_stored, "took_over": took_over, "gap_s": gap_s(summary),
            "said": said}  # fmt: skip


def audited(report: Path, summary: dict[str, Any]) -> tuple[int, list[str]]:
    """Number of packets in the files of all nodes, and differences from the ledger's counts; none without files."""
    counters, off = summary["counters"]["node"], []
    node_of: dict[int, int] = {}
    for rank in range(N_NODES):
        file, builder = report / f"events-node{rank}.raw", counters.get(f"node{rank}.builder")
        if not file.exists():
            continue
        n_by_completeness = [0, 0]  # whole ones; the others
        for record in records(file):
            n_by_completeness[record.n_missing > 0] += 1
            if record.n_missing != sum(not mfp for mfp in record.mfps):
                off.append(f"packet {record.mep} of node {rank} does not lack what it says")
            if (other := node_of.setdefault(record.mep, rank)) != rank:
                off.append(f"packet {record.mep} is in the files of nodes {other} and {rank}")
        n_lost = counters.get(f"node{rank}.mep_store", {}).get("meps_lost", 0)
        if builder and n_lost == 0 and n_by_completeness != [builder["meps_complete"], builder["meps_incomplete"]]:
            off.append(f"node {rank} counts {builder['meps_complete']} whole packets and {builder['meps_incomplete']} "
                       f"others, and has {n_by_completeness} in its file")  # fmt: skip
    managers = [block for name, block in counters.items() if name.endswith(".manager") and block.get("meps_assigned")]
    manager = max(managers, key=lambda one: (one.get("takeovers", 0), one["meps_assigned"]), default=None)
    if node_of and manager:
        n_reported = manager["meps_complete"] + manager["meps_incomplete"]
        if (
            not n_reported
            <= len(node_of)
            <= n_reported + manager["meps_lost_with_builder"] + manager["meps_open_at_end"]
        ):
            off.append(f"{len(node_of)} packets are in files, and the manager counts {manager}")
    return len(node_of), off


def gap_s(summary: dict[str, Any] | None) -> float:
    """The longest time in which no node built anything, between the first packet and the last; to 0.1 s."""
    series = [] if summary is None else [node["series"] for node in summary["nodes"]]
    grew = sorted(row[0] for one in series for before, row in itertools.pairwise(one) if row[2] > before[2])
    return max((after - at for at, after in itertools.pairwise(grew)), default=0.0)


def start(
    rank: int, transport: str, folder: Path, more: Sequence[str], network: Star | None
) -> "subprocess.Popen[bytes]":
    name, tls = TRANSPORTS[transport]
    settings = [*SETTINGS, *more, f"fabric.transport={name}", f"fabric.ucx_tls={tls}"]
    if network:
        settings.append(f"fabric.host={network.address(rank)}")
    command = [
        *(network.before(rank) if network else ()),
        sys.executable, "-m", "anello", "exchange", "configs/lhcb-exchange.toml", "--no-reference",
        *(part for setting in settings for part in ("--set", setting)), "--rendezvous", f"ipc://{folder}/meet",
        "--no-serve", "--rank", str(rank), "--nodes", str(N_NODES), "--report-dir", str(folder / "report"),
    ]  # fmt: skip
    with (folder / f"said-{rank}.txt").open("wb") as said:
        return subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=said, stderr=said)


def wait_for_packets(leader: "subprocess.Popen[bytes]") -> None:
    until_s = time.monotonic() + END_S
    while time.monotonic() < until_s and leader.poll() is None:
        with suppress(OSError, RuntimeError, ValueError, KeyError):  # it has not begun to count
            if _engine.read_counters(f"/anello.node.{leader.pid}")["manager"]["meps_complete"] > 0:
                return
        time.sleep(0.005)


def strike(node: "subprocess.Popen[bytes]", moment: Moment, network: Star | None) -> None:
    time.sleep(moment.at_s)
    if node.poll() is not None:
        return
    if network:
        network.cut(moment.victim)
        time.sleep(moment.stopped_s)
        network.mend(moment.victim)
    elif moment.what == "stop":
        node.send_signal(signal.SIGSTOP)
        time.sleep(moment.stopped_s)
        node.send_signal(signal.SIGCONT)
    else:
        node.send_signal(signal.SIGKILL if moment.what == "kill" else signal.SIGTERM)


def ended(node: "subprocess.Popen[bytes]") -> int:
    """Exit code of a node; one that does not end is killed, and counts as ended by a signal."""
    try:
        return node.wait(END_S)
    except subprocess.TimeoutExpired:
        node.kill()
        return node.wait()


if __name__ == "__main__":
    main()
