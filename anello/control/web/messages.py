# SPDX-License-Identifier: Apache-2.0
"""A sample of the run as the page receives it: one message holds everything that is drawn, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from anello.control.balance import Balance
from anello.control.operator import Status
from anello.control.run_sampler import RunSample
from anello.control.states import possible
from anello.counters.farm_copy import Seen
from anello.counters.live import STATES, Board, Stage
from anello.counters.pages import Buffers

BINS_PER_DECADE = 12
MOST_ROWS = 12  # of the ledger: first those that do not balance, then those with most in transit


def state(status: Status) -> dict[str, Any]:
    """The state of the control room."""
    return {
        "state": status.state.value,
        "since_ns": status.since_ns,
        "cause": status.cause,
        "busy": status.busy,
        "config_file": status.config_file,
        "config_digest": status.config_digest,
        "settings": list(status.settings),
        "chain": status.chain,
        "run": status.run,
        "name": status.name,
        "directory": status.directory,
        "node_page": status.node_page,
        "source_page": status.source_page,
        "possible": [step.value for step in possible(status.state)],
    }


def tick(look: RunSample) -> dict[str, Any]:
    """One sample. live: null where no process runs."""
    return {"t_ns": look.t_ns, "state": state(look.status), "live": _live(look)}


def _live(look: RunSample) -> dict[str, Any] | None:
    if look.node is None or look.flow is None or look.view is None:
        return None
    flow = look.flow
    return {
        "rates": dict(look.rates),
        "flow": {
            "unit": flow.unit,
            "built": flow.built,
            "decided": flow.decided,
            "kept": flow.kept,
            "kept_unit": flow.kept_unit,
            "bytes": flow.n_bytes,
        },
        "verdict": look.verdict.as_dict() if look.verdict else None,
        "lost": [{"cause": cause, "n": n} for cause, n in look.lost.items()],
        "latency": _latency(look),
        "ledger": _ledger(look.balance),
        "stages": _stages(look.view.stages(look.node.counters), look.node.buffers),
        "threads": [asdict(thread) for thread in look.node.threads],
        "buffers": [asdict(one) for one in look.node.buffers if one.n_buffers],
        "boards": _boards(look.view.boards(look.node.counters)),
        "members": [_member(one) for one in look.members],
        "found": _found(look),
    }


def _latency(look: RunSample) -> dict[str, Any]:
    assert look.node is not None
    assert look.view is not None
    keys = {"count", "p50_ns", "p99_ns", "p999_ns", "max_ns", "above_1ms"}
    words = look.view.legs()
    legs = [
        {"leg": leg, "about": words.get(leg, leg), **{key: value for key, value in window.items() if key in keys}}
        for leg in look.node.latency
        if (window := look.node.recent(leg))
    ]
    whole = look.view.whole_way(look.node.run_latency())
    return {
        "whole": whole,
        "about": words.get(whole, whole),
        "window_s": 10,
        "legs": legs,
        "histogram": _histogram(look.node.recent(whole)),
    }


def _histogram(window: Mapping[str, Any]) -> dict[str, list[float]]:
    """A histogram in BINS_PER_DECADE equal steps of the logarithm, none of which crosses 1 ms: lower edges in us,
    shares."""
    if not window:
        return {"us": [], "share": []}
    counts = np.asarray(window["bin_counts"], dtype=float)
    low_us = np.maximum(np.asarray(window["bins_ns"], dtype=float)[: len(counts)], 100.0) * 1e-3
    step = np.floor(np.log10(low_us) * BINS_PER_DECADE + 1e-9).astype(int)
    first = int(step[0])
    sums = np.bincount(step - first, weights=counts) / counts.sum()
    filled = np.flatnonzero(sums)
    kept = np.arange(filled[0], filled[-1] + 1)
    return {"us": (10.0 ** ((kept + first) / BINS_PER_DECADE)).round(3).tolist(), "share": sums[kept].round(6).tolist()}


def _ledger(balance: Balance) -> dict[str, Any]:
    standing_out = sorted(balance.rows, key=lambda row: (not row.is_off, -abs(row.on_the_way)))[:MOST_ROWS]
    return {
        "rows": len(balance.rows),
        "off": len(balance.off),
        "closed_s": balance.closed_s,
        "on_the_way": balance.on_the_way,
        "levels": _levels(balance),
        "shown": [
            {
                "level": row.level,
                "name": row.name,
                "total": row.total,
                "on_the_way": row.on_the_way,
                "closed_s": row.closed_s,
            }
            for row in standing_out
        ],
    }


def _levels(balance: Balance) -> list[dict[str, Any]]:
    """For each level (packets, fragments, ...): the largest sum that is accounted for, and rows that do not balance."""
    levels: dict[str, dict[str, Any]] = {}
    for row in balance.rows:
        level = levels.setdefault(row.level, {"level": row.level, "total": 0, "off": 0})
        level |= {"total": max(level["total"], row.total), "off": level["off"] + row.is_off}
    return [level for level in levels.values() if level["total"]]


def _stages(stages: Sequence[Stage], buffers: Sequence[Buffers]) -> list[dict[str, Any]]:
    """The stages. occupancy: the share of its buffers that are in use, null where that is not known."""
    return [
        {
            "name": stage.name,
            "about": stage.about,
            "came": stage.came,
            "came_unit": stage.came_unit,
            "went": stage.went,
            "went_unit": stage.went_unit,
            "lost": stage.n_lost,
            "causes": dict(stage.lost),
            "remarks": dict(stage.remarks),
            "occupancy": occupancy(stage.name, buffers),
        }
        for stage in stages
    ]


def occupancy(stage: str, buffers: Sequence[Buffers]) -> float | None:
    """Occupancy of the stage's fullest buffer, 0 to 1."""
    found = [one for one in buffers if one.stage.split(".")[0] == stage and one.n_buffers]
    return max((1 - one.n_free / one.n_buffers for one in found), default=None)


def _boards(boards: Sequence[Board]) -> dict[str, Any]:
    """The boards in columns, because hundreds of them may be sent twice a second."""
    return {
        "number": [board.number for board in boards],
        "came": [board.came for board in boards],
        "lost": [board.lost for board in boards],
        "states": list(STATES),
        "state": [STATES.index(board.state) for board in boards],
    }


def _member(seen: Seen) -> dict[str, Any]:
    """A node of a farm, with the counts from which the page computes rates."""
    member, page = seen.member, seen.page
    counters = page.counters if page else {}
    builder, readout = counters.get("builder", {}), counters.get("readout", {})
    return {
        "rank": member.rank,
        "machine": member.machine,
        "page": member.page,
        "state": seen.state,
        "cause": member.cause,
        "packets": builder.get("meps_complete", 0) + builder.get("meps_incomplete", 0),
        "incomplete": builder.get("meps_incomplete", 0),
        "bytes_built": builder.get("bytes_built", 0),
        "parts_sent": readout.get("mfps_sent", 0),
        "busy": max((one.busy_1s for one in page.threads), default=None) if page else None,
    }


def _found(look: RunSample) -> dict[str, Any] | None:
    assert look.node is not None
    found = look.view.found(look.node.counters) if look.view else None
    return (
        None
        if found is None
        else {
            "about": found.about,
            "labels": list(found.labels),
            "counts": list(found.counts),
        }
    )
