# SPDX-License-Identifier: Apache-2.0
"""The ledger of the NA62 RICH chain: packets, fragments, hits, events, decisions."""

from collections.abc import Iterator
from dataclasses import dataclass

from anello.ledger import Counters, Ledger, Part, Reader, Row, publish_rows


def build_ledger(
    node: Counters, source: Counters | None = None, *, one_host: bool = False, by_events: bool = False
) -> Ledger:
    """From the counters of a node that has drained and, where known, of the front ends.

    Without the front ends' counters their totals come from the burst markers. one_host: both ends stand on this
    machine, so that no network can lose anything and every loss must have been counted by the kernel. by_events: the
    format's sequence counts events (mep), not packets (mgp).
    """
    rows = list(board_rows(node, source, one_host=one_host, by_events=by_events))
    rows += _event_rows(Reader(node), _boards(node))
    rows += decision_rows(Reader(node))
    return Ledger(tuple(rows))


def board_rows(
    node: Counters, source: Counters | None = None, *, one_host: bool = False, by_events: bool = False
) -> Iterator[Row]:
    """Of each board that a node receives: packets, fragments and hits, up to the stage build."""
    for board in _boards(node):
        view = _BoardView(Reader(node), Reader(source) if source else None, board)
        yield from _source_rows(view, by_events)
        yield _lost_row(view, one_host, by_events)
        yield _received_row(view)
        yield from _placed_rows(view, by_events)


def _boards(node: Counters) -> list[int]:
    prefix = "receive.board"
    numbers = [block.removeprefix(prefix) for block in node if block.startswith(prefix)]
    return sorted(int(number) for number in numbers if number.isdigit())


# --- One board: packets, fragments, hits --------------------------------------------------------------------------
@dataclass(frozen=True)
class _BoardView:
    """The counters of one board, of the node and of its front end."""

    reader: Reader
    source_reader: Reader | None
    board: int

    def got(self, name: str) -> int:
        return self.reader(f"receive.board{self.board}", name)

    def built(self, name: str) -> int:
        return self.reader(f"build.board{self.board}", name)

    def sent(self, name: str) -> int:
        return self.source_reader(f"source.board{self.board}", name) if self.source_reader else 0

    def n_own(self, level: str) -> int:
        """Placed, without what came before the board's own address was known."""
        return self.got(level) - self.got(f"disowned_{level}")

    @property
    def malformed(self) -> list[Part]:
        verdicts = self.reader.counters.get(f"receive.board{self.board}.verdict", {})
        return [(f"malformed: {name}", int(value)) for name, value in verdicts.items() if name != "ok"]

    @property
    def lost_any(self) -> bool:
        return bool(self.got("lost_sequences") or self.got("before_joining"))

    def row(self, level: str, name: str, total: int, parts: list[Part], problem: str = "") -> Row:
        if self.source_reader and self.source_reader.missing:
            self.reader.missing += self.source_reader.missing
            self.source_reader.missing = []
        return self.reader.row(level, f"board {self.board}: {name}", total, parts, problem)


def _source_rows(view: _BoardView, by_events: bool) -> Iterator[Row]:
    """What the front end made is what its markers announced, but for what it made after it fell silent.

    Where the sequence counts events, nothing announces packets, and each burst ends with an event of its own.
    """
    if not view.source_reader:
        return
    for level in ("fragments",) if by_events else ("packets", "fragments"):
        made, announced = view.sent(level), view.got(f"announced_{level}")
        if by_events:
            announced -= view.got("bursts_ended")
        dead = view.sent(f"{level}_dead_board") and made - announced
        yield view.row(level, "made", made, [("announced", announced), ("board dead, never announced", dead)])


