# SPDX-License-Identifier: Apache-2.0
"""The ledger of the NA62 RICH chain accounts for packets, fragments, hits, events and decisions."""

from collections.abc import Iterator

from anello.account.ledger import Counters, Ledger, Loss, Reader, Row, publish_rows

from .board_ledger import DISOWNED, SAME_TIME, BoardView, Sequences, intake_rows
from .card_ledger import CardView, boards_of, card_rows, has_merged


def build_ledger(
    node: Counters,
    source: Counters | None = None,
    *,
    one_host: bool = False,
    by_events: bool = False,
    sequences: Sequences | None = None,
) -> Ledger:
    """Makes the ledger from the counters of a node that has drained and, if known, of the front ends.

    Without the front ends' counters, sequence numbers and markers give the totals. one_host: both ends are on this
    machine, so that no network can lose anything and the kernel must have counted every loss. by_events: the format's
    sequence counts events (mep), not packets (mgp). sequences: the numbers made and received; without them losses are
    only counted.
    """
    if has_merged(node):
        return _card_ledger(node, source, one_host=one_host)
    views = board_views(node, source, one_host=one_host, by_events=by_events, sequences=sequences)
    rows = [row for view in views for row in intake_rows(view)]
    rows += _event_rows(Reader(node), _boards(node))
    rows += decision_rows(Reader(node))
    boards = tuple(view.builder_row() for view in views)
    return Ledger(tuple(rows), boards, tuple(loss for view in views for loss in view.losses()))


def _card_ledger(node: Counters, source: Counters | None, *, one_host: bool) -> Ledger:
    """The ledger when the card merged: the card does not record packet numbers."""
    view = CardView(Reader(node), Reader(source) if source else None, one_host)
    rows = [*card_rows(view), *_built_rows(Reader(node), boards_of(node)), *decision_rows(Reader(node))]
    return Ledger(tuple(rows), losses=tuple(view.losses()))


def board_rows(
    node: Counters, source: Counters | None = None, *, one_host: bool = False, by_events: bool = False
) -> Iterator[Row]:
    """Rows for each board of a node: packets, fragments and hits, up to the stage build."""
    for view in board_views(node, source, one_host=one_host, by_events=by_events):
        yield from intake_rows(view)


def board_views(
    node: Counters,
    source: Counters | None = None,
    *,
    one_host: bool,
    by_events: bool,
    sequences: Sequences | None = None,
) -> list[BoardView]:
    """Views of the boards; the arguments are those of build_ledger."""
    known = sequences or Sequences()
    return [
        BoardView(
            Reader(node), Reader(source) if source else None, board, one_host, by_events, known.of(board, by_events)
        )
        for board in _boards(node)
    ]


def losses_by_now(node: Counters, source: Counters | None, *, by_events: bool) -> Iterator[Loss]:
    """Losses so far in a run: gaps in the boards' numbers, minus what front ends withheld. Late packets may close
    them."""
    if has_merged(node):
        yield from CardView(Reader(node), None, one_host=False).losses()
        return
    for view in board_views(node, source, one_host=False, by_events=by_events):
        yield from view.losses_by_now()


def _boards(node: Counters) -> list[int]:
    prefix = "receive.board"
    numbers = [block.removeprefix(prefix) for block in node if block.startswith(prefix)]
    return sorted(int(number) for number in numbers if number.isdigit())


# --- Events and decisions -----------------------------------------------------------------------------------------
def _event_rows(node: Reader, boards: list[int]) -> Iterator[Row]:
    def built(name: str) -> int:
        return node("build", name)

    yield node.row(
        "hits",
        "placed, all boards",
        sum(node(f"receive.board{board}", "hits") for board in boards),
        [
            ("taken by the builder", built("hits_in")),
            ("overwritten", sum(node(f"receive.board{board}", "overwritten_hits") for board in boards)),
        ],
    )
    yield node.row(
        "fragments",
        "taken by the builder",
        built("fragments_in"),
        [
            ("merged", built("fragments_merged")),
            ("late", built("fragments_late")),
            ("far ahead of the others", built("fragments_ahead")),
            (SAME_TIME, built("fragments_duplicate")),
            (DISOWNED, built("fragments_disowned")),
        ],
    )
    yield node.row(
        "hits",
        "taken by the builder",
        built("hits_in"),
        [
            ("in events", built("hits_merged")),
            ("of late fragments", built("hits_late")),
            ("of fragments far ahead", built("hits_ahead")),
            ("of duplicate fragments", built("hits_duplicate")),
            (DISOWNED, built("hits_disowned")),
            ("beyond a batch", built("hits_truncated")),
            ("of rejected events", built("hits_rejected")),
        ],
    )
    yield from _built_rows(node, boards)


