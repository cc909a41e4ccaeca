# SPDX-License-Identifier: Apache-2.0
"""Nodes of a real farm that are killed or stopped at seeded moments, at full load: do the others survive, and does the
farm's ledger close?

    python bench/record.py kills [--seeds 8] [--first 1] [--transports memory,ucx,tcp,udp] [--large] [--standby]
                                 [--set KEY=VALUE]

Three nodes on this machine that all read out and build, as fast as they can, for two seconds. Each seed draws who, when
(from before the run begins to its very end), and what: killed (SIGKILL), told to end (SIGTERM), or stopped for up to
three peer timeouts (SIGSTOP). --large: messages of 1 MB and 100 credits. A survivor that ends by a signal has crashed.
Where the manager dies, nobody writes the farm's report, and only crashes count; with --standby, node 1 takes over, and
the report tells how long nothing was built. One JSON line for each seed.
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
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trials import table

from anello.engine import _engine
from anello.exchange.rendezvous import Pace
from anello.exchange.server import RendezvousServer

ROOT = Path(__file__).parents[2]
N_NODES = 3
DURATION_S = 2.0
PEER_TIMEOUT_S = 0.5
START_S = 2.0  # until nodes have met, about
END_S = 60.0
TRANSPORTS = {"memory": ("ucx", ""), "ucx": ("ucx", "tcp"), "tcp": ("tcp", ""), "udp": ("udp", "")}
SETTINGS = (
    f"run.duration_s={DURATION_S}", "run.display=off", "exchange.packing=400", "exchange.timeout_ms=200",
    f"exchange.peer_timeout_ms={PEER_TIMEOUT_S * 1e3:g}", "exchange.verify_share=0.1",
)  # fmt: skip
LARGE = ("exchange.packing=4000", "exchange.credits=100", "generator.n_buffers=16")
HEAD = ["transport", "seeds", "crashed survivors", "ledgers that do not close", "reports", "takeovers",
        "longest time without packets, s"]  # fmt: skip


@dataclass(frozen=True)
class Moment:
    seed: int
    victim: int
    what: str
    is_at_start: bool  # after processes were started; else after packets are built
    at_s: float
    stopped_s: float

    @classmethod
    def draw(cls, seed: int, victims: Sequence[int]) -> "Moment":
        chance = random.Random(seed)
        victim = chance.choice(victims)
        what = chance.choice(("kill", "kill", "term", "stop"))
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
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a configuration key")
    options = parser.parse_args()
    roles, victims = ("all+sb", (0, 0, 1, 2)) if options.standby else ("all", (0, 1, 1, 2, 2))
    settings = (*(LARGE if options.large else ()), f'exchange.roles=["{roles}"]', *options.set)
    rows = []
    for transport in options.transports.split(","):
        results = []
        for seed in range(options.first, options.first + options.seeds):
            results.append(tried(transport, Moment.draw(seed, victims), settings))
            print(json.dumps(results[-1]), flush=True)
        rows.append([transport, str(len(results)), str(sum(one["crashed"] for one in results)),
                     str(sum(one["balanced"] is False for one in results)),
                     str(sum(one["balanced"] is not None for one in results)),
                     str(sum(one["took_over"] for one in results)),
                     f"{max(one['gap_s'] for one in results):.1f}"])  # fmt: skip
    print(table(HEAD, rows), flush=True)


def tried(transport: str, moment: Moment, more: Sequence[str]) -> dict[str, Any]:
    """One run. crashed: survivors that ended by a signal, or not in time; balanced: None where there is no report."""
    with (tempfile.TemporaryDirectory() as folder,
          RendezvousServer(f"ipc://{folder}/meet", N_NODES, Pace(timeout_s=END_S)) as server):  # fmt: skip
        nodes = [start(rank, transport, Path(folder), more) for rank in range(N_NODES)]
        if not moment.is_at_start:
            wait_for_packets(nodes[0])
        strike(nodes[moment.victim], moment)
        if moment.what == "kill":
            nodes[moment.victim].wait()
            server.tell_dead(moment.victim, "killed")
        codes = [ended(node) for node in nodes]
        crashed = sum(code < 0 for rank, code in enumerate(codes) if rank != moment.victim)
        report = Path(folder) / "report/summary.json"
        summary = json.loads(report.read_text()) if report.exists() else None
        off = [] if summary is None else [
            row["name"] for row in (*summary["ledger"]["rows"], *summary["ledger"]["boards"])
            if row.get("problem") or dict(map(tuple, row["parts"])).get("unexplained")]  # fmt: skip
        said = "" if not crashed and not off else "\n".join(
            (Path(folder) / f"said-{rank}.txt").read_text()[-2000:] for rank in range(N_NODES))  # fmt: skip
    balanced = None if summary is None else bool(summary["balanced"]) and not off
    counters = {} if summary is None else summary["counters"]["node"]
    took_over = counters.get("node1.manager", {}).get("takeovers", 0)
    return {"transport": transport, "set": list(more), **asdict(moment), "codes": codes, "crashed": crashed,
            "balanced": balanced, "off": off, "took_over": took_over, "gap_s": gap_s(summary),
            "said": said}  # fmt: skip


def gap_s(summary: dict[str, Any] | None) -> float:
    """The longest time in which no node built anything, between the first packet and the last; to 0.1 s."""
    series = [] if summary is None else [node["series"] for node in summary["nodes"]]
    grew = sorted(row[0] for one in series for before, row in itertools.pairwise(one) if row[2] > before[2])
    return max((after - at for at, after in itertools.pairwise(grew)), default=0.0)


def start(rank: int, transport: str, folder: Path, more: Sequence[str]) -> "subprocess.Popen[bytes]":
    name, tls = TRANSPORTS[transport]
    settings = [*SETTINGS, *more, f"fabric.transport={name}", f"fabric.ucx_tls={tls}"]
    command = [
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


def strike(node: "subprocess.Popen[bytes]", moment: Moment) -> None:
    time.sleep(moment.at_s)
    if node.poll() is not None:
        return
    if moment.what == "stop":
        node.send_signal(signal.SIGSTOP)
        time.sleep(moment.stopped_s)
        node.send_signal(signal.SIGCONT)
    else:
        node.send_signal(signal.SIGKILL if moment.what == "kill" else signal.SIGTERM)


def ended(node: "subprocess.Popen[bytes]") -> int:
    """Its code; one that does not end is ended, and counts as ended by a signal."""
    try:
        return node.wait(END_S)
    except subprocess.TimeoutExpired:
        node.kill()
        return node.wait()


if __name__ == "__main__":
    main()
