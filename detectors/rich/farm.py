# SPDX-License-Identifier: Apache-2.0
"""The RICH's rows in the ledger of a farm: from front ends to frames, and from frames to decisions."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from anello.account.ledger import Counters, Loss, Reader, Row, front_ends_in
from anello.account.verdict import Flaw, publish_flaws
from anello.exchange.account.detector_part import DetectorPart, ExchangeLosses

from .account.board_ledger import DISOWNED, SAME_TIME
from .account.ledger import board_rows, board_views, decision_rows, losses_by_now
from .account.losses import less_effort, received_not_used, trigger_flaws

PUBLISHER = "publish.decisions"  # "publish" would be built events, before the decision
NOT_FRAMED = {
    "fragments_beyond_burst": "beyond their burst", "fragments_of_unknown_burst": "of an unknown burst",
    "fragments_before_start": "before this node's start", "fragments_after_end": "after the end",
    "fragments_no_room": "no room in their packet", "fragments_left": "left at the end",
}  # fmt: skip
NEVER_FRAMED = ("fragments_beyond_burst", "fragments_of_unknown_burst", "fragments_no_room", "fragments_left")


class RichPart(DetectorPart):
    """The RICH's part of a node: from front ends to frames, and from frames to decisions."""

    packs: ClassVar = {"framer": "framed"}
    causes: ClassVar = {
        ("build", "fragments_late"): "fragments late",
        ("build", "fragments_ahead"): "fragments far ahead of the others",
        **{(block, "fragments_duplicate"): f"fragments {SAME_TIME}" for block in ("build", "merge")},
        **{("framer", name): f"fragments {NOT_FRAMED[name]}" for name in NEVER_FRAMED},
        ("merge.mep", "frames_malformed"): "frames malformed",
        ("merge.mep", "frames_wrong_checksum"): "frames with a wrong checksum",
        ("merge.mep", "fragments_wrong"): "fragments of frames wrong",
        ("merge.mep", "fragments_no_room"): "fragments of frames without room",
        ("merge", "events_incomplete"): "events incomplete",
        ("merge", "hits_truncated"): "hits beyond a batch",
        ("emit", "primitives_late"): "primitives late",
        ("emit", "primitives_overflow"): "primitives in a full frame",
        ("emit", "frames_lost"): "frames of primitives refused by the system",
        ("store", "events_lost"): "decisions not stored",
    }

    def rows_of_node(self, counters: Counters) -> Iterator[Row]:
        if "framer" in counters:
            source = front_ends_in(counters)
            yield from board_rows(counters, source, one_host=source is not None)
            yield from _framer_rows(Reader(counters))
        if "merge" in counters:
            yield from _merger_rows(Reader(counters))
            yield from decision_rows(Reader(counters), PUBLISHER)

    def board_losses(self, counters: Counters, *, by_now: bool) -> Iterator[Loss]:
        if "framer" not in counters:
            return
        source = front_ends_in(counters)
        if by_now:
            yield from losses_by_now(counters, source, by_events=False)
            return
        for view in board_views(counters, source, one_host=source is not None, by_events=False):
            yield from view.losses()

    def flaws(self, counters: Counters, most_degraded_share: float) -> list[Flaw]:
        less = less_effort(counters, most_degraded_share)
        unused = received_not_used(counters)
        return [*unused, *publish_flaws(counters, PUBLISHER), *trigger_flaws(counters), *less]

    def rows_of_farm(self, nodes: Sequence[Counters], gone: ExchangeLosses) -> Iterator[Row]:
        return farm_rows(nodes, gone.nodes or gone.mfps)


def _framer_rows(reader: Reader) -> Iterator[Row]:
    taken = reader("build", "fragments_merged")
    yield reader.row(
        "fragments", "taken by the builder", reader("build", "fragments_in"),
        [("to frames", taken), ("late", reader("build", "fragments_late")),
         ("far ahead of the others", reader("build", "fragments_ahead")),
         (SAME_TIME, reader("build", "fragments_duplicate")), (DISOWNED, reader("build", "fragments_disowned"))],
    )  # fmt: skip
    causes = [(words, reader("framer", name)) for name, words in NOT_FRAMED.items()]
    yield reader.row("fragments", "to frames", taken, [("in MFPs", reader("framer", "fragments")), *causes])


def _merger_rows(reader: Reader) -> Iterator[Row]:
    def merged(name: str) -> int:
        return reader("merge", name)

    for level in ("fragments", "hits"):
        own = merged(f"{level}_merged") - reader("merge.mep", f"{level}_from_next")
        parts = [("in events", own), ("in events of the packet before", reader("merge.mep", f"{level}_to_previous")),
                 (SAME_TIME, merged(f"{level}_duplicate"))]  # fmt: skip
        if level == "hits":
            parts += [("beyond a batch", merged("hits_truncated")), ("of rejected events", merged("hits_rejected"))]
        yield reader.row(level, "in MEPs", merged(f"{level}_in"), parts)
    yield reader.row(
        "events", "built", merged("events_built"),
        [("decided", reader("trigger", "events")), ("rejected, incomplete", merged("events_rejected"))],
    )  # fmt: skip


def farm_rows(nodes: Sequence[Counters], lost_mfps: bool) -> Iterator[Row]:
    """lost_mfps: some MFPs did not reach a builder that lived to the end, or nodes are gone. Nothing counts the
    fragments in these MFPs, so there is no row for them; the MFPs have their own rows."""
    if not any("framer" in node for node in nodes) or not any("merge" in node for node in nodes):
        return
    framed = sum(node.get("framer", {}).get("fragments", 0) for node in nodes)
    blocks = [node.get("merge.mep", {}) for node in nodes]
    came = sum(block.get("fragments_in", 0) for block in blocks)
    left_out = [(words, sum(block.get(name, 0) for block in blocks))
                for name, words in (("fragments_wrong", "wrong"), ("fragments_no_room", "no room"))]  # fmt: skip
    spoilt = any(block.get("frames_malformed", 0) or block.get("frames_wrong_checksum", 0) for block in blocks)
    if not (lost_mfps or spoilt):
        yield Reader({}).row("fragments", "in MFPs, all nodes", framed, [("in MEPs", came), *left_out])
    to_previous, from_next = (sum(block.get(f"fragments_{name}", 0) for block in blocks)
                              for name in ("to_previous", "from_next"))  # fmt: skip
    unsure = sum(block.get("edges_unsure", 0) for block in blocks)
    problem = ""
    if to_previous != from_next and not (lost_mfps or spoilt or unsure):
        problem = f"{to_previous} were left to the packet before, and {from_next} taken from the next"
    yield Row("fragments", "across packets' edges", from_next, (("taken", from_next),), problem)
