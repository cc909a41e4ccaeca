# SPDX-License-Identifier: Apache-2.0
"""One measured run: `anello run --led` as a process of its own, and the results from its summary.

A separate process, because a search has to survive the run: a run that crashes, hangs or cannot bind its port is a
result. The chain's registration has all that a trial must know of a chain.
"""

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anello import registry
from anello.registry import SearchKeys
from anello.system.exit_codes import FAILED
from anello.system.interruption import Interruption

QUANTILES = {"p50": "p50_ns", "p99": "p99_ns", "p99.9": "p999_ns", "p99.99": "p9999_ns", "max": "max_ns"}
START_AND_DRAIN_S = 180.0  # a run that takes this much longer than its sending time is stopped
STOP_TIMEOUT_S = 30.0
POLL_S = 0.1


EVERY_CHAIN = ("run.n_report_events=0", "run.display=off", "run.refresh_ms=50")


def keys_of(chain: str) -> SearchKeys:
    """What must be known of the chain to search it. Raises KeyError where the chain cannot be searched."""
    keys = registry.registration(chain).search
    if keys is None:
        raise KeyError(f"the chain {chain} has no keys for a search")
    return keys


class StoppedError(Exception):
    """The user ended the measurement."""


@dataclass(frozen=True)
class Trial:
    """The results of one run. Rates in events/s, latencies over the chain's whole way in us, CPU in cores."""

    offered_hz: float
    seconds: float  # of sending time
    achieved_hz: float = 0.0
    n_events: int = 0
    losses: Mapping[str, int] = field(default_factory=dict)  # by cause
    problems: tuple[str, ...] = ()  # rows of the ledger that do not balance
    latency_us: Mapping[str, float] = field(default_factory=dict)  # those of QUANTILES for which it has enough events
    legs_us: Mapping[str, float] = field(default_factory=dict)  # median of each leg of the way
    deadline_misses: int = 0  # decisions later than 1 ms
    source_cores: float = 0.0
    node_cores: float = 0.0
    other_cores: float = 0.0  # used by all other programs of the machine: a large value disturbs the measurement
    stop_ms: float = 0.0  # longest time for which the machine itself stopped a thread
    behind_s: float = 0.0  # greatest delay of the front ends against their clock
    # time by which the front ends put their clock back: for this time they sent more slowly than asked
    forgone_s: float = 0.0
    n_datagrams: int = 0  # received
    n_super_packets: int | None = None  # received, several datagrams each; None: not counted
    mode: Mapping[str, str] = field(default_factory=dict)  # mode_of
    error: str = ""  # why there is no result

    @property
    def is_clean(self) -> bool:
        """True if all that was offered was decided, at the offered rate."""
        return not self.error and not self.losses and not self.problems and self.forgone_s == 0.0


def spread(values: Sequence[float]) -> float:
    """Standard deviation / mean; 0 for a single value."""
    mean = statistics.fmean(values)
    return statistics.stdev(values) / mean if len(values) > 1 and mean else 0.0


# --- From a summary -----------------------------------------------------------------------------------------------
def from_message(message: Mapping[str, Any], offered_hz: float, seconds: float) -> Trial:
    """A trial from a message of TrialRunner."""
    if "error" in message:
        return Trial(offered_hz, seconds, error=str(message["error"]))
    return from_summary(message, offered_hz, seconds)


def from_summary(summary: Mapping[str, Any], offered_hz: float, seconds: float) -> Trial:
    """A trial from a summary: summary.json's content (docs/reference/summary.md)."""
    generator = ((summary["counters"].get("source") or {}).get("source")) or {}
    forgone_s = generator.get("time_forgone_ns", 0) * 1e-9
    cpu = summary.get("cpu") or {}
    whole = summary["latency"].get(keys_of(summary["config"].get("chain", registry.default_chain())).whole_way, {})
    n_events = int(summary["rates"]["events"])
    streams = _streams(summary["counters"]["node"])
    verdict = summary.get("verdict") or {}
    counted = [block["super_packets"] for block in streams if "super_packets" in block]
    return Trial(
        offered_hz=offered_hz,
        seconds=seconds,
        achieved_hz=n_events / (seconds + forgone_s),
        n_events=n_events,
        losses={**summary["losses"], **summary.get("node_losses", {})},
        problems=tuple(_problems(summary)),
        latency_us={name: whole[key] * 1e-3 for name, key in QUANTILES.items() if whole.get(key) is not None}
        if whole.get("count")
        else {},
        legs_us={
            leg: values["p50_ns"] * 1e-3
            for leg, values in summary["latency"].items()
            if values["count"] and values["p50_ns"] is not None
        },
        deadline_misses=int(whole.get("above_1ms", 0)),
        source_cores=cpu.get("source_cores", 0.0),
        node_cores=cpu.get("node_cores", 0.0),
        other_cores=cpu.get("other_cores", 0.0),
        stop_ms=_longest_stop_ms(summary.get("machine")),
        behind_s=generator.get("behind_ns_max", 0) * 1e-9,
        forgone_s=forgone_s,
        n_datagrams=sum(block.get("datagrams", 0) for block in streams),
        n_super_packets=sum(counted) if counted else None,
        mode=mode_of(summary),
        error=str(verdict["line"]) if verdict.get("exit_code") == FAILED else "",
    )


