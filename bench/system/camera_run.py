# SPDX-License-Identifier: Apache-2.0
"""One measured run of the camera chain, and several summed up."""

import itertools
import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anello.camera.configuration.sections import CameraSection
from anello.search.report import mode_words
from anello.search.trial import Trial, TrialRunner, from_message, keys_of, spread

CONFIG = Path(__file__).parents[2] / "detectors/camera/cta-camera.toml"
HEADER_BYTES = 64
LAYOUTS = {"two-stage": ["receive+build", "filter+send"], "three-stage": ["receive", "build", "filter+send"]}
MODES = {"plain": ("none", False), "plain+gro": ("none", True), "gso": ("gso", False), "gso+gro": ("gso", True)}
HANDED_ON_UNSEEN = ("camera_filter.enabled=false", "camera_send.file=", "camera_build.verify_checksum=true",
                    "camera_source.checksum=true")  # fmt: skip
MAX_EVENT_MEMORY_BYTES = 256 << 20

_seeds = itertools.count(1)


@dataclass(frozen=True)
class Case:
    """One configuration that is compared: a row of the table."""

    datagram_bytes: int
    layout: str  # of LAYOUTS
    mode: str  # of MODES
    boards: int = 265

    @property
    def name(self) -> str:
        return f"{self.datagram_bytes}/{self.layout}/{self.mode}"

    @property
    def payload_bytes(self) -> int:
        return self.datagram_bytes - HEADER_BYTES

    @property
    def event_bits(self) -> int:
        """Payload of all boards for one event, in bits."""
        return self.boards * self.payload_bytes * 8

    def rate_hz(self, gbit_per_s: float) -> float:
        return gbit_per_s * 1e9 / self.event_bits

    def gbit_per_s(self, rate_hz: float) -> float:
        return rate_hz * self.event_bits * 1e-9

    def settings(self) -> list[str]:
        """Arguments for --set. A fragment of another size than the camera's waveforms is a pattern of bytes."""
        offload, gro = MODES[self.mode]
        has_waveforms = self.payload_bytes == CameraSection().waveform_bytes
        n_events = max(128, min(256, MAX_EVENT_MEMORY_BYTES // (self.event_bits // 8)))
        return [
            *HANDED_ON_UNSEEN, f"camera.boards={self.boards}", f"camera.payload_bytes={self.payload_bytes}",
            f"camera_source.payload={'waveforms' if has_waveforms else 'pattern'}", f"camera_source.offload={offload}",
            f"receive.gro={json.dumps(gro)}", f"threads.layout={json.dumps(LAYOUTS[self.layout])}",
            f"camera_build.n_events={n_events}",
        ]  # fmt: skip


@dataclass(frozen=True)
class CameraTrial:
    """Results of a run: those of every chain, and those of the camera only."""

    trial: Trial
    n_verified: int  # events of which all boards came and every byte was checked
    n_offered: int  # events that the front ends made
    node_us: float  # CPU time per event, the whole process
    source_us: float


@contextmanager
def runner(settings: Sequence[str], seconds: float) -> Iterator[TrialRunner]:
    """Makes runs of detectors/camera/cta-camera.toml with `settings`, which are as for --set."""
    with tempfile.TemporaryDirectory() as folder:
        yield TrialRunner(
            CONFIG, settings, keys=keys_of("camera"), seconds=seconds, seed=next(_seeds), folder=Path(folder)
        )


def run_once(run: TrialRunner, rate_hz: float, seconds: float) -> CameraTrial:
    """One run. If it has no result, its trial holds the error."""
    message = run.message(rate_hz)
    trial = from_message(message, rate_hz, seconds)
    if trial.error:
        return CameraTrial(trial, 0, 0, 0.0, 0.0)
    node, cpu = message["counters"]["node"], message["cpu"]
    problems = (*trial.problems, *unverified(message["config"], node))
    us_per_core = cpu["wall_s"] * 1e6 / max(trial.n_events, 1)
    return CameraTrial(
        replace(trial, problems=problems), 0 if problems else node["join"]["events_complete"],
        message["counters"]["source"]["source"]["events"],
        cpu["node_cores"] * us_per_core, cpu["source_cores"] * us_per_core,
    )  # fmt: skip


def unverified(config: Mapping[str, Any], node: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Why not every payload byte of the complete events was checked; nothing when all were."""
    reasons = [f"{key} is off" for key in ("camera_source.checksum", "camera_build.verify_checksum") if not config[key]]
    groups = [name.removeprefix("build.group") for name in node if name.startswith("build.group")]
    n_placed = sum(node[f"build.group{group}"]["fragments_placed"] for group in groups)
    n_checked = sum(node[f"receive.group{group}.verdict"]["ok"] for group in groups)
    n_wanted = node["join"]["events_complete"] * config["camera.boards"]
    if n_placed < n_wanted:
        reasons.append(f"{n_placed} fragments were placed for events of {n_wanted}")
    if n_checked < n_placed:
        reasons.append(f"{n_checked} datagrams were found good, and {n_placed} placed")
    return reasons


def summarise(case: Case, runs: Sequence[CameraTrial]) -> dict[str, Any]:
    """Repeats of one case as one result: medians and spreads, sums of events and losses."""
    trials = [run.trial for run in runs if not run.trial.error]
    about = {
        "case": case.name, "datagram_bytes": case.datagram_bytes, "layout": case.layout, "mode": case.mode,
        "boards": case.boards, "n_repeats": len(runs), "errors": [run.trial.error for run in runs if run.trial.error],
    }  # fmt: skip
    if not trials:
        return about | {"median": None}
    gbit = [case.gbit_per_s(trial.achieved_hz) for trial in trials]
    measured = [run for run in runs if not run.trial.error]
    causes = sorted({cause for trial in trials for cause in trial.losses})
    rate_hz = statistics.median(trial.achieved_hz for trial in trials)
    node_us, source_us = (
        statistics.median(getattr(run, name) for run in measured) for name in ("node_us", "source_us")
    )
    return about | {
        "unit": "Gb/s of payload",
        "median": statistics.median(gbit),
        "spread": spread(gbit),
        "samples": gbit,
        "offered": case.gbit_per_s(trials[0].offered_hz),
        "events_per_s": rate_hz,
        "clean_repeats": sum(trial.is_clean for trial in trials),
        "losses": {cause: sum(trial.losses.get(cause, 0) for trial in trials) for cause in causes},
        "problems": sorted({problem for trial in trials for problem in trial.problems}),
        "n_offered": sum(run.n_offered for run in measured),
        "n_verified": sum(run.n_verified for run in measured),
        "node_us_per_event": node_us,
        "node_us_spread": spread([run.node_us for run in measured]),
        "source_us_per_event": source_us,
        "node_percent": node_us * rate_hz * 1e-4,
        "source_percent": source_us * rate_hz * 1e-4,
        "other_cores": max(trial.other_cores for trial in trials),
        "way": mode_words(trials),
    }


def cpu_ratios(two: Sequence[CameraTrial], three: Sequence[CameraTrial]) -> list[float]:
    """CPU time of the node, three stages over two, repeat by repeat: above 1, two are cheaper."""
    pairs = zip(two, three, strict=True)
    return [last.node_us / first.node_us for first, last in pairs if first.node_us and last.node_us]
