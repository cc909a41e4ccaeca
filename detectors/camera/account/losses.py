# SPDX-License-Identifier: Apache-2.0
"""What a run of the camera chain lost, by cause, from its counters."""

from collections.abc import Iterator

from anello.account.identity import COUNTED
from anello.account.ledger import Counters, Ledger, Loss, count_of, losses_by_now, numbered, total, unheard
from anello.account.verdict import (
    DROP_POLICIES,
    Flaw,
    Word,
    incomplete_flaws,
    is_reordered,
    losses_of,
    publish_flaws,
    source_flaws,
)

from ..configuration.config import CameraConfig
from .boards import silent_boards

MAX_NAMED_BOARDS = 8
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
    ("build.group", "fragments_conflicting"): "of an event number that their board had sent, with other content",
    ("build.group", "strangers"): "of strangers",
}


FLAWS = (
    "blocks_dropped",
    "fragments_dropped",
    "fragments_late",
    "fragments_ahead",
    "fragments_other_run",
    "fragments_conflicting",
)


def losses(node: Counters) -> dict[str, int]:
    """Datagrams and fragments not used, by cause; causes with none are left out."""
    counts = {words: total(node, prefix, name) for (prefix, name), words in LOSSES.items()}
    for group, _ in numbered(node, "build.group"):
        for verdict, n in node.get(f"receive.group{group}.verdict", {}).items():
            if verdict != "ok":
                counts[f"malformed: {verdict}"] = counts.get(f"malformed: {verdict}", 0) + n
    return {words: n for words, n in counts.items() if n}


def never_came(node: Counters) -> dict[str, int]:
    """Gaps in the boards' sequences; during a run they may still close."""
    lost = total(node, "build.board", "lost")
    return {"never came": lost} if lost else {}


def flaws_by_now(node: Counters, source: Counters | None, config: CameraConfig) -> list[Flaw]:
    """The flaws of a run that has not ended."""
    gaps = Ledger((), losses=tuple(board_losses_by_now(node, source)))
    return [*losses_of(gaps), *flaws(node, source, config, gaps)]


def board_losses_by_now(node: Counters, source: Counters | None) -> Iterator[Loss]:
    """Gaps in the boards' numbers, without what the front ends withheld."""
    for board, block in numbered(node, "build.board"):
        sent = (source or {}).get(f"source.board{board}", {})
        withheld = {cause: sent.get(f"fragments_{name}", 0) for cause, name in COUNTED.items()}
        yield from losses_by_now("fragments", board, block.get("lost", 0), withheld, "never came")
        heard = block.get("placed", 0) + block.get("dropped", 0) + block.get("announced", 0)
        yield from unheard(board, heard, block.get("strangers", 0))
    if dropped := total(node, "receive.port", "kernel_dropped"):  # before the next fragment shows the gap
        yield Loss("datagrams", KERNEL_DROPPED, dropped)


def flaws(node: Counters, source: Counters | None, config: CameraConfig, ledger: Ledger) -> list[Flaw]:
    """The run's problems, apart from the fragments missing in its ledger."""
    dropped = config.receive.policy in DROP_POLICIES
    ordered = {"fragments_dropped": dropped, "fragments_late": is_reordered(source)}
    found = [Flaw(words, n, ordered=ordered.get(name, False)) for name, words, n in received_not_used(node)]
    behind = [flaw for name, flaw in _behind(node).items() if name != "events_incomplete" and flaw.n]
    behind += [Flaw(words, n) for words, n in r1_losses(node).items()]
    if n_died := total(node, "r1_writer", "died"):
        behind.append(Flaw("writers of R1v1 files died", n_died, word=Word.GOOD))
    asked_s = config.n_events / config.camera_source.rate_hz
    found = [*found, *behind, *source_flaws(source, asked_s), *publish_flaws(node)]
    found += [Flaw(f"board {board} fell silent", word=Word.GOOD) for board in silent_boards(node)[:MAX_NAMED_BOARDS]]
    n_incomplete = node.get("join", {}).get("events_incomplete", 0)
    return [*found, *incomplete_flaws(n_incomplete, ledger, found)]


def received_not_used(node: Counters) -> Iterator[tuple[str, str, int]]:
    """Fragments that came and were set aside: (counter, words, number)."""
    for (prefix, name), words in LOSSES.items():
        if name in FLAWS and (n := total(node, prefix, name)):
            yield name, f"fragments {words}", n


def _behind(node: Counters) -> dict[str, Flaw]:
    return {
        name: Flaw(words, count_of(node, block, name), ordered=name in ORDERED_BEHIND)
        for (block, name), words in NODE_LOSSES.items()
    }


ORDERED_BEHIND = ("dropped_queue_full", "dropped_not_connected")  # the stream to a receiver drops, as it never waits
NODE_LOSSES = {
    ("join", "events_incomplete"): "events incomplete",
    ("join", "parts_late"): "parts of events late",
    ("compress", "events_failed"): "events that could not be compressed",
    ("camera_store", "events_lost"): "events not stored",
    ("camera_store", "boards_misfit"): "boards stored without waveforms, of another shape than camera says",
    ("camera_stream", "dropped_queue_full"): "events not streamed, the receiver is slow",
    ("camera_stream", "dropped_not_connected"): "events not streamed, nobody received",
    ("camera_stream", "lost_disconnected"): "events lost with a connection",
    ("camera_stream", "lost_at_end"): "events not streamed by the end",
}

R1_LOSSES = {  # block before its number, counter -> words
    ("r1_stream", "dropped_queue_full"): "events not in R1v1 files, their writers are slow",
    ("r1_stream", "dropped_not_connected"): "events not in R1v1 files, no writer lives",
    ("r1_stream", "lost_disconnected"): "events not in R1v1 files, on their way to a writer that died",
    ("r1_stream", "lost_at_end"): "events not in R1v1 files, not sent by the end",
    ("r1_writer", "events_refused"): "events not in R1v1 files, of another camera or shape",
    ("r1_writer", "events_lost"): "events not in R1v1 files, an error of the file",
    ("r1_writer", "events_never_taken"): "events not in R1v1 files, not taken by a writer that died",
    ("r1_writer", "events_lost_with_writer"): "events not in R1v1 files, lost with a writer",
    ("r1_writer", "boards_left_out"): "boards left out of R1v1 files, of another kind or shape than those before",
}


def node_losses(node: Counters) -> dict[str, int]:
    """Losses after the receive stage, by cause; causes with none are left out."""
    counts = {words: count_of(node, block, name) for (block, name), words in NODE_LOSSES.items()}
    return {words: n for words, n in counts.items() if n} | r1_losses(node)


def r1_losses(node: Counters) -> dict[str, int]:
    """Events missing in the R1v1 files of the run, by cause; causes with none are left out."""
    counts = {words: total(node, prefix, name) for (prefix, name), words in R1_LOSSES.items()}
    return {words: n for words, n in counts.items() if n}
