# SPDX-License-Identifier: Apache-2.0
"""One run of the RICH's trigger as it is shipped, and what its summary says of time."""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "detectors/rich/na62-rich.toml"
QUANTILES = {"p50": "p50_ns", "p99": "p99_ns", "p99.9": "p999_ns", "p99.99": "p9999_ns", "max": "max_ns"}
LIMIT_US = 1000.0
# For waking every 0.5 ms, often enough that half of any stop of 1 ms is seen: in a virtual machine within another that
# takes 4 % of a core, elsewhere 0.5.
PROBE = "threads.probe_share=0.05"


@dataclass(frozen=True)
class Lateness:
    """Latencies of one run. Quantiles are in us, by name; they are empty where no event was decided."""

    event_us: Mapping[str, float]  # from the event itself to its decision
    sent_us: Mapping[str, float]  # from its packet
    floor_us: float | None  # the machine's own p99.9; None: not watched
    n_late: int  # events above 1 ms
    n_explained: int | None  # subset of n_late: while the machine itself stood still; None: not known
    n_events: int
    degraded: float  # share of the events that were decided with less effort, or passed
    forgone_s: float  # by which the front ends were behind their schedule
    is_lossless: bool
    line: str  # the run's verdict in words

    @property
    def limit_us(self) -> float:
        """What p99.9 should keep: 1 ms, or what the machine lets nobody keep."""
        return max(LIMIT_US, 2 * (self.floor_us or 0.0))

    @property
    def n_unexplained(self) -> int:
        return self.n_late - (self.n_explained or 0)

    @property
    def keeps_limit(self) -> bool:
        return self.event_us.get("p99.9", self.event_us.get("max", math.inf)) <= self.limit_us

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def of_summary(summary: Mapping[str, Any]) -> Lateness:
    """summary: summary.json's content (docs/reference/summary.md)."""
    machine = summary.get("machine") or {}
    late = machine.get("late") or {}
    trigger = summary["counters"]["node"].get("trigger", {})
    source = (summary["counters"].get("source") or {}).get("source", {})
    n_events = trigger.get("events", 0)
    n_degraded = trigger.get("events_cheaper", 0) + trigger.get("events_passed", 0)
    floor_ns = machine.get("floor_p999_ns")
    return Lateness(
        event_us=_quantiles(summary["latency"].get("event_to_decided", {})),
        sent_us=_quantiles(summary["latency"].get("sent_to_decided", {})),
        floor_us=None if floor_ns is None else floor_ns * 1e-3,
        n_late=late.get("n", summary["latency"].get("event_to_decided", {}).get("above_1ms", 0)),
        n_explained=late.get("explained"),
        n_events=n_events,
        degraded=n_degraded / n_events if n_events else 0.0,
        forgone_s=source.get("time_forgone_ns", 0) * 1e-9,
        is_lossless=summary["balanced"] and not summary["losses"] and not summary.get("node_losses"),
        line=summary["verdict"]["line"],
    )


def _quantiles(leg: Mapping[str, float]) -> dict[str, float]:
    return {name: leg[key] * 1e-3 for name, key in QUANTILES.items() if leg.get(key) is not None}


def run(settings: Sequence[str], timeout_s: float) -> dict[str, Any]:
    """The summary of `anello run` with these settings. Raises RuntimeError where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        given = [part for setting in (PROBE, *settings) for part in ("--set", setting)]
        command = [sys.executable, "-m", "anello", "run", str(CONFIG), "--report-dir", folder, *given]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)
        path = Path(folder) / "summary.json"
        if not path.exists():
            last = ((done.stderr or done.stdout).strip().splitlines() or ["it said nothing"])[-1]
            raise RuntimeError(f"the run ended with exit code {done.returncode}: {last}")
        summary: dict[str, Any] = json.loads(path.read_text())
        return summary


def take_weight() -> None:
    """Raises the weight of this session's scheduling group, if permitted, lest neighbours have half of the cores."""
    try:
        Path(f"/proc/{os.getpid()}/autogroup").write_text("-20")
    except OSError:
        return
