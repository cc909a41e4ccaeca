# SPDX-License-Identifier: Apache-2.0
"""Numbers of a run of the RICH chain that summary, terminal and report have in common."""

from collections.abc import Iterator
from typing import Any

from anello.report.share import Share
from anello.report.summary import percent

from ..account.losses import LOSSES, losses, node_losses, payload_bytes
from ..account.record import RichRecord


def results(record: RichRecord) -> dict[str, Any]:
    """The RICH chain's part of summary.json."""
    scores, agreement = record.scores(), record.agreement()
    return {
        "rates": rates(record),
        "losses": losses(record.node),
        "node_losses": node_losses(record.node),
        "rings_per_event": rings_per_event(record),
        "quality": scores.as_dict() if scores else None,
        "agreement": _agreement(agreement.near) if agreement else None,
    }


def _agreement(near: Share) -> dict[str, Any]:
    return {"rings_of_reference": near.total, "found": near.n, "share": near.value, "low": near.low, "high": near.high}


def rates(record: RichRecord) -> dict[str, float]:
    """Events and payload per second of beam (bursts without gaps); 0 when no burst ended."""
    n_bytes = payload_bytes(record.node)
    beam_s = record.beam_s
    return {
        "beam_s": beam_s,
        "events": record.n_events,
        "events_per_s": record.n_events / beam_s if beam_s else 0.0,
        "payload_gbit_per_s": n_bytes * 8e-9 / beam_s if beam_s else 0.0,
    }


def rings_per_event(record: RichRecord) -> float:
    trigger = record.node.get("trigger", {})
    return trigger.get("rings", 0) / trigger["events"] if trigger.get("events") else 0.0


def headlines(record: RichRecord) -> list[str]:
    """Lines about the run: rates, quality and losses, and advice when the kernel dropped datagrams."""
    rate, lost_by = rates(record), losses(record.node)
    not_used = [f"packets not used: {', '.join(f'{n:,} {label}' for label, n in lost_by.items())}"] if lost_by else []
    hint = ["why the kernel drops on this host: anello doctor"] if LOSSES["kernel_dropped"] in lost_by else []
    return [
        f"{record.n_events:,} events decided, {rate['events_per_s']:,.0f} /s of beam, "
        f"{rate['payload_gbit_per_s']:.2f} Gb/s payload, {rings_per_event(record):.2f} rings per event",
        *_quality(record),
        *not_used,
        *hint,
    ]


def _quality(record: RichRecord) -> Iterator[str]:
    scores, agreement = record.scores(), record.agreement()
    if scores:
        one = scores.all_events
        yield (
            f"of the true rings {percent(one.efficiency_5mm)} found within 5 mm, {percent(one.efficiency_10mm)} within "
            f"10 mm; {percent(one.ghosts)} ghosts among those found"
        )
    if agreement:
        near = agreement.near
        yield f"{near.n} of {near.total} reference rings found, {percent(near)}, within 15 mm and 6 mm in radius"
