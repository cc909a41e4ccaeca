# SPDX-License-Identifier: Apache-2.0
"""The losses of a run of the RICH chain, by cause, from its counters."""

from anello.account.ledger import Counters, Ledger, count_of
from anello.account.verdict import (
    DROP_POLICIES,
    Flaw,
    Word,
    effort_flaws,
    incomplete_flaws,
    is_reordered,
    losses_of,
    publish_flaws,
    source_flaws,
)

from ..configuration.config import RichConfig
from .board_ledger import CONFLICTING as CONFLICTING_PACKETS
from .board_ledger import SAME_TIME
from .card_ledger import card_losses, has_merged
from .ledger import losses_by_now


def receive_blocks(node: Counters) -> Counters:
    """The blocks `receive.board<i>`, by name."""
    prefix = "receive.board"
    return {
        name: block for name, block in node.items() if name.startswith(prefix) and name.removeprefix(prefix).isdigit()
    }


LOSSES = {
    "kernel_dropped": "dropped by the kernel",
    "dropped_packets": "dropped, no free buffer",
    "overwritten_packets": "overwritten",
    "lost_sequences": "never came",
    "duplicate_packets": "duplicate",
    "conflicting_packets": CONFLICTING_PACKETS,
    "stray_packets": "stray",
    "strangers": "of strangers",
}


def bursts_ended(node: Counters) -> int:
    """Number of bursts that ended, from the board that has seen most ends."""
    if has_merged(node):
        return node.get("build", {}).get("bursts_out", 0)
    return max((block.get("bursts_ended", 0) for block in receive_blocks(node).values()), default=0)


def payload_bytes(node: Counters) -> int:
    """Bytes of all datagrams; when the card merges, of all frames that it received."""
    if has_merged(node):
        return node["nanet"].get("payload_bytes", 0)
    return sum(block.get("bytes", 0) for block in receive_blocks(node).values())


def losses(node: Counters) -> dict[str, int]:
    """Packets of all boards that were not used, by cause; causes without packets are left out."""
    if has_merged(node):
        return card_losses(node)
    blocks = receive_blocks(node)
    counts = {label: sum(block.get(name, 0) for block in blocks.values()) for name, label in LOSSES.items()}
    refused = node.get("nanet", {}).get("refused", 0)  # subset of the packets that the backend counts as dropped
    counts[LOSSES["kernel_dropped"]] = max(counts[LOSSES["kernel_dropped"]] - refused, 0)
    counts["refused by the card"] = refused
    for block in blocks:
        for verdict, n in node.get(f"{block}.verdict", {}).items():
            if verdict != "ok":
                counts[f"malformed: {verdict}"] = counts.get(f"malformed: {verdict}", 0) + n
    return {label: n for label, n in counts.items() if n}


NODE_LOSSES = {
    "build": {
        "fragments_late": "fragments late",
        "fragments_ahead": "fragments far ahead of the others",
        "fragments_duplicate": f"fragments {SAME_TIME}",
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


def node_losses(node: Counters) -> dict[str, int]:
    """Losses after the stage receive, by cause; causes without losses are left out."""
    counts = {
        label: count_of(node, block, name) for block, names in NODE_LOSSES.items() for name, label in names.items()
    }
    return {label: n for label, n in counts.items() if n}


APART = ("events_incomplete", "fragments_duplicate")  # where these are flaws, other causes report them


def of_same_time(node: Counters, source: Counters | None) -> int:
    """Fragments with the time of the one before. If the card merged, this leaves out repeats that front ends made on
    purpose, because the card does not know packets by number."""
    repeated = (block.get("fragments_duplicated_injected", 0) for block in (source or {}).values())
    n = node.get("build", {}).get("fragments_duplicate", 0)
    return max(n - sum(repeated), 0) if has_merged(node) else n


def flaws(node: Counters, source: Counters | None, config: RichConfig, ledger: Ledger) -> list[Flaw]:
    """Everything that is wrong with the run, apart from the packets missing in its ledger."""
    dropped = config.receive.policy in DROP_POLICIES
    reordered = is_reordered(source)
    behind = [
        Flaw(
            label,
            count_of(node, block, name),
            name == "fragments_late" and reordered,
            Word.DEGRADED if name == "hits_truncated" else Word.LOST,
        )
        for block, names in NODE_LOSSES.items()
        for name, label in names.items()
        if name not in APART
    ]
    asked_s = config.n_bursts * config.source.burst_ms * 1e-3
    found = [
        *received_not_used(node, dropped=dropped),
        Flaw(f"fragments {SAME_TIME}", of_same_time(node, source)),
        *behind,
        *source_flaws(source, asked_s),
        *publish_flaws(node),
        *trigger_flaws(node),
    ]
    found += [*card_flaws(node, dropped=dropped), *less_effort(node, config.run.max_degraded_share)]
    n_incomplete = node.get("build", {}).get("events_incomplete", 0)
    return [*(flaw for flaw in found if flaw.n != 0), *incomplete_flaws(n_incomplete, ledger, found)]


def received_not_used(node: Counters, *, dropped: bool = False) -> list[Flaw]:
    """Packets that came and were set aside. dropped: the configuration says to drop what there is no room for."""
    ordered = {"dropped_packets": dropped, "overwritten_packets": dropped, "conflicting_packets": False}
    counts = {name: sum(block.get(name, 0) for block in receive_blocks(node).values()) for name in ordered}
    return [Flaw(f"packets {LOSSES[name]}", n, ordered=ordered[name]) for name, n in counts.items() if n]


def flaws_by_now(node: Counters, source: Counters | None, config: RichConfig) -> list[Flaw]:
    """Flaws of a run that has not ended."""
    gaps = Ledger((), losses=tuple(losses_by_now(node, source, by_events=config.source.format == "mep")))
    return [*losses_of(gaps), *flaws(node, source, config, gaps)]


LESS_EFFORT = {"events_passed": "events passed without a look", "events_cheaper": "events decided by a cheaper finder"}


def less_effort(node: Counters, most_share: float) -> list[Flaw]:
    trigger = node.get("trigger", {})
    with_less = {words: trigger.get(name, 0) for name, words in LESS_EFFORT.items()}
    return effort_flaws(trigger.get("events", 0), with_less, most_share)


def card_flaws(node: Counters, *, dropped: bool) -> list[Flaw]:
    """Flaws of the network card's model, if the run has one."""
    card, merger = node.get("nanet", {}), node.get("nanet.merge", {})
    return [
        Flaw("packets dropped, the merger's store was full", merger.get("packets_dropped", 0), ordered=dropped),
        Flaw("records of the card that are no events", merger.get("records_malformed", 0)),
        Flaw("times that the card's model did not answer", card.get("unanswered", 0)),
        Flaw("frames that the system had joined, not given to the card", card.get("joined_frames", 0)),
    ]


def trigger_flaws(node: Counters) -> list[Flaw]:
    """Batches for which a user's algorithm failed: they continue without rings, their decisions are lost."""
    n = node.get("trigger", {}).get("plugin_failed_batches", 0)
    return [Flaw("batches without rings, the trigger plug-in failed", n)] if n else []
