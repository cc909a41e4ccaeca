# SPDX-License-Identifier: Apache-2.0
"""The camera's event builder compared with spead2's receiver: one fragment, or one heap, in each datagram.

    python bench/record.py peers [--quick] [--sizes 1024,8192] [--modes plain,gso+gro] [--search 0.5,20,0.5]

Both get datagrams of the same size from the same sender at the same pace, in turn: spead2_recv (bench/peers) makes
heaps of them, a node makes camera events. CPU time is the receiving process's whole, from the first datagram until all
is done. Nothing is checked by checksum: spead2 has none.
"""

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from peer_load import CameraFragments, Format, Sender, SpeadHeaps
from rich.console import Console
from trials import interleaved, numbers, of_repeats, table

from anello.search import report as search_report
from anello.search.bisection import Grid, Quiet, Rules, Search
from anello.search.trial import Trial, spread

ROOT = Path(__file__).parents[2]
SPEAD2_RECV = ROOT / "build/peers/bin/spead2_recv"
CAMERA_NODE = Path(__file__).with_name("camera_node.py")
BOARDS = 265
MODES = {"plain": False, "gso+gro": True}
LOADS = {
    "paced": "at an even rate: the receiver sleeps and wakes in between, which is part of the cost",
    "drained": "the receiver is halted while its socket fills, and measured until it has emptied it: what it can do. "
    "Super-packets only: single datagrams so fast overflow the loopback's own queue",
}
FILLED = 0.4  # share of the requested socket buffer: headers, and memory that the kernel gives back late, take the rest
MAX_EVENT_MEMORY_BYTES = 256 << 20
POLL_S, SETTLE_S, DRAIN_S, START_S = 5e-3, 0.05, 10.0, 20.0
LAST_BATCH_S = 5e-4  # is enough to build what was read last, and idle time hardly counts
HEAD = ["datagram, mode, load", "receiver", "offered Gb/s", "CPU ns/datagram", "spread %", "Gb/s of one core", "lost"]
NOTE = (
    "One sender program, one socket; sender and receiver on a core each. spead2 asks for GRO whenever the kernel has "
    "it: without super-packets sent (plain) neither gets any."
)


@dataclass(frozen=True)
class Case:
    datagram_bytes: int
    mode: str  # of MODES
    taker: str  # anello or spead2
    load: str = "paced"  # of LOADS

    @property
    def load_name(self) -> str:
        return f"{self.datagram_bytes}/{self.mode}/{self.load}"

    @property
    def name(self) -> str:
        return f"{self.load_name}/{self.taker}"

    @property
    def form(self) -> Format:
        return (
            CameraFragments(self.datagram_bytes, BOARDS) if self.taker == "anello" else SpeadHeaps(self.datagram_bytes)
        )

    def rate_hz(self, gbit_per_s: float) -> float:
        return gbit_per_s * 1e9 / 8 / self.datagram_bytes

    def gbit_per_s(self, rate_hz: float) -> float:
        """Rate of whole datagrams in Gb/s; both programs send datagrams of the same size."""
        return rate_hz * self.datagram_bytes * 8e-9


@dataclass(frozen=True)
class Sample:
    """One run."""

    n_sent: int
    n_lost: int  # fragments that are not in complete events, or not complete heaps
    seconds: float  # of sending
    cpu_s: float

    @property
    def ns_per_datagram(self) -> float:
        return self.cpu_s * 1e9 / max(1, self.n_sent - self.n_lost)


def main() -> None:
    options = parse()
    sizes = [int(size) for size in numbers(options.sizes)]
    cases = [
        Case(n_bytes, mode, taker, load)
        for n_bytes in sizes for mode in options.modes.split(",") for load in options.loads.split(",")
        for taker in ("anello", "spead2") if load == "paced" or MODES[mode]
    ]  # fmt: skip
    samples: dict[Case, list[Sample]] = defaultdict(list)
    for case in interleaved(cases, options.repeats):
        samples[case].append(measure(case, case.rate_hz(options.gbit), options))
    results = [summarise(case, samples[case]) for case in cases]
    print("\n".join([NOTE, *(f"{load}: {LOADS[load]}." for load in options.loads.split(","))]))
    print(table(HEAD, [row(result) for result in results]), flush=True)
    for result in [*results, *(compared(case, samples) for case in cases if case.taker == "anello")]:
        print(json.dumps(result), flush=True)
    for case in [case for case in cases if options.search and case.load == "paced"]:
        print(json.dumps(highest_rate(case, options)), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The camera's event builder compared with spead2's receiver.")
    parser.add_argument("--sizes", default="1024,8192", help="bytes of a datagram")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--gbit", type=float, default=1.0, help="offered for the comparison, Gb/s")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run")
    parser.add_argument("--search", help="lowest, highest and step of a search for the highest rate, Gb/s")
    parser.add_argument("--spead2", type=Path, default=SPEAD2_RECV, help="its receiver")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the node")
    parser.add_argument("--quick", action="store_true", help="two short runs of each case")
    options = parser.parse_args()
    if options.quick:
        options.repeats, options.seconds, options.gbit = 2, 0.3, 0.5
    return options


