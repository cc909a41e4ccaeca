# SPDX-License-Identifier: Apache-2.0
"""A run of the RICH chain in numbers: what summary, terminal and report repeat."""

from typing import Any

from anello.physics import Share
from anello.record import RunRecord, receive_blocks
from anello.verdict import Flaw, losses_of, publish_flaws, source_flaws


def results(record: RunRecord) -> dict[str, Any]:
    """The chain's own part of summary.json."""
    scores, agreement = record.scores(), record.agreement()
    return {
        "rates": rates(record),
        "losses": losses(record),
        "node_losses": node_losses(record),
        "rings_per_event": rings_per_event(record),
        "quality": scores.as_dict() if scores else None,
        "agreement": _agreement(agreement.near) if agreement else None,
    }


def _agreement(near: Share) -> dict[str, Any]:
    return {"rings_of_reference": near.total, "found": near.n, "share": near.value, "low": near.low, "high": near.high}


def rates(record: RunRecord) -> dict[str, float]:
    """Events and payload per second of beam (bursts without gaps); 0 when no burst ended."""
    n_bytes = sum(block.get("bytes", 0) for block in receive_blocks(record.node).values())
    beam_s = record.beam_s
    return {
        "beam_s": beam_s,
        "events": record.n_events,
        "events_per_s": record.n_events / beam_s if beam_s else 0.0,
        "payload_gbit_per_s": n_bytes * 8e-9 / beam_s if beam_s else 0.0,
    }


LOSSES = {
    "kernel_dropped": "dropped by the kernel",
    "dropped_packets": "dropped, no free buffer",
    "overwritten_packets": "overwritten",
    "lost_sequences": "never came",
    "duplicate_packets": "duplicate",
    "stray_packets": "stray",
    "strangers": "of strangers",
}


def losses(record: RunRecord) -> dict[str, int]:
    """Packets not used, by cause, all boards; causes with none are left out."""
    blocks = receive_blocks(record.node)
    counts = {label: sum(block.get(name, 0) for block in blocks.values()) for name, label in LOSSES.items()}
    for block in blocks:
        for verdict, n in record.node.get(f"{block}.verdict", {}).items():
            if verdict != "ok":
                counts[f"malformed: {verdict}"] = counts.get(f"malformed: {verdict}", 0) + n
    return {label: n for label, n in counts.items() if n}


NODE_LOSSES = {
    "build": {
        "fragments_late": "fragments late",
        "fragments_ahead": "fragments far ahead of the others",
        "events_incomplete": "events incomplete",
        "hits_truncated": "hits beyond a batch",
    },
    "emit": {
        "primitives_late": "primitives late",
        "primitives_overflow": "primitives in a full frame",
        "frames_lost": "frames of primitives refused by the system",
    },
    "store": {"events_lost": "decisions not stored"},
}


def node_losses(record: RunRecord) -> dict[str, int]:
    """What was lost behind the receive stage, by cause; causes with none are left out."""
    counts = {
        label: record.node.get(block, {}).get(name, 0)
        for block, names in NODE_LOSSES.items()
        for name, label in names.items()
    }
    return {label: n for label, n in counts.items() if n}


DROP_POLICIES = ("drop_new", "overwrite_oldest")


def flaws(record: RunRecord) -> list[Flaw]:
    """What is wrong with the run beside the packets that its ledger misses."""
    blocks, config = receive_blocks(record.node), record.config
    dropped = config.receive.policy in DROP_POLICIES
    by_policy = [
        Flaw(f"packets {LOSSES[name]}", sum(block.get(name, 0) for block in blocks.values()), ordered=dropped)
        for name in ("dropped_packets", "overwritten_packets")
    ]
    reordered = any(block.get("packets_reordered_injected") for block in (record.source or {}).values())
    behind = [
        Flaw(label, record.node.get(block, {}).get(name, 0), ordered=name == "fragments_late" and reordered)
        for block, names in NODE_LOSSES.items()
        for name, label in names.items()
        if name != "events_incomplete"
    ]
    asked_s = config.n_bursts * config.source.burst_ms * 1e-3
    found = [*by_policy, *behind, *source_flaws(record.source, asked_s), *publish_flaws(record.node)]
    return [*(flaw for flaw in found if flaw.n != 0), *_incomplete(record, found)]


def _incomplete(record: RunRecord, others: list[Flaw]) -> list[Flaw]:
    """Events without a board's fragment: as configured where nothing but configured losses can have caused them."""
    n = record.node.get("build", {}).get("events_incomplete", 0)
    losses = [flaw for flaw in (*losses_of(record.ledger()), *others) if flaw.n]
    return [Flaw("events incomplete", n, ordered=bool(losses) and all(one.ordered for one in losses))] if n else []


def rings_per_event(record: RunRecord) -> float:
    trigger = record.node.get("trigger", {})
    return trigger.get("rings", 0) / trigger["events"] if trigger.get("events") else 0.0


def headlines(record: RunRecord) -> list[str]:
    """The run in two lines, and where to look when the kernel dropped something."""
    rate, lost_by = rates(record), losses(record)
    not_used = [f"packets not used: {', '.join(f'{n:,} {label}' for label, n in lost_by.items())}"] if lost_by else []
    hint = ["why the kernel drops on this host: anello doctor"] if LOSSES["kernel_dropped"] in lost_by else []
    return [
        f"{record.n_events:,} events decided, {rate['events_per_s']:,.0f} /s of beam, "
        f"{rate['payload_gbit_per_s']:.2f} Gb/s payload, {rings_per_event(record):.2f} rings per event",
        *not_used,
        *hint,
    ]
