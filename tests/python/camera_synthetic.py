# SPDX-License-Identifier: Apache-2.0
"""A made-up run of a small camera: counters that balance, latencies, events. No engine is needed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import synthetic

from anello.account.notices import Notice
from anello.account.record import CounterDict
from anello.camera.account.record import CameraKeeper, CameraRecord
from anello.camera.configuration.config import CameraConfig
from anello.configuration.load import load

N_BOARDS = 5  # in two groups, of three and two
GROUPS = (range(3), range(3, 5))
N_EVENTS = 300
PIXELS_PER_BOARD = 7
BYTES = 1744
VERDICTS = ("ok", "too_short", "wrong_magic", "wrong_length", "wrong_checksum")
N_MARKERS = 6  # of each board: one start, five ends
KEPT_EVERY = 4


def zeros(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 0)


def node_counters() -> CounterDict:
    """A run without loss."""
    counters: CounterDict = {}
    for group, boards in enumerate(GROUPS):
        fragments, markers = N_EVENTS * len(boards), N_MARKERS * len(boards)
        datagrams = fragments + markers
        counters[f"receive.port{group}"] = {
            "datagrams": datagrams, "bytes": fragments * BYTES + markers * 88, "kernel_dropped": 0, "super_packets": 0,
            "blocks_dropped": 0,
        }  # fmt: skip
        counters[f"receive.group{group}.verdict"] = zeros(*VERDICTS) | {"ok": datagrams}
        counters[f"build.group{group}"] = zeros(
            "fragments_duplicate", "fragments_conflicting", "fragments_late", "fragments_ahead", "fragments_other_run",
            "fragments_wrong_board", "fragments_wrong_size", "fragments_dropped", "fragments_missing", "events_timeout",
            "events_pushed_out", "events_run_ended", "windows_moved", "boards_silenced", "strangers",
        ) | {
            "datagrams": datagrams, "bytes": fragments * BYTES + markers * 88, "fragments_in": fragments,
            "markers": markers, "fragments_placed": fragments, "events_out": N_EVENTS, "events_complete": N_EVENTS,
            "runs_begun": 1,
        }  # fmt: skip
        for board in boards:
            counters[f"build.board{board}"] = zeros(
                "duplicate",
                "late",
                "ahead",
                "other_run",
                "dropped",
                "missing",
                "lost",
                "silences",
                "strangers",
                "mistaken_strangers",
                "disowned",
            ) | {"placed": N_EVENTS, "announced": N_EVENTS, "state": 2}
    counters["join"] = {
        "parts_in": 2 * N_EVENTS, "parts_joined": 2 * N_EVENTS, "parts_late": 0, "fragments": N_BOARDS * N_EVENTS,
        "fragments_late": 0, "events_out": N_EVENTS, "events_complete": N_EVENTS, "events_incomplete": 0,
        "runs_ended": 1, "groups_silenced": 0,
    }  # fmt: skip
    kept = N_EVENTS // KEPT_EVERY
    counters["send"] = {
        "events_in": N_EVENTS, "bytes_in": N_BOARDS * N_EVENTS * 1680, "events_kept": kept,
        "events_filtered": N_EVENTS - kept, "images_dropped": 0,
    }  # fmt: skip
    counters["compress"] = {
        "events": kept, "events_encoded": kept, "events_failed": 0, "bytes_in": kept * N_BOARDS * BYTES,
        "bytes_out": kept * N_BOARDS * BYTES // 4,
    }  # fmt: skip
    counters["camera_store"] = {
        "events_seen": kept, "events_stored": kept, "events_lost": 0, "bytes_stored": kept * N_BOARDS * BYTES // 4,
        "chunks_written": 3, "errors": 0,
    }  # fmt: skip
    counters["camera_stream"] = {
        "events_in": kept, "events_sent": kept, "dropped_queue_full": 0, "dropped_not_connected": 0,
        "lost_disconnected": 0, "lost_at_end": 0, "bytes_sent": kept * N_BOARDS * BYTES // 4, "connections": 1,
        "connection_failures": 0,
    }  # fmt: skip
    for i, n in enumerate((kept - kept // 2, kept // 2)):
        counters[f"r1_stream{i}"] = dict.fromkeys(counters["camera_stream"], 0) | {"events_in": n, "events_sent": n}
        counters[f"r1_writer{i}"] = zeros(
            "events_refused", "events_lost", "events_never_taken", "events_lost_with_writer", "boards_left_out", "died"
        ) | {"events_in": n, "events_written": n, "files_written": 2, "bytes_written": n * N_BOARDS * BYTES // 4}
    counters["filter"] = zeros(
        "kept_unfiltered", "kept_by_fraction", "kept_by_prescale", "kept_incomplete", "kept_calibration",
        "rejected_incomplete", "boards_missing", "boards_wrong_shape",
    ) | {
        "events_in": N_EVENTS, "events_kept": kept, "events_rejected": N_EVENTS - kept, "kept_by_signal": kept,
        "rejected_no_signal": N_EVENTS - kept,
    }  # fmt: skip
    return counters


def source_counters() -> CounterDict:
    """The front ends' side of node_counters."""
    none = zeros(
        "fragments_dead_board", "fragments_lost_injected", "fragments_truncated_injected",
        "fragments_corrupted_injected", "fragments_duplicated_injected", "send_refused", "send_no_buffers",
        "send_failed", "fragments_not_sent",
    )  # fmt: skip
    sent = {"fragments": N_EVENTS, "burst_markers": N_MARKERS, "datagrams_sent": N_EVENTS + N_MARKERS}
    boards = {f"source.board{board}": sent | none for board in range(N_BOARDS)}
    return boards | {"source": {"events": N_EVENTS, "behind_ns_max": 0, "time_forgone_ns": 0}}