def _longest_stop_ms(machine: Mapping[str, Any] | None) -> float:
    """Longest stop of the machine, ms; 0 where it was not watched."""
    cores = (machine or {}).get("cores") or {}
    return max((core.get("max_ns") or 0 for core in cores.values()), default=0) * 1e-6


def _streams(node: Mapping[str, Mapping[str, int]]) -> list[Mapping[str, int]]:
    return [block for name, block in node.items() if name.startswith("receive.") and not name.endswith(".verdict")]


def _problems(summary: Mapping[str, Any]) -> list[str]:
    rows = summary["ledger"]["rows"]
    return [f"{row['level']}: {row['name']}: {row['problem']}" for row in rows if row["problem"]]


def mode_of(summary: Mapping[str, Any]) -> dict[str, str]:
    """The conditions that belong to a rate: the path of the datagrams, and the backend that received them."""
    config = summary["config"]
    gso = any(key.endswith("source.offload") and value == "gso" for key, value in config.items())
    offloads = {"GSO": gso, "GRO": bool(config.get("receive.gro"))}
    return {
        "offload_asked": " and ".join(name for name, asked in offloads.items() if asked) or "none",
        "interface": summary.get("interface") or "not known",
        "machines": "front ends and node on one machine" if summary.get("one_host") else "front ends elsewhere",
        "backend": str(config.get("receive.backend", "not known")),
        "receive": summary["states"].get("receive", "not known"),
    }


# --- As a process -------------------------------------------------------------------------------------------------
class TrialRunner:
    """Runs a configuration at a rate. config_file and settings are those of `anello run`."""

    def __init__(
        self,
        config_file: Path,
        settings: Sequence[str],
        *,
        keys: SearchKeys,
        seconds: float,
        seed: int = 1,
        folder: Path | None = None,
        stopped: Interruption | None = None,
    ) -> None:
        self._file, self._settings, self._seconds, self._keys = config_file, settings, seconds, keys
        self._seeds = itertools.count(seed)  # equal runs would prove less
        self._folder = folder  # of the runs' own files during a trial
        self._stopped = stopped or Interruption()

    def __call__(self, rate_hz: float) -> Trial:
        """Runs a trial. Raises StoppedError once the user has stopped the search; any other failure is in
        Trial.error."""
        return from_message(self.message(rate_hz), rate_hz, self._seconds)

    def message(self, rate_hz: float) -> dict[str, Any]:
        """The run's summary, or the reason why there is none: {"error": words}. Raises StoppedError."""
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="trial-") as folder:
            return self._lead(self._command(rate_hz, folder))

    def _command(self, rate_hz: float, folder: str) -> list[str]:
        length = {"seconds": f"{self._seconds:.4f}", "ms": f"{self._seconds * 1e3:.1f}"}
        settings = [
            *self._settings,
            f"{self._keys.rate_key}={rate_hz:.1f}",
            f"run.seed={next(self._seeds)}",
            *(setting.format_map(length) for setting in self._keys.settings),
            *EVERY_CHAIN,
        ]
        given = [part for setting in settings for part in ("--set", setting)]
        return [sys.executable, "-m", "anello", "run", str(self._file), "--led", *given, "--report-dir", folder]

    def _lead(self, command: Sequence[str]) -> dict[str, Any]:
        with tempfile.TemporaryFile("w+") as complaints:
            # A session of its own: Ctrl-C reaches only the search, which then stops the run in good order.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,
            )
            limit_s = START_AND_DRAIN_S + self._seconds
            try:
                output = _output_of(process, limit_s, self._stopped.is_set)
            finally:
                _end(process)
            complaints.seek(0)
            return _last_message(output, process.returncode, complaints.read(), limit_s)


def _output_of(process: "subprocess.Popen[str]", limit_s: float, stopped: Callable[[], bool]) -> str | None:
    """The run's output; None when it took too long. Raises StoppedError."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if stopped():
            raise StoppedError
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=POLL_S)[0]
    return None


def _end(process: "subprocess.Popen[str]") -> None:
    """Ends the run in order by SIGTERM; its front ends end with it."""
    if process.poll() is None:
        process.terminate()
    try:
        process.communicate(timeout=STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _last_message(output: str | None, code: int, complaints: str, limit_s: float) -> dict[str, Any]:
    if output is None:
        return {"error": f"it was stopped after {limit_s:.0f} s"}
    lines = [line for line in output.splitlines() if line.startswith("{")]
    with suppress(json.JSONDecodeError):
        if lines:
            message: dict[str, Any] = json.loads(lines[-1])
            return message
    last_words = (complaints.strip().splitlines() or ["it said nothing"])[-1]
    return {"error": f"the run ended with exit code {code}: {last_words}"}