def _lost_row(view: _BoardView, one_host: bool, by_events: bool) -> Row:
    """What was announced, and where the packets went that never came."""
    level = "fragments" if by_events else "packets"
    arrived: list[Part] = (
        [("arrived", view.got("distinct_sequences"))]
        if by_events
        else [("placed", view.n_own("packets")), ("dropped, no free buffer", view.got("dropped_packets"))]
    )
    causes = [("lost on purpose", view.sent(f"{level}_lost_injected"))]
    rest = view.got("lost_sequences") - causes[0][1]
    for label, most in _uncertain_causes(view, by_events):
        part = min(most, max(rest, 0))
        causes.append((label, part))
        rest -= part
    kernel, problem = view.got("kernel_dropped"), ""
    if one_host and rest > 0 and not kernel:
        problem = f"{rest} {level} were sent on this host and did not arrive, and the kernel dropped none"
    by_kernel = rest if one_host else min(kernel, max(rest, 0))
    causes += [("dropped by the kernel", by_kernel), ("lost in the network", rest - by_kernel)]
    causes += [("sent before the node joined", view.got("before_joining"))]
    return view.row(level, "announced", view.got(f"announced_{level}"), arrived + causes, problem)


def _uncertain_causes(view: _BoardView, by_events: bool) -> list[Part]:
    """Causes of which an upper bound is known. Whoever sends rubbish to a port adds to the malformed, and a datagram
    that the front end could not send may have been a marker. Where the sequence counts events, a malformed packet
    takes an unknown number of them along."""
    unusable = sum(value for _, value in view.malformed) + view.got("stray_packets")
    refused = sum(view.sent(f"send_{reason}") for reason in ("refused", "no_buffers", "failed"))
    mistaken = ("taken for a stranger's", view.got("mistaken_strangers"))
    if by_events:
        spoilt = view.got("lost_sequences") if unusable else 0
        return [
            mistaken,
            ("malformed or stray", spoilt),
            ("refused by the sender's system", view.sent("fragments_not_sent")),
        ]
    if view.source_reader:
        on_purpose = view.sent("packets_truncated_injected") + view.sent("packets_corrupted_injected")
        unusable = min(unusable, on_purpose)
    return [mistaken, ("malformed or stray", unusable), ("refused by the sender's system", refused)]


def _received_row(view: _BoardView) -> Row:
    return view.row(
        "packets", "received", view.got("datagrams"),
        [("placed", view.got("packets")), ("burst markers", view.got("markers")),
         ("duplicate", view.got("duplicate_packets")), ("dropped, no free buffer", view.got("dropped_packets")),
         ("stray", view.got("stray_packets")), ("of strangers", view.got("strangers")), *view.malformed],
    )  # fmt: skip


def _placed_rows(view: _BoardView, by_events: bool) -> Iterator[Row]:
    for level in ("fragments", "hits"):
        arrived = [("placed", view.n_own(level)), ("dropped, no free buffer", view.got(f"dropped_{level}"))]
        if by_events and level == "hits":  # no packet of this format tells how many hits were sent
            if not view.source_reader:
                continue
            announced = view.sent("hits")
        else:
            announced = view.got(f"announced_{level}")
        in_lost_packets = announced - sum(value for _, value in arrived) if view.lost_any else 0
        yield view.row(level, "announced", announced, [*arrived, ("in packets that never came", in_lost_packets)])
    yield view.row(
        "fragments", "placed", view.got("fragments"),
        [("taken by the builder", view.built("fragments_in")), ("overwritten", view.got("overwritten_fragments"))],
    )  # fmt: skip


