# SPDX-License-Identifier: Apache-2.0
"""A made-up run: counters that balance, latencies, events with true and found rings. No engine is needed."""

from pathlib import Path
from typing import Any

import numpy as np

from anello.account.notices import Notice
from anello.account.record import CounterDict
from anello.configuration.load import Config, load
from anello.rich.account.record import RichRecord

Arrays = dict[str, Any]
N_BOARDS = 4
TOLD_NS = 1_800_000_000_000_000_000
VERDICTS = ("ok", "too_short", "wrong_magic", "wrong_length", "wrong_checksum")


def node_counters(n_events: int = 1000) -> CounterDict:
    """A run without loss: 4 boards, 10 events per packet, 5 hits per fragment, 2 bursts."""
    counters: CounterDict = {}
    packets, hits = n_events // 10, 5 * n_events
    for board in range(N_BOARDS):
        counters[f"receive.board{board}"] = {
            "datagrams": packets + 12, "bytes": 200 * packets, "kernel_dropped": 0, "super_packets": 0,
            "packets": packets,
            "fragments": n_events, "hits": hits, "out_of_order": 0, "distinct_sequences": packets, "lost_sequences": 0,
            "before_joining": 0, "source_restarts": 0, "stray_packets": 0, "duplicate_packets": 0,
            "conflicting_packets": 0, "duplicate_fragments": 0,
            "dropped_packets": 0, "dropped_fragments": 0, "dropped_hits": 0,
            "overwritten_packets": 0, "overwritten_fragments": 0, "overwritten_hits": 0, "markers": 12,
            "bursts_ended": 2, "announced_packets": packets, "announced_fragments": n_events, "announced_hits": hits,
            "unannounced_fragments": 0, "unannounced_hits": 0,
            "strangers": 0, "mistaken_strangers": 0, "disowned_packets": 0, "disowned_fragments": 0, "disowned_hits": 0,
        }  # fmt: skip
        counters[f"receive.board{board}.verdict"] = dict.fromkeys(VERDICTS, 0) | {"ok": packets + 12}
        counters[f"build.board{board}"] = {
            "fragments_in": n_events, "fragments_late": 0, "fragments_ahead": 0, "fragments_duplicate": 0,
            "fragments_disowned": 0, "missing": 0, "silences": 0, "state": 2,
        }  # fmt: skip
    counters["build"] = {
        "fragments_in": N_BOARDS * n_events, "fragments_merged": N_BOARDS * n_events, "fragments_late": 0,
        "fragments_ahead": 0, "hits_ahead": 0, "fragments_duplicate": 0, "fragments_disowned": 0, "hits_disowned": 0,
        "hits_in": N_BOARDS * hits, "hits_merged": N_BOARDS * hits, "hits_late": 0,
        "hits_duplicate": 0, "hits_truncated": 0, "hits_rejected": 0, "events_built": n_events,
        "events_complete": n_events, "events_incomplete": 0, "events_rejected": 0, "events_out": n_events,
    }  # fmt: skip
    few = n_events // 10
    counters["trigger"] = {
        "events": n_events, "events_with_0_rings": few, "events_with_1_ring": n_events - 4 * few,
        "events_with_2_rings": few, "events_with_3_rings": few, "events_with_4_rings": few,
        "events_with_more_rings": 0, "rings": n_events + 5 * few, "primitives": n_events - few,
        "hits_in_time": 3 * hits, "hits_out_of_time": hits, "hits_unknown": 0, "hits_passed": 0,
        "events_in_full": n_events, "events_cheaper": 0, "events_passed": 0,
    }  # fmt: skip
    counters["emit"] = {
        "primitives_in": n_events - few, "primitives": n_events - few, "primitives_late": 0, "primitives_overflow": 0,
        "primitives_invalid": 0, "frames": 625, "frames_sent": 625, "frames_lost": 0,
    }  # fmt: skip
    counters["listener"] = {"datagrams": 625, "frames": 625, "primitives": n_events - few}
    counters["store"] = {
        "events_seen": n_events, "events_not_selected": n_events - few, "events_stored": few, "events_lost": 0,
    }  # fmt: skip
    return counters