class FakeNode:
    """Offers its events in pieces, the last of each again, as a real node may."""

    def __init__(self, counters: CounterDict | None = None, states: dict[str, str] | None = None) -> None:
        self._counters = node_counters() if counters is None else counters
        self._states = states or {}
        self._events = list(offered_events())

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def set_state(self, word: str) -> None: ...

    def finished(self) -> bool:
        return not self._events

    def ports(self) -> list[int]:
        return [4001, 4002]

    def counters(self) -> CounterDict:
        return self._counters

    def latency(self) -> dict[str, dict[str, Any]]:
        return latency()

    def latency_over_time(self) -> dict[str, dict[str, Any]]:
        return {}

    def hiccups(self) -> dict[int, dict[str, Any]]:
        return {}

    def notices(self) -> list[str]:
        return ["board 4 is silent"]

    def states(self) -> dict[str, str]:
        return self._states

    def sequences(self) -> dict[int, dict[str, Any]]:
        return {}

    def events(self) -> Sequence[dict[str, Any]]:
        offered, self._events = self._events[:100], self._events[99:] if len(self._events) > 100 else []
        return offered


def offered_events() -> list[dict[str, Any]]:
    """Every fourth event has light and is kept."""
    rng = np.random.default_rng(3)
    n_pixels = N_BOARDS * PIXELS_PER_BOARD
    noise = rng.normal(0, 5, (N_EVENTS, n_pixels))
    light = rng.exponential(200, (N_EVENTS, n_pixels)) * (np.arange(N_EVENTS)[:, None] % KEPT_EVERY == 0)
    return [
        {
            "event_number": number,
            "charge": charge.astype(np.float32),
            "kept": number % KEPT_EVERY == 0,
            "charge_sum": float(charge[charge > 60].sum()),
        }
        for number, charge in enumerate(noise + light)
    ]


def truth() -> dict[str, np.ndarray]:
    """A pool of eight events, of which each fourth has a shower."""
    has_shower = np.arange(8) % KEPT_EVERY == 0
    return {
        "event_key": (np.uint64(1) << np.uint64(32)) + np.arange(N_EVENTS, dtype=np.uint64),
        "pool_index": (np.arange(N_EVENTS) % 8).astype(np.uint32),
        "n_pe": np.where(has_shower, 200.0, 0.0).astype(np.float32),
        "length_mm": np.where(has_shower, 80.0, 0.0).astype(np.float32),
        "trigger_tag": np.ones(8, np.float32),
    }


def latency() -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(1)
    medians_us = {"first_to_built": 400, "built_to_sent": 80, "first_to_sent": 500}
    return {
        name: synthetic.stage(median * 1e3 * np.exp(0.35 * rng.standard_normal(5_000)))
        for name, median in medians_us.items()
    }


def config() -> CameraConfig:
    loaded = load(None, ["chain=camera", f"camera.boards={N_BOARDS}", f"run.n_events={N_EVENTS}", "run.name=fake",
                         "camera_build.groups=2", "receive.ports=[0, 0]", "camera_source.ports=[0, 0]"])  # fmt: skip
    assert isinstance(loaded, CameraConfig)
    return loaded


def record(**changes: Any) -> CameraRecord:
    keeper, node = CameraKeeper(1000), FakeNode()
    while not node.finished():
        keeper.look(node)
    values: dict[str, Any] = {
        "config": config(), "node": node_counters(), "source": source_counters(), "latency": latency(), "wall_s": 3.0,
        "states": {"receive": "sockets"}, "one_host": True,
        "notices": (Notice(synthetic.TOLD_NS, "board 4 is silent"),),
        "events": keeper.events(), "truth": truth(),
        "positions": np.random.default_rng(2).normal(0, 300, (N_BOARDS * PIXELS_PER_BOARD, 2)).astype(np.float32),
    }  # fmt: skip
    return CameraRecord(**(values | changes))