# --- Events and decisions -----------------------------------------------------------------------------------------
def _event_rows(node: Reader, boards: list[int]) -> Iterator[Row]:
    def built(name: str) -> int:
        return node("build", name)

    yield node.row(
        "hits", "placed, all boards", sum(node(f"receive.board{board}", "hits") for board in boards),
        [("taken by the builder", built("hits_in")),
         ("overwritten", sum(node(f"receive.board{board}", "overwritten_hits") for board in boards))],
    )  # fmt: skip
    yield node.row(
        "fragments", "taken by the builder", built("fragments_in"),
        [("merged", built("fragments_merged")), ("late", built("fragments_late")),
         ("duplicate", built("fragments_duplicate"))],
    )  # fmt: skip
    yield node.row(
        "fragments", f"events built x {len(boards)} boards", built("events_built") * len(boards),
        [("merged", built("fragments_merged")),
         *((f"missing, board {board}", node(f"build.board{board}", "missing")) for board in boards)],
    )  # fmt: skip
    yield node.row(
        "hits", "taken by the builder", built("hits_in"),
        [("in events", built("hits_merged")), ("of late fragments", built("hits_late")),
         ("of duplicate fragments", built("hits_duplicate")), ("beyond a batch", built("hits_truncated")),
         ("of rejected events", built("hits_rejected"))],
    )  # fmt: skip
    yield node.row(
        "events", "built", built("events_built"),
        [("complete", built("events_complete")), ("incomplete", built("events_incomplete"))],
    )  # fmt: skip
    yield node.row(
        "events", "built", built("events_built"),
        [("decided", node("trigger", "events")), ("rejected, incomplete", built("events_rejected"))],
    )  # fmt: skip
    yield node.row(
        "hits", "in events", built("hits_merged"),
        [("in time", node("trigger", "hits_in_time")), ("out of time", node("trigger", "hits_out_of_time")),
         ("of unknown PMTs", node("trigger", "hits_unknown"))],
    )  # fmt: skip


RINGS = (
    ("without a ring", "events_with_0_rings"), ("one ring", "events_with_1_ring"),
    ("two rings", "events_with_2_rings"), ("three rings", "events_with_3_rings"),
    ("four rings", "events_with_4_rings"), ("more rings", "events_with_more_rings"),
)  # fmt: skip


def decision_rows(node: Reader) -> Iterator[Row]:
    """From decisions to primitives, and to the file."""
    decided = node("trigger", "events")
    yield node.row("decisions", "decided", decided, [(label, node("trigger", name)) for label, name in RINGS])
    if "emit" in node.counters:
        yield from _emit_rows(node)
    if "emit" in node.counters and "listener" in node.counters:
        yield from _listener_rows(node)

    if "publish" in node.counters:
        yield from publish_rows(node, "batches decided", node("trigger", "batches"))
    if "store" in node.counters:
        yield from _store_rows(node)


def _store_rows(node: Reader) -> Iterator[Row]:
    def stored(name: str) -> int:
        return node("store", name)

    yield node.row("decisions", "decided", node("trigger", "events"), [("given to the file", stored("events_seen"))])
    yield node.row(
        "decisions", "given to the file", stored("events_seen"),
        [("stored", stored("events_stored")), ("left out by prescale", stored("events_not_selected")),
         ("lost by an error of the file", stored("events_lost"))],
    )  # fmt: skip


def _emit_rows(node: Reader) -> Iterator[Row]:
    def emitted(name: str) -> int:
        return node("emit", name)

    yield node.row(
        "decisions", "primitives", node("trigger", "primitives"), [("given to the emitter", emitted("primitives_in"))]
    )
    yield node.row(
        "decisions", "primitives given to the emitter", emitted("primitives_in"),
        [("emitted", emitted("primitives")), ("late", emitted("primitives_late")),
         ("frame full", emitted("primitives_overflow")), ("invalid id", emitted("primitives_invalid"))],
    )  # fmt: skip
    yield node.row(
        "frames", "written", emitted("frames"),
        [("sent", emitted("frames_sent")), ("refused by the system", emitted("frames_lost"))],
    )  # fmt: skip


def _listener_rows(node: Reader) -> Iterator[Row]:
    """Our own listener. A frame that came must be right; one that did not come was sent all the same."""
    sent, came, right = node("emit", "frames_sent"), node("listener", "datagrams"), node("listener", "frames")
    problem = "" if came == right else f"{came - right} frames were heard and are wrong"
    yield node.row(
        "frames", "sent", sent,
        [("heard and right", right), ("heard and wrong", came - right), ("not heard", sent - came)], problem,
    )  # fmt: skip
    emitted, heard = node("emit", "primitives"), node("listener", "primitives")
    all_came = right == sent == node("emit", "frames")
    yield node.row(
        "decisions", "primitives emitted", emitted,
        [("heard", heard), ("in frames not heard", 0 if all_came else emitted - heard)],
    )  # fmt: skip