def source_counters(n_events: int = 1000) -> CounterDict:
    """The front ends' side of node_counters."""
    none = dict.fromkeys(
        ("packets_dead_board", "fragments_dead_board", "packets_lost_injected", "fragments_lost_injected",
         "packets_truncated_injected", "packets_corrupted_injected", "packets_duplicated_injected", "send_refused",
         "send_no_buffers", "send_failed", "packets_not_sent", "fragments_not_sent"), 0,
    )  # fmt: skip
    made = {"packets": n_events // 10, "fragments": n_events, "hits": 5 * n_events, "burst_markers": 12,
            "datagrams_sent": n_events // 10 + 12}  # fmt: skip
    return {f"source.board{board}": made | none for board in range(N_BOARDS)}


def latency(rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    medians_us = {
        "sent_to_kernel": 12, "kernel_to_placed": 60, "placed_to_built": 90, "built_to_decided": 40,
        "decided_to_emitted": 15, "sent_to_decided": 210, "sent_to_emitted": 230,
    }  # fmt: skip
    return {
        name: stage(median * 1e3 * np.exp(0.35 * rng.standard_normal(50_000))) for name, median in medians_us.items()
    }


def stage(values_ns: np.ndarray) -> dict[str, Any]:
    edges = np.concatenate(([0.0], np.geomspace(100, 1e9, 400)))
    quantiles = dict(zip(("p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns"),
                         np.quantile(values_ns, (0.5, 0.9, 0.99, 0.999, 0.9999)).tolist(), strict=True))  # fmt: skip
    return {
        "count": len(values_ns), "mean_ns": float(values_ns.mean()), **quantiles, "max_ns": float(values_ns.max()),
        "above_1ms": int((values_ns > 1e6).sum()), "bins_ns": edges[:-1],
        "bin_counts": np.histogram(values_ns, edges)[0],
    }  # fmt: skip


def lattice() -> np.ndarray:
    """float32[1952, 2]: about the two disks, laid over each other."""
    rows = np.arange(-19, 20)
    points = np.array([(18.0 * i + 9.0 * (j % 2), 15.588 * j) for j in rows for i in range(-17, 18)])
    inside = points[np.argsort(np.hypot(*points.T))][:976]
    return np.concatenate((inside - np.array([146.8, 19.8]), inside - np.array([196.7, 9.5]))).astype(np.float32)


def truth_and_events(
    rng: np.random.Generator, positions: np.ndarray, n_pool: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The pool's truth and its events as decided: rings found with 1.5 mm errors, 8 % lost, 2 % ghosts."""
    n_rings = rng.choice(5, n_pool, p=(0.1, 0.55, 0.15, 0.15, 0.05))
    ring_event = np.repeat(np.arange(n_pool), n_rings)
    total = len(ring_event)
    x, y = rng.normal(-110, 60, total), rng.normal(0, 60, total)
    radius = rng.uniform(150, 195, total)
    keys = (np.uint64(1) << np.uint64(32)) + np.arange(n_pool, dtype=np.uint64) * np.uint64(160)
    pmt, offset = _hits(rng, positions, n_pool, ring_event, (x, y, radius))
    found = rng.random(total) > 0.08
    found_event = np.concatenate((ring_event[found], np.flatnonzero(rng.random(n_pool) < 0.02)))
    n_found, n_ghosts = int(found.sum()), len(found_event) - int(found.sum())
    order = np.argsort(found_event, kind="stable")
    smear = rng.normal(0, 1.5, (3, n_found))
    columns = [np.concatenate((true[found] + error, rng.uniform(120, 190, n_ghosts)))[order].astype(np.float32)
               for true, error in zip((x, y, radius), smear, strict=True)]  # fmt: skip
    truth = {
        "event_key": keys, "pool_index": np.arange(n_pool, dtype=np.uint32), "event_offset": offset,
        "ring_event": ring_event.astype(np.uint32), "ring_x_mm": x.astype(np.float32),
        "ring_y_mm": y.astype(np.float32), "ring_radius_mm": radius.astype(np.float32),
        "ring_n_hits": np.full(total, 14, np.uint16), "ring_in_time": np.ones(total, bool),
    }  # fmt: skip
    events = {
        "event_key": keys, "hit_pmt": pmt,
        "hit_time_fine": np.where(rng.random(len(pmt)) < 0.1, 200, 3).astype(np.int16),
        "event_offset": offset, "ring_x_mm": columns[0], "ring_y_mm": columns[1], "ring_radius_mm": columns[2],
        "ring_n_hits": np.full(len(found_event), 14, np.uint16),
        "ring_offset": np.searchsorted(found_event[order], np.arange(n_pool + 1)).astype(np.uint32),
    }  # fmt: skip
    return truth, events


def _hits(rng: np.random.Generator, positions: np.ndarray, n_pool: int, ring_event: np.ndarray, rings: Any) -> Any:
    x_mm, y_mm, radius_mm = (column[:, None] for column in rings)
    phi = rng.uniform(0, 2 * np.pi, (len(ring_event), 14))
    points = np.stack((x_mm + radius_mm * np.cos(phi), y_mm + radius_mm * np.sin(phi)), -1)
    nearest = np.array([np.argmin(((positions - point) ** 2).sum(1)) for point in points.reshape(-1, 2)], np.uint16)
    event = np.concatenate((np.repeat(ring_event, 14), np.repeat(np.arange(n_pool), 2)))
    pmt = np.concatenate((nearest, rng.integers(0, 1952, 2 * n_pool).astype(np.uint16)))
    order = np.argsort(event, kind="stable")
    return pmt[order], np.searchsorted(event[order], np.arange(n_pool + 1)).astype(np.uint32)


def record(n_pool: int = 300, **changes: Any) -> RichRecord:
    rng = np.random.default_rng(1)
    positions = lattice()
    truth, events = truth_and_events(rng, positions, n_pool)
    n_events = np.round(2 ** rng.uniform(4, 11, 4000)).astype(np.uint32)
    execution = {
        "n_events": n_events, "build_ns": 2000 + 110 * n_events * np.exp(0.2 * rng.standard_normal(4000)),
        "trigger_ns": 3000 + 1400 * n_events * np.exp(0.2 * rng.standard_normal(4000)),
    }  # fmt: skip
    values: dict[str, Any] = {
        "config": config(), "node": node_counters(), "source": source_counters(), "latency": latency(rng),
        "wall_s": 20.3,
        "execution": execution, "events": events, "truth": truth, "positions": positions, "one_host": True,
        "states": {"board 0": "ended", "socket buffer": "64 MiB"}, "notices": (Notice(TOLD_NS, "board 3 is silent"),),
    }  # fmt: skip
    return RichRecord(**(values | changes))


def config() -> Config:
    return load(None, ["run.duration_s=4", "run.name=synthetic"])


def write(directory: Path) -> Path:
    from anello.report import report

    return report.write(record(), directory)


def sequences(n_events: int = 1000, lost: range = range(0), withheld: dict[int, range] | None = None) -> Any:
    """Numbers of board 1 on both sides: all packets; those lost, or withheld (cause -> packets), did not come."""
    from anello.rich.account.board_ledger import Sequences

    causes = withheld or {}
    missing = [[0, one.start, one.stop, 0] for one in (lost, *causes.values()) if len(one)]
    made = {"made": [[0, 0, n_events // 10, 0]], "not_listed": 0,
            "withheld": [[0, one.start, one.stop, cause] for cause, one in causes.items()]}  # fmt: skip
    came = {"expected": [[0, 0, n_events // 10, 0]], "missing": missing, "not_listed": 0}
    return Sequences({1: made}, {1: came})
