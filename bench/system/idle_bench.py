# SPDX-License-Identifier: Apache-2.0
"""A node that nothing comes to: how often its threads wake, and what that takes of a core.

    python bench/record.py idle [--seconds 10] [--set KEY=VALUE]

For each chain `anello node` with its own configuration, watched from outside once it listens.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHAINS = {
    "rich": "detectors/rich/na62-rich.toml",
    "camera": "detectors/camera/cta-camera.toml",
    "km3net": "detectors/km3net/km3net.toml",
}
Threads = dict[str, tuple[int, float]]  # by number and name: times woken, CPU time in s


def main() -> None:
    parser = argparse.ArgumentParser(description="Wake-ups of a node that nothing comes to.")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--quick", action="store_true", help="2 s each")
    options = parser.parse_args()
    seconds = 2.0 if options.quick else options.seconds
    for chain, config in CHAINS.items():
        result = watch(config, options.set, seconds)
        print(f"{chain}: {result['median']:.0f} wake-ups/s, {result['cpu_share']:.2%} of a core; "
              + ", ".join(f"{name} {rate:.0f}" for name, rate in result["threads"].items()))  # fmt: skip
        print(json.dumps({"case": chain, "seconds": seconds, "settings": options.set, **result}), flush=True)


def watch(config: str, settings: list[str], seconds: float) -> dict[str, object]:
    with listening(config, settings) as pid:
        time.sleep(1.0)  # what starts, settles
        before, began = look(pid), time.monotonic()
        time.sleep(seconds)
        after, took = look(pid), time.monotonic() - began
    rates = {name: (after[name][0] - before[name][0]) / took for name in after if name in before}
    cpu_s = sum(after[name][1] - before[name][1] for name in rates)
    return {"unit": "wake-ups/s", "median": sum(rates.values()), "cpu_share": cpu_s / took,
            "threads": {name: rate for name, rate in rates.items() if rate >= 1}}  # fmt: skip


@contextmanager
def listening(config: str, settings: list[str]) -> Iterator[int]:
    """The process of a node of this configuration."""
    with tempfile.TemporaryDirectory() as folder:
        given = [part for one in ("run.display=off", *settings) for part in ("--set", one)]
        command = [sys.executable, "-m", "anello", "node", config, "--report-dir", folder, *given]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as node:
            assert node.stdout is not None
            if not node.stdout.readline().startswith("listening"):
                raise RuntimeError(f"the node of {config} does not listen")
            try:
                yield node.pid
            finally:
                node.send_signal(signal.SIGTERM)


def look(pid: int) -> Threads:
    """All threads of a process."""
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    threads: Threads = {}
    for folder in Path(f"/proc/{pid}/task").iterdir():
        status, times = (folder / "status").read_text(), (folder / "stat").read_text().rpartition(")")[2].split()
        woken = sum(int(n) for n in re.findall(r"^(?:non)?voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE))
        name = (folder / "comm").read_text().strip()
        threads[f"{name}/{folder.name}"] = woken, (int(times[11]) + int(times[12])) * tick_s
    return threads


if __name__ == "__main__":
    main()
