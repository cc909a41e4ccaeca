# SPDX-License-Identifier: Apache-2.0
"""A run of the camera chain in numbers: what summary, terminal and report repeat."""

from dataclasses import asdict
from typing import Any

from anello.camera.record import CameraRecord, numbered, outvoted_boards, silent_boards, slow_boards, total
from anello.record import CounterDict
from anello.verdict import Flaw, losses_of, publish_flaws, source_flaws

KERNEL_DROPPED = "dropped by the kernel"
LOSSES = {  # block before its number, counter -> words
    ("receive.port", "kernel_dropped"): KERNEL_DROPPED,
    ("receive.port", "blocks_dropped"): "dropped, no free block",
    ("build.group", "fragments_dropped"): "dropped, no free buffer",
    ("build.group", "fragments_late"): "late",
    ("build.group", "fragments_ahead"): "beyond the window",
    ("build.group", "fragments_other_run"): "of another run",
    ("build.group", "fragments_wrong_board"): "of a wrong board",
    ("build.group", "fragments_wrong_size"): "of a wrong size",
    ("build.group", "fragments_duplicate"): "duplicate",
    ("build.group", "strangers"): "of strangers",
}
MAX_NAMED_BOARDS = 8


def results(record: CameraRecord) -> dict[str, Any]:
    """The chain's own part of summary.json."""
    return {
        "rates": rates(record),
        "losses": losses(record.node) | never_came(record.node),
        "node_losses": node_losses(record.node),
        "complete": share(record.node, "join", "events_complete", "events_out"),
        "kept": share(record.node, "filter", "events_kept", "events_in"),
        "filter": _filter(record),
        "compression": _compression(record.node),
        "boards": {
            "silent": silent_boards(record.node),
            "slow": slow_boards(record.node, record.states),
            "out_of_step": outvoted_boards(record.states),
        },
    }


def _filter(record: CameraRecord) -> dict[str, Any] | None:
    """Against the simulation's truth, by the events that were looked at."""
    by_truth = record.kept_by_truth()
    return None if by_truth is None else {"showers": asdict(by_truth.showers), "noise": asdict(by_truth.noise)}


def _compression(node: CounterDict) -> dict[str, float] | None:
    """Of what was written or streamed; None where nothing was."""
    block = node.get("compress", {})
    if not block.get("bytes_out"):
        return None
    n_in, n_out = block["bytes_in"], block["bytes_out"]
    return {"bytes_in": n_in, "bytes_out": n_out, "ratio": n_in / n_out}


def rates(record: CameraRecord) -> dict[str, float]:
    """Per second that the front ends sent."""
    seconds, node = record.sending_s, record.node
    kept = node.get("filter", {}).get("events_kept", record.n_events)
    per_s = 1 / seconds if seconds else 0.0
    return {
        "seconds": seconds,
        "events": record.n_events,
        "events_per_s": record.n_events * per_s,
        "payload_gbit_per_s": total(node, "receive.port", "bytes") * 8e-9 * per_s,
        "kept_per_s": kept * per_s,
        "out_gbit_per_s": node.get("compress", {}).get("bytes_out", 0) * 8e-9 * per_s,
    }


def losses(node: CounterDict) -> dict[str, int]:
    """Datagrams and fragments not used, by cause; causes with none are left out."""
    counts = {words: total(node, prefix, name) for (prefix, name), words in LOSSES.items()}
    for group, _ in numbered(node, "build.group"):
        for verdict, n in node.get(f"receive.group{group}.verdict", {}).items():
            if verdict != "ok":
                counts[f"malformed: {verdict}"] = counts.get(f"malformed: {verdict}", 0) + n
    return {words: n for words, n in counts.items() if n}


def never_came(node: CounterDict) -> dict[str, int]:
    """Gaps in the boards' sequences; while a run goes on they may still close."""
    lost = total(node, "build.board", "lost")
    return {"never came": lost} if lost else {}


DROP_POLICIES = ("drop_new", "overwrite_oldest")