def _built_rows(node: Reader, boards: list[int]) -> Iterator[Row]:
    """Rows of built events, for both the merger and the card."""

    def built(name: str) -> int:
        return node("build", name)

    yield node.row(
        "fragments",
        f"events built x {len(boards)} boards",
        built("events_built") * len(boards),
        [
            ("merged", built("fragments_merged")),
            *((f"missing, board {board}", node(f"build.board{board}", "missing")) for board in boards),
        ],
    )
    yield node.row(
        "events",
        "built",
        built("events_built"),
        [("complete", built("events_complete")), ("incomplete", built("events_incomplete"))],
    )
    yield node.row(
        "events",
        "built",
        built("events_built"),
        [("decided", node("trigger", "events")), ("rejected, incomplete", built("events_rejected"))],
    )
    yield node.row(
        "hits",
        "in events",
        built("hits_merged"),
        [
            ("in time", node("trigger", "hits_in_time")),
            ("out of time", node("trigger", "hits_out_of_time")),
            ("of unknown PMTs", node("trigger", "hits_unknown")),
            ("of events passed without a look", node("trigger", "hits_passed")),
        ],
    )


RINGS = (
    ("without a ring", "events_with_0_rings"),
    ("one ring", "events_with_1_ring"),
    ("two rings", "events_with_2_rings"),
    ("three rings", "events_with_3_rings"),
    ("four rings", "events_with_4_rings"),
    ("more rings", "events_with_more_rings"),
    ("passed without a look", "events_passed"),
)

EFFORTS = (
    ("as configured", "events_in_full"),
    ("by a cheaper finder, being late", "events_cheaper"),
    ("passed without a look, being later", "events_passed"),
)


def decision_rows(node: Reader, publisher: str = "publish") -> Iterator[Row]:
    """Rows from decisions to primitives, to the file and to subscribers of this publisher."""
    decided = node("trigger", "events")
    yield node.row("decisions", "decided", decided, [(label, node("trigger", name)) for label, name in RINGS])
    yield node.row("decisions", "decided", decided, [(label, node("trigger", name)) for label, name in EFFORTS])
    if "emit" in node.counters:
        yield from _emit_rows(node)
    if "emit" in node.counters and "listener" in node.counters:
        yield from _listener_rows(node)
    if publisher in node.counters:
        yield from publish_rows(node, "batches decided", node("trigger", "batches"), publisher)
    if "store" in node.counters:
        yield from _store_rows(node)


def _store_rows(node: Reader) -> Iterator[Row]:
    def stored(name: str) -> int:
        return node("store", name)

    yield node.row("decisions", "decided", node("trigger", "events"), [("given to the file", stored("events_seen"))])
    yield node.row(
        "decisions",
        "given to the file",
        stored("events_seen"),
        [
            ("stored", stored("events_stored")),
            ("left out by prescale", stored("events_not_selected")),
            ("lost by an error of the file", stored("events_lost")),
        ],
    )


def _emit_rows(node: Reader) -> Iterator[Row]:
    def emitted(name: str) -> int:
        return node("emit", name)

    yield node.row(
        "decisions", "primitives", node("trigger", "primitives"), [("given to the emitter", emitted("primitives_in"))]
    )
    yield node.row(
        "decisions",
        "primitives given to the emitter",
        emitted("primitives_in"),
        [
            ("emitted", emitted("primitives")),
            ("late", emitted("primitives_late")),
            ("frame full", emitted("primitives_overflow")),
            ("invalid id", emitted("primitives_invalid")),
        ],
    )
    yield node.row(
        "frames",
        "written",
        emitted("frames"),
        [("sent", emitted("frames_sent")), ("refused by the system", emitted("frames_lost"))],
    )


def _listener_rows(node: Reader) -> Iterator[Row]:
    """Rows of the node's own listener. A frame that it received must be correct; a frame not received was still
    sent."""
    sent, came, right = node("emit", "frames_sent"), node("listener", "datagrams"), node("listener", "frames")
    problem = "" if came == right else f"{came - right} frames were heard and are wrong"
    yield node.row(
        "frames",
        "sent",
        sent,
        [("heard and right", right), ("heard and wrong", came - right), ("not heard", sent - came)],
        problem,
    )
    emitted, heard = node("emit", "primitives"), node("listener", "primitives")
    all_came = right == sent == node("emit", "frames")
    yield node.row(
        "decisions",
        "primitives emitted",
        emitted,
        [("heard", heard), ("in frames not heard", 0 if all_came else emitted - heard)],
    )
