# SPDX-License-Identifier: Apache-2.0
"""One measured run of the chain, as `anello run` does it: front ends in their own process, the node in this one."""

import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials import spread

from anello.config import load
from anello.record import RunRecord
from anello.run import make_node
from anello.source_process import SourceProcess
from anello.summary import losses

DEADLINE_NS = 1_000_000
DRAIN_S = 10.0
POLL_S = 0.02
CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# Events as ring finders are compared with: rings of uniform radius, 10/55/15/15/5 % of events with 0..4 of them.
MIX = (
    "source.simulation.sample=brief", "source.simulation.ring_shares=[0.10, 0.55, 0.15, 0.15, 0.05]",
    "source.simulation.noise_hits=2.5", "source.simulation.out_of_time_rings=0.0",
    "source.simulation.centre_x_mm=0.0", "source.simulation.centre_y_mm=0.0",
    "source.simulation.centre_sd_mm=60.0", "source.simulation.centre_max_mm=140.0",
    "source.simulation.smear_mm=2.0",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What one run showed. Rates in events/s, latencies from send to decision in us, CPU in cores."""

    offered_hz: float
    achieved_hz: float
    n_events: int
    losses: Mapping[str, int]  # packets, by cause
    problems: tuple[str, ...]  # rows of the ledger that do not balance
    latency_us: Mapping[str, float]  # p50, p99, p99.9, p99.99, max
    legs_us: Mapping[str, float]  # median of each leg of the way
    deadline_misses: int
    source_cores: float
    node_cores: float
    other_cores: float  # what everything else on the machine took: much of it spoils the measurement
    forgone_s: float  # time by which the front ends fell behind their clock
    mode: str  # the receive stage's own words

    @property
    def is_clean(self) -> bool:
        """All that was offered came through, at the pace it was offered."""
        return not self.losses and not self.problems and self.forgone_s == 0.0


def run_once(settings: Sequence[str], *, rate_hz: float, burst_s: float) -> Run:
    """One burst of burst_s at rate_hz; `settings` as for --set. Raises what `anello run` raises."""
    settings = [
        *settings, f"source.rate_hz={rate_hz:.1f}", f"source.burst_ms={burst_s * 1e3:.1f}", "source.gap_ms=0.0",
        "source.n_bursts=1", "source.max_truth_samples=0", "run.n_report_events=0", "run.refresh_ms=1000",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "defaults.toml"
        file.touch()
        config = load(file, settings)
        node = make_node(config, Path(folder))
        leading = [*settings, f"source.ports={list(node.ports())}"]
        with SourceProcess([str(file), *(part for setting in leading for part in ("--set", setting))]) as source:
            cpu = _lead(node, source, burst_s)
        record = RunRecord(config, node.counters(), source.counters, node.latency(), cpu.wall_s,
                           states=node.states(), one_host=True)  # fmt: skip
    return _summary(record, rate_hz, burst_s, cpu)


@dataclass(frozen=True)
class CpuTime:
    """Seconds of CPU time; a difference of two, over wall_s of time."""

    wall_s: float
    source_s: float
    node_s: float
    machine_s: float

    @classmethod
    def now(cls, source: int) -> "CpuTime":
        return cls(time.monotonic(), cpu_seconds(source), time.process_time(), _machine_seconds())

    def since(self, before: "CpuTime") -> "CpuTime":
        return CpuTime(self.wall_s - before.wall_s, self.source_s - before.source_s,
                       self.node_s - before.node_s, self.machine_s - before.machine_s)  # fmt: skip


def _lead(node: Any, source: SourceProcess, burst_s: float) -> CpuTime:
    """Starts both and waits for the end; CPU time while the burst lasted."""
    node.start()
    try:
        source.wait_ready()
        child = _only_child()
        before = CpuTime.now(child)
        source.start()
        time.sleep(burst_s * 0.98)  # the child's CPU time must be read while it is there
        cpu = CpuTime.now(child).since(before)
        while not source.done:
            source.poll()
            time.sleep(POLL_S)
        _wait_until_finished(node)
    finally:
        node.stop()
    return cpu


def _wait_until_finished(node: Any) -> None:
    limit_s = time.monotonic() + DRAIN_S
    while not node.finished() and time.monotonic() < limit_s:
        time.sleep(POLL_S)


def _only_child() -> int:
    return int(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[-1])


def cpu_seconds(process: int) -> float:
    """User and system time of a process so far, to 10 ms."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_S


def _machine_seconds() -> float:
    """Time that all cores have worked, whoever for."""
    user, nice, system, _idle, _io_wait, *interrupts = map(
        int, Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    )
    return (user + nice + system + sum(interrupts)) / CLOCK_TICKS_PER_S


def _summary(record: RunRecord, rate_hz: float, burst_s: float, cpu: CpuTime) -> Run:
    assert record.source is not None
    whole = record.latency["sent_to_decided"]
    forgone_s = record.source["source"]["time_forgone_ns"] * 1e-9
    quantiles = {"p50": "p50_ns", "p99": "p99_ns", "p99.9": "p999_ns", "p99.99": "p9999_ns", "max": "max_ns"}
    return Run(
        offered_hz=rate_hz,
        achieved_hz=record.n_events / (burst_s + forgone_s),
        n_events=record.n_events,
        losses=losses(record),
        problems=tuple(record.ledger().problems),
        latency_us={name: whole[key] * 1e-3 for name, key in quantiles.items()},
        legs_us={leg: values["p50_ns"] * 1e-3 for leg, values in record.latency.items() if values["count"]},
        deadline_misses=record.node["trigger"]["deadline_misses"],
        source_cores=cpu.source_s / cpu.wall_s,
        node_cores=cpu.node_s / cpu.wall_s,
        other_cores=max(0.0, cpu.machine_s - cpu.source_s - cpu.node_s) / cpu.wall_s,
        forgone_s=forgone_s,
        mode=record.states["receive"],
    )


def summarise(runs: Sequence[Run]) -> dict[str, Any]:
    """Repeats of one case as one result: median and spread of the rate, medians of the rest, sums of what was lost."""
    rates = [run.achieved_hz for run in runs]
    causes = {cause for run in runs for cause in run.losses}
    return {
        "unit": "events/s",
        "median": statistics.median(rates),
        "spread": spread(rates),
        "n_repeats": len(runs),
        "offered_hz": runs[0].offered_hz,
        "clean_repeats": sum(run.is_clean for run in runs),
        "losses": {cause: sum(run.losses.get(cause, 0) for run in runs) for cause in sorted(causes)},
        "balanced": not any(run.problems for run in runs),
        "latency_us": {name: statistics.median(run.latency_us[name] for run in runs) for name in runs[0].latency_us},
        "p99.9_us_worst": max(run.latency_us["p99.9"] for run in runs),
        "legs_us": {leg: statistics.median(run.legs_us.get(leg, 0.0) for run in runs) for leg in runs[0].legs_us},
        "deadline_misses": sum(run.deadline_misses for run in runs),
        "n_events": sum(run.n_events for run in runs),
        "source_cores": statistics.median(run.source_cores for run in runs),
        "node_cores": statistics.median(run.node_cores for run in runs),
        "other_cores": max(run.other_cores for run in runs),
        "forgone_s": max(run.forgone_s for run in runs),
        "mode": runs[0].mode,
    }


def meets_deadline(runs: Sequence[Run]) -> bool:
    """Nothing lost in any repeat, and p99.9 below 1 ms in the middle one."""
    middle_us = statistics.median(run.latency_us["p99.9"] for run in runs)
    return all(run.is_clean for run in runs) and middle_us * 1e3 < DEADLINE_NS


def keep_to_cores(n_cores: int) -> None:
    """This process and its children on the first n_cores that they may use."""
    usable = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, usable[:n_cores])
