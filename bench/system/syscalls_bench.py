# SPDX-License-Identifier: Apache-2.0
"""System calls and context switches per event, of a RICH node and of its front ends.

    python bench/record.py syscalls [--rates 150000,500000] [--seconds 3] [--set KEY=VALUE]

Each run is `anello run` with one long burst; `perf` counts from outside, in the middle of it.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idle_bench import ROOT, below, look

CONFIG = "detectors/rich/na62-rich.toml"
START_S, WARM_UP_S, TAIL_S = 60.0, 0.5, 1.0
CALLS = "raw_syscalls:sys_enter"
NAMED = ("recvmmsg", "sendmmsg", "epoll_wait", "ppoll", "read", "write", "clock_nanosleep", "getsockopt", "futex")


@dataclass(frozen=True)
class Run:
    node: int  # process
    front_ends: int
    summary: Path  # once it is over


def main() -> None:
    parser = argparse.ArgumentParser(description="System calls per event.")
    parser.add_argument("--rates", default="150000,500000", help="events/s")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--quick", action="store_true", help="1 s each")
    options = parser.parse_args()
    if (why := cannot_count()) is not None:
        sys.exit(f"system calls cannot be counted: {why}")
    seconds = 1.0 if options.quick else options.seconds
    for rate_hz in map(float, options.rates.split(",")):
        result = measure(rate_hz, seconds, options.set)
        node, front_ends = result["node"], result["front_ends"]
        print(f"{rate_hz:,.0f} events/s, per event: node {result['median']:.4f} system calls, "
              f"{node['switches']:.4f} context switches; front ends {front_ends['calls']:.4f} and "
              f"{front_ends['switches']:.4f}; the node's "
              + ", ".join(f"{name} {n:.4f}" for name, n in result["by_name"].items()))  # fmt: skip
        print(json.dumps({"case": f"{rate_hz:g} events/s", "settings": options.set, **result}), flush=True)


def cannot_count() -> str | None:
    if shutil.which("perf") is None:
        return "there is no perf; install linux-perf (Debian) or linux-tools-generic (Ubuntu)"
    trial = subprocess.run(["perf", "stat", "-e", CALLS, "true"], capture_output=True, text=True, check=False)
    if trial.returncode or "<not supported>" in trial.stderr:
        why = trial.stderr.strip().rpartition("\n")[2]
        return f"`perf stat -e {CALLS}` fails: {why}; be root, or lower sysctl kernel.perf_event_paranoid"
    return None


def measure(rate_hz: float, seconds: float, settings: Sequence[str]) -> dict[str, Any]:
    """Per event, where events come at the rate that was reached."""
    with running(rate_hz, seconds, settings) as run:
        before = {pid: switches(pid) for pid in (run.node, run.front_ends)}
        calls = counted([run.node, run.front_ends], seconds)
        made = {pid: switches(pid) - n for pid, n in before.items()}
    summary = json.loads(run.summary.read_text())
    decided = summary["latency"]["sent_to_decided"]
    n_events = summary["rates"]["events_per_s"] * seconds
    node, front_ends = ({"calls": calls[pid][CALLS] / n_events, "switches": made[pid] / n_events} for pid in before)
    return {"unit": "system calls per event", "median": node["calls"], "node": node, "front_ends": front_ends,
            "by_name": {name: n / n_events for name, n in calls[run.node].items() if n and name != CALLS},
            "seconds": seconds, "events_per_s": summary["rates"]["events_per_s"],
            "sent_to_decided_us": {name: decided[f"{name}_ns"] / 1e3 for name in ("p50", "p99", "p999")}}  # fmt: skip


@contextmanager
def running(rate_hz: float, seconds: float, settings: Sequence[str]) -> Iterator[Run]:
    """A run whose front ends send; at the end it is over, and its summary is there until the next one begins."""
    folder = Path(tempfile.gettempdir()) / "anello-syscalls-bench"
    shutil.rmtree(folder, ignore_errors=True)
    burst_s = WARM_UP_S + seconds + TAIL_S
    given = [
        "run.display=off",
        f"source.rate_hz={rate_hz}",
        f"source.burst_ms={1e3 * burst_s}",
        "source.n_bursts=1",
        *settings,
    ]
    command = [sys.executable, "-m", "anello", "run", CONFIG, "--report-dir", str(folder),
               *(part for one in given for part in ("--set", one))]  # fmt: skip
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as node:
        front_ends = source_of(node.pid)
        time.sleep(WARM_UP_S)
        yield Run(node.pid, front_ends, folder / "summary.json")
        node.wait()


def source_of(node: int) -> int:
    """The process of the front ends, once it has used time of a core: it sends."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        with suppress(OSError):  # one that ended meanwhile
            for pid in below(node):
                if any(name.startswith("anello-source") and cpu_s > 0 for name, (_, cpu_s) in look(pid).items()):
                    return pid
        time.sleep(0.02)
    raise RuntimeError("the front ends do not send")


def switches(pid: int) -> int:
    return sum(woken for woken, _ in look(pid).values())


def counted(pids: Sequence[int], seconds: float) -> dict[int, dict[str, int]]:
    """System calls of each process, all and by name."""
    events = ",".join([CALLS, *(f"syscalls:sys_enter_{name}" for name in NAMED)])
    counts = [
        subprocess.Popen(["perf", "stat", "-x,", "-e", events, "-p", str(pid), "--", "sleep", str(seconds)],
                         stderr=subprocess.PIPE, text=True)
        for pid in pids
    ]  # fmt: skip
    return {pid: by_name(count.communicate()[1]) for pid, count in zip(pids, counts, strict=True)}


def by_name(table: str) -> dict[str, int]:
    """Lines such as `8012,,syscalls:sys_enter_recvmmsg,...`."""
    rows = (line.split(",") for line in table.splitlines())
    return {row[2].removeprefix("syscalls:sys_enter_"): int(row[0]) for row in rows if row[0].isdecimal()}


if __name__ == "__main__":
    main()