# --- One run ------------------------------------------------------------------------------------------------------
def measure(case: Case, rate_hz: float, options: argparse.Namespace) -> Sample:
    """Starts the receiver, lets it touch all its memory, sends, waits until all is read; losses count from the
    first datagram on, CPU time without the warm-up."""
    n_warm_up = event_buffers(case) * BOARDS
    n_all = n_warm_up + max(1, round(rate_hz * options.seconds / BOARDS)) * BOARDS
    cores = sorted(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(0, cores[-1:])  # the receiver inherits it
        receiver = subprocess.Popen(command(case, options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        os.sched_setaffinity(0, cores[:1])
        with ended(receiver):
            port = port_of(receiver, case)
            offer = paced if case.load == "paced" else drained
            with Sender(case.form, port, gso=MODES[case.mode]) as sender:
                offer(case, receiver.pid, port, sender, range(n_warm_up), rate_hz)
                seconds, used_s = offer(case, receiver.pid, port, sender, range(n_warm_up, n_all), rate_hz)
                wait_until_read(port)
                sender.stop()
            output, _ = receiver.communicate(timeout=DRAIN_S)
    finally:
        os.sched_setaffinity(0, cores)
    return Sample(n_all - n_warm_up, n_all - n_received(output, case), seconds, used_s)


def paced(_case: Case, process: int, port: int, sender: Sender, numbers: range, rate_hz: float) -> tuple[float, float]:
    """Seconds of sending, and of the receiver's CPU time."""
    before_s = cpu_s(process)
    seconds = sender.send(numbers, rate_hz)
    wait_until_read(port)
    return seconds, cpu_s(process) - before_s


def drained(
    case: Case, process: int, port: int, sender: Sender, numbers: range, _rate_hz: float
) -> tuple[float, float]:
    """The same for the load `drained`, as often as the socket has to be filled."""
    n_at_once = int(FILLED * socket_buffer_bytes()) // case.datagram_bytes
    begin_s, used_s = time.perf_counter(), 0.0
    for first in numbers[::n_at_once]:
        os.kill(process, signal.SIGSTOP)
        before_s = cpu_s(process)
        sender.send(range(first, min(first + n_at_once, numbers.stop)), math.inf)
        os.kill(process, signal.SIGCONT)
        wait_until_read(port, settle_s=LAST_BATCH_S)
        used_s += cpu_s(process) - before_s
    return time.perf_counter() - begin_s, used_s


def socket_buffer_bytes() -> int:
    """The largest socket buffer that any user may have, in bytes."""
    return int(Path("/proc/sys/net/core/rmem_max").read_text())


def event_buffers(case: Case) -> int:
    """Number of the node's event buffers: they take the memory that a larger camera's window would fill."""
    return max(128, min(256, MAX_EVENT_MEMORY_BYTES // (BOARDS * case.form.payload_bytes)))


@contextmanager
def ended(process: "subprocess.Popen[str]") -> Iterator[None]:
    try:
        yield
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def command(case: Case, options: argparse.Namespace) -> list[str]:
    """Command of a receiver: both get a user's largest socket buffer, no checksum, and their fastest settings."""
    buffer_bytes = socket_buffer_bytes()
    if case.taker == "spead2":
        pool = ["--mem-pool", "--mem-lower", "512", "--mem-upper", str(case.datagram_bytes), "--mem-max-free", "1024",
                "--mem-initial", "256"]  # fmt: skip
        return [str(options.spead2), "--quiet", "--packet", str(case.datagram_bytes), "--buffer", str(buffer_bytes),
                *pool, "127.0.0.1:0"]  # fmt: skip
    settings = [
        f"camera.boards={BOARDS}", f"camera.payload_bytes={case.form.payload_bytes}", "camera_source.payload=pattern",
        f"camera_build.n_events={event_buffers(case)}",
        f"receive.gro={json.dumps(MODES[case.mode])}", f"receive.socket_buffer_bytes={buffer_bytes}",
        "receive.batch_datagrams=64", "camera_build.timeout_ms=10000",
        "camera_filter.enabled=false", "camera_send.file=",
    ]  # fmt: skip
    return [str(ROOT / ".venv/bin/python"), str(CAMERA_NODE), *settings, *options.set]


def port_of(receiver: "subprocess.Popen[str]", case: Case) -> int:
    """Port at which the receiver listens: the node prints it; for spead2's receiver the kernel's table gives it."""
    if case.taker == "anello":
        assert receiver.stdout is not None
        return int(receiver.stdout.readline())
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and receiver.poll() is None:
        port = bound_port(receiver.pid)
        if port:
            return port
        time.sleep(POLL_S)
    raise RuntimeError("spead2_recv has bound no port")


def bound_port(process: int) -> int | None:
    """The process's one UDP port."""
    links = []
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            links.append(str(entry.readlink()))
    return next((port for port, (inode, _) in udp_sockets().items() if f"socket:[{inode}]" in links), None)


def udp_sockets() -> dict[int, tuple[str, int]]:
    """UDP sockets by port: inode, and number of bytes that wait to be read."""
    rows = [line.split() for line in Path("/proc/net/udp").read_text().splitlines()[1:]]
    return {int(row[1].partition(":")[2], 16): (row[9], int(row[4].partition(":")[2], 16)) for row in rows}


def cpu_s(process: int) -> float:
    """CPU time of all its threads, to the nanosecond."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) * 1e-9


def wait_until_read(port: int, settle_s: float = SETTLE_S) -> None:
    """Waits until the socket has held no data for settle_s seconds."""
    last_s = time.monotonic()
    deadline = last_s + DRAIN_S
    while True:
        is_waiting, now_s = bool(udp_sockets()[port][1]), time.monotonic()
        if is_waiting:
            last_s = now_s
        if now_s - last_s >= settle_s or now_s >= deadline:
            return
        time.sleep(min(POLL_S, settle_s))


def n_received(output: str, case: Case) -> int:
    if case.taker == "anello":
        return int(json.loads(output)["join"]["events_complete"]) * BOARDS
    return next(int(line.split()[1]) for line in output.splitlines() if line.startswith("Received "))


# --- Several ------------------------------------------------------------------------------------------------------
def summarise(case: Case, samples: Sequence[Sample]) -> dict[str, Any]:
    """CPU time per datagram that came through, over the repeats; only over those without loss, if there are any."""
    clean = [sample for sample in samples if not sample.n_lost] or samples
    costs_ns = [sample.ns_per_datagram for sample in clean]
    median_ns = statistics.median(costs_ns)
    return {
        "case": case.name, "datagram_bytes": case.datagram_bytes, "mode": case.mode, "load": case.load,
        "receiver": case.taker,
        "unit": "ns of CPU per datagram", "median": median_ns, "spread": spread(costs_ns), "samples": costs_ns,
        "n_repeats": len(samples), "n_clean": sum(not sample.n_lost for sample in samples),
        "offered_gbit_per_s": statistics.median(case.gbit_per_s(one.n_sent / one.seconds) for one in samples),
        "gbit_per_s_of_a_core": case.form.payload_bytes * 8 / median_ns,
        "n_sent": sum(sample.n_sent for sample in samples),
        "n_lost": sum(sample.n_lost for sample in samples),
    }  # fmt: skip


def compared(case: Case, samples: dict[Case, list[Sample]]) -> dict[str, Any]:
    """spead2's CPU time per payload byte over ours, repeat by repeat: above 1, ours is cheaper."""
    theirs = replace(case, taker="spead2")
    bytes_ratio = case.form.payload_bytes / theirs.form.payload_bytes
    ratios = [
        their.ns_per_datagram / our.ns_per_datagram * bytes_ratio
        for our, their in zip(samples[case], samples[theirs], strict=True)
    ]
    return {"case": f"spead2 over anello/{case.load_name}", "unit": "ratio of CPU time per byte", **of_repeats(ratios)}


def row(result: dict[str, Any]) -> list[str]:
    return [
        result["case"].rpartition("/")[0], result["receiver"], f"{result['offered_gbit_per_s']:.2f}",
        f"{result['median']:.0f}", f"{result['spread'] * 100:.0f}", f"{result['gbit_per_s_of_a_core']:.1f}",
        f"{result['n_lost']} of {result['n_sent']}",
    ]  # fmt: skip


def highest_rate(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """The highest rate of datagrams that loses none, as `anello search` finds it."""

    def one(rate_hz: float) -> Trial:
        sample = measure(case, rate_hz, options)
        n_through = max(0, sample.n_sent - sample.n_lost)
        return Trial(
            rate_hz, options.seconds, achieved_hz=n_through / sample.seconds, n_events=n_through,
            losses={"did not come through": sample.n_lost} if sample.n_lost else {},
            behind_s=max(0.0, sample.seconds - sample.n_sent / rate_hz), node_cores=sample.cpu_s / sample.seconds,
            mode={"offload_asked": case.mode},
        )  # fmt: skip

    print(f"highest/{case.name}:", flush=True)
    lowest, highest, step = (case.rate_hz(gbit) for gbit in numbers(options.search))
    rules, quiet = Rules(), Quiet(tries=1)
    result = Search(
        Grid(lowest, highest, step), one, seconds=options.seconds, rules=rules, quiet=quiet,
        watcher=search_report.ConsoleWatcher(Console(), rules, quiet),
    ).run()  # fmt: skip
    rates = [case.gbit_per_s(trial.achieved_hz) for trial in result.found.trials] if result.found else []
    return {"case": f"highest/{case.name}", "unit": "Gb/s of datagrams", "words": search_report.lines(result),
            **(of_repeats(rates) if rates else {"median": None})}  # fmt: skip


if __name__ == "__main__":
    main()
