# SPDX-License-Identifier: Apache-2.0
"""A node without any input: how often its threads wake, and which share of a core this takes.

    python bench/record.py idle [--seconds 10] [--set KEY=VALUE]

For each chain `anello node` with its own configuration, watched from outside once it listens; and a node of an exchange
of two.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHAINS = {
    "rich": "detectors/rich/na62-rich.toml",
    "camera": "detectors/camera/cta-camera.toml",
    "km3net": "detectors/km3net/km3net.toml",
}
CASES = {
    **{chain: (chain, ()) for chain in CHAINS},
    "rich by io_uring": ("rich", ("receive.backend=io_uring",)),
}
EXCHANGE = "configs/lhcb-exchange.toml"
TRANSPORTS = ("tcp", "ucx")
START_S = 20.0
Threads = dict[str, tuple[int, float]]  # by number and name: times woken, CPU time in s


def main() -> None:
    parser = argparse.ArgumentParser(description="Wake-ups of a node that nothing comes to.")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--quick", action="store_true", help="2 s each")
    options = parser.parse_args()
    seconds = 2.0 if options.quick else options.seconds
    for case, (chain, more) in CASES.items():
        print_result(case, watch(listening(CHAINS[chain], [*more, *options.set]), seconds))
    for transport in TRANSPORTS:
        print_result(f"exchange by {transport}", watch(exchanging(transport, seconds), seconds))


def print_result(case: str, result: dict[str, Any]) -> None:
    """Prints wake-ups/s, and the CPU time of each thread in thousandths of a core."""
    threads = (f"{name} {woken:.0f} {1e3 * share:.1f}" for name, (woken, share) in result["threads"].items())
    print(f"{case}: {result['median']:.0f} wake-ups/s, {result['cpu_share']:.2%} of a core; {', '.join(threads)}")
    print(json.dumps({"case": case, **result}), flush=True)


def watch(node: AbstractContextManager[int], seconds: float) -> dict[str, Any]:
    with node as pid:
        time.sleep(1.0)  # until all threads have started
        before, began = look(pid), time.monotonic()
        time.sleep(seconds)
        after, took = look(pid), time.monotonic() - began
    per_s = {name: tuple((new - old) / took for new, old in zip(after[name], before[name], strict=True))
             for name in after if name in before}  # fmt: skip
    woken, share = map(sum, zip(*per_s.values(), strict=True))
    return {"unit": "wake-ups/s", "median": woken, "seconds": seconds, "cpu_share": share,
            "threads": {name: one for name, one in per_s.items() if one[0] >= 1}}  # fmt: skip


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


@contextmanager
def exchanging(transport: str, seconds: float) -> Iterator[int]:
    """The process of one of two nodes that build events from generators which have not made their first packet."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ("generator.rate_hz=1", f"fabric.transport={transport}", "run.display=off")
        command = [sys.executable, "-m", "anello", "exchange", EXCHANGE, "--local", "2", "--no-reference",
                   "--duration", str(seconds + 3), "--report-dir", folder,
                   *(part for one in settings for part in ("--set", one))]  # fmt: skip
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as leader:
            yield node_of(leader.pid)


def node_of(leader: int) -> int:
    """Waits for a child of this process with a thread of the exchange, and returns it."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        for pid in below(leader):
            if any(name.startswith("exchange.") for name in look(pid)):
                return pid
        time.sleep(0.05)
    raise RuntimeError("no node of the exchange has started")


def below(pid: int) -> Iterator[int]:
    for folder in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (folder / "children").read_text().split()):
            yield child
            yield from below(child)


def look(pid: int) -> Threads:
    """All threads of a process. CPU time is the scheduler's own count: by the clock's ticks, of which one has 10 ms, a
    thread that wakes for a moment has none or far too much."""
    threads: Threads = {}
    for folder in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            status, cpu_ns = (folder / "status").read_text(), int((folder / "schedstat").read_text().split()[0])
            woken = sum(int(n) for n in re.findall(r"^(?:non)?voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE))
            threads[f"{(folder / 'comm').read_text().strip()}/{folder.name}"] = woken, cpu_ns * 1e-9
    return threads


if __name__ == "__main__":
    main()
