# SPDX-License-Identifier: Apache-2.0
"""A run of the camera chain in numbers, for summary.json, terminal and report."""

from dataclasses import asdict
from typing import Any

from anello.account.ledger import numbered, total
from anello.account.record import CounterDict
from anello.report.summary import in_percent

from ..account.boards import outvoted_boards, silent_boards, slow_boards
from ..account.losses import KERNEL_DROPPED, MAX_NAMED_BOARDS, losses, never_came, node_losses
from ..account.record import CameraRecord


def results(record: CameraRecord) -> dict[str, Any]:
    """The chain's own part of summary.json."""
    return {
        "rates": rates(record),
        "losses": losses(record.node) | never_came(record.node),
        "node_losses": node_losses(record.node),
        "complete": share(record.node, "join", "events_complete", "events_out"),
        "kept": share(record.node, "filter", "events_kept", "events_in"),
        "filter": _filter(record),
        "calibration": _calibration(record.node),
        "compression": _compression(record.node),
        "r1_files": _r1_files(record.node),
        "boards": {
            "silent": silent_boards(record.node),
            "slow": slow_boards(record.node, record.states),
            "out_of_step": outvoted_boards(record.states),
        },
    }


def _filter(record: CameraRecord) -> dict[str, Any] | None:
    """The filter's result compared with the simulation's truth, from the sampled events."""
    by_truth = record.kept_by_truth()
    return None if by_truth is None else {"showers": asdict(by_truth.showers), "noise": asdict(by_truth.noise)}


def _calibration(node: CounterDict) -> dict[str, int] | None:
    """Boards of events by the outcome of their calibration (camera_calibrate); None if it was off."""
    return dict(node["calibrate"]) if "calibrate" in node else None


def _r1_files(node: CounterDict) -> list[dict[str, int]] | None:
    """The outcomes of the events of each stream; None if the run wrote no R1v1 files."""
    return [dict(block) for _, block in numbered(node, "r1_writer")] or None


def _compression(node: CounterDict) -> dict[str, float] | None:
    """Compression of the events written or streamed; None if there were none."""
    block = node.get("compress", {})
    if not block.get("bytes_out"):
        return None
    n_in, n_out = block["bytes_in"], block["bytes_out"]
    return {"bytes_in": n_in, "bytes_out": n_out, "ratio": n_in / n_out}


def rates(record: CameraRecord) -> dict[str, float]:
    """Rates per second of the front ends' sending."""
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


def share(node: CounterDict, block: str, part: str, whole: str) -> float | None:
    """The share of a total; None if the total is 0."""
    counters = node.get(block, {})
    return counters.get(part, 0) / counters[whole] if counters.get(whole) else None


def named(boards: list[int]) -> str:
    """The numbers of the first boards, and how many more there are."""
    numbers = ", ".join(str(board) for board in boards[:MAX_NAMED_BOARDS])
    return numbers + (f" and {len(boards) - MAX_NAMED_BOARDS} more" if len(boards) > MAX_NAMED_BOARDS else "")


def headlines(record: CameraRecord) -> list[str]:
    """The run in a few lines, and where to look when the kernel dropped something."""
    rate, result = rates(record), results(record)
    lost = ", ".join(f"{n:,} {words}" for words, n in result["losses"].items())
    complete = f"{in_percent(result['complete'])} complete"
    if result["complete"] == 1 and not record.verdict().is_as_ordered:
        complete = "each of these complete"  # these are only a part of them
    lines = [
        f"{record.n_events:,} events built, {rate['events_per_s']:,.0f} /s, {rate['payload_gbit_per_s']:.2f} Gb/s "
        f"payload, {complete}, {in_percent(result['kept'])} kept",
        *([f"fragments not used: {lost}"] if lost else []),
    ]
    calibration = result["calibration"]
    if calibration:
        n_raw = calibration["boards_in"] - calibration["boards_calibrated"]
        raw = f", {n_raw:,} left as they were sent" if n_raw else ""
        lines.append(f"calibrated: {calibration['boards_calibrated']:,} boards' parts of events{raw}")
    if streams := result["r1_files"]:
        n_files, n_events, n_bytes = (
            sum(one[name] for one in streams) for name in ("files_written", "events_written", "bytes_written")
        )
        lines.append(
            f"R1v1: {n_events:,} events in {n_files:,} files of {len(streams)} streams, {n_bytes * 1e-6:,.1f} MB"
        )
    compression = result["compression"]
    if compression:
        lines.append(f"out: {rate['out_gbit_per_s']:.3f} Gb/s, compressed {compression['ratio']:.2f} times")
    lines += [
        f"{kind.replace('_', ' ')} boards: {named(boards)}" for kind, boards in result["boards"].items() if boards
    ]
    return [*lines, *(["why the kernel drops on this host: anello doctor"] if KERNEL_DROPPED in lost else [])]