def flaws(record: CameraRecord) -> list[Flaw]:
    """What is wrong with the run beside the fragments that its ledger misses."""
    node, config = record.node, record.config
    dropped = config.receive.policy in DROP_POLICIES
    reordered = any(block.get("packets_reordered_injected") for block in (record.source or {}).values())
    ordered = {"fragments_dropped": dropped, "fragments_late": reordered}
    found = [
        Flaw(f"fragments {words}", total(node, prefix, name), ordered=ordered.get(name, False))
        for (prefix, name), words in LOSSES.items()
        if name in ("blocks_dropped", "fragments_dropped", "fragments_late", "fragments_ahead", "fragments_other_run")
    ]
    behind = [flaw for name, flaw in _behind(record).items() if name != "events_incomplete" and flaw.n]
    asked_s = config.n_events / config.camera_source.rate_hz
    found = [*(flaw for flaw in found if flaw.n), *behind, *source_flaws(record.source, asked_s), *publish_flaws(node)]
    found += [Flaw(f"board {board} fell silent", costs_data=False) for board in silent_boards(node)[:MAX_NAMED_BOARDS]]
    return [*found, *_incomplete(record, found)]


def _behind(record: CameraRecord) -> dict[str, Flaw]:
    return {
        name: Flaw(words, record.node.get(block, {}).get(name, 0), ordered=name in ORDERED_BEHIND)
        for (block, name), words in NODE_LOSSES.items()
    }


def _incomplete(record: CameraRecord, others: list[Flaw]) -> list[Flaw]:
    """Events without a board's fragment: as configured where nothing but configured losses can have caused them."""
    n = record.node.get("join", {}).get("events_incomplete", 0)
    losses = [flaw for flaw in (*losses_of(record.ledger()), *others) if flaw.n]
    return [Flaw("events incomplete", n, ordered=bool(losses) and all(one.ordered for one in losses))] if n else []


ORDERED_BEHIND = ("dropped_queue_full", "dropped_not_connected")  # the stream to a receiver never waits, as documented
NODE_LOSSES = {
    ("join", "events_incomplete"): "events incomplete",
    ("join", "parts_late"): "parts of events late",
    ("compress", "events_failed"): "events without a record",
    ("camera_store", "events_lost"): "events not stored",
    ("camera_stream", "dropped_queue_full"): "events not streamed, the receiver is slow",
    ("camera_stream", "dropped_not_connected"): "events not streamed, nobody received",
    ("camera_stream", "lost_disconnected"): "events lost with a connection",
    ("camera_stream", "lost_at_end"): "events not streamed by the end",
}


def node_losses(node: CounterDict) -> dict[str, int]:
    """What was lost behind the receive stage, by cause; causes with none are left out."""
    counts = {words: node.get(block, {}).get(name, 0) for (block, name), words in NODE_LOSSES.items()}
    return {words: n for words, n in counts.items() if n}


def share(node: CounterDict, block: str, part: str, whole: str) -> float | None:
    """None where there is nothing to take a share of."""
    counters = node.get(block, {})
    return counters.get(part, 0) / counters[whole] if counters.get(whole) else None


def in_percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.4g} %"


def named(boards: list[int]) -> str:
    """Their numbers, and how many more there are."""
    numbers = ", ".join(str(board) for board in boards[:MAX_NAMED_BOARDS])
    return numbers + (f" and {len(boards) - MAX_NAMED_BOARDS} more" if len(boards) > MAX_NAMED_BOARDS else "")


def headlines(record: CameraRecord) -> list[str]:
    """The run in a few lines, and where to look when the kernel dropped something."""
    rate, result = rates(record), results(record)
    lost = ", ".join(f"{n:,} {words}" for words, n in result["losses"].items())
    complete = f"{in_percent(result['complete'])} complete"
    if result["complete"] == 1 and not record.verdict().is_as_ordered:
        complete = "each of these complete"  # which is not the whole truth
    lines = [
        f"{record.n_events:,} events built, {rate['events_per_s']:,.0f} /s, {rate['payload_gbit_per_s']:.2f} Gb/s "
        f"payload, {complete}, {in_percent(result['kept'])} kept",
        *([f"fragments not used: {lost}"] if lost else []),
    ]
    compression = result["compression"]
    if compression:
        lines.append(f"out: {rate['out_gbit_per_s']:.3f} Gb/s, compressed {compression['ratio']:.2f} times")
    lines += [
        f"{kind.replace('_', ' ')} boards: {named(boards)}" for kind, boards in result["boards"].items() if boards
    ]
    return [*lines, *(["why the kernel drops on this host: anello doctor"] if KERNEL_DROPPED in lost else [])]
