# SPDX-License-Identifier: Apache-2.0
"""The ledger, from frames to events in memory, when the network card's model merges events (receive.nanet_merge).

It compares the card's registers with the counters of the front ends, and with the data that the host found in memory.
The card does not record single packets. It counts packets that did not reach its merger by cause; the number of their
fragments is the number made minus the number merged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from anello.account.identity import COUNTED, ORDERED
from anello.account.ledger import NEVER_SEEN, UNEXPLAINED, Counters, Loss, Part, Reader, Row, dropped_datagrams

CARD, MERGER = "nanet", "nanet.merge"
NOT_MERGED = "in packets that did not reach the merger"
REFUSED = {
    "frames_bad_fcs": "with a bad FCS",
    "frames_truncated": "shorter than their headers say",
    "frames_bad_ip_checksum": "with a bad IP checksum",
    "frames_fragment": "parts of fragmented datagrams",
    "frames_overflow": "without room in the payload buffer",
    "frames_bad_udp_checksum": "with a bad UDP checksum",
}


def has_merged(node: Counters) -> bool:
    """True when the card merged the events of this run."""
    return MERGER in node


def boards_of(node: Counters) -> list[int]:
    prefix = "build.board"
    numbers = [block.removeprefix(prefix) for block in node if block.startswith(prefix)]
    return sorted(int(number) for number in numbers if number.isdigit())


def card_losses(node: Counters) -> dict[str, int]:
    """Number of datagrams that did not reach the merger, by cause; causes without datagrams are left out."""
    card, merger = node.get(CARD, {}), node[MERGER]
    counts = {"dropped by the kernel": card.get("socket_dropped", 0)}
    counts |= {f"frames {words}": card.get(name, 0) for name, words in REFUSED.items()}
    counts |= {f"malformed: {words}": n for words, n in _verdicts(merger) if words != "ok"}
    counts["dropped, no room in the merger's store"] = merger.get("packets_dropped", 0)
    return {words: n for words, n in counts.items() if n}


def _verdicts(merger: Mapping[str, int]) -> list[Part]:
    prefix = "datagrams_"
    return [(name.removeprefix(prefix), merger[name]) for name in merger if name.startswith(prefix)]


@dataclass(frozen=True)
class CardView:
    """The counters of a node whose card merges, and of its front ends if they are known."""

    node: Reader
    source: Reader | None
    one_host: bool

    @cached_property
    def boards(self) -> list[int]:
        return boards_of(self.node.counters)

    def card(self, name: str) -> int:
        return self.node(CARD, name)

    def merger(self, name: str) -> int:
        return self.node(MERGER, name)

    def built(self, name: str) -> int:
        return self.node("build", name)

    def sent(self, board: int, name: str) -> int:
        return self.source(f"source.board{board}", name) if self.source else 0

    def row(self, level: str, name: str, total: int, parts: list[Part], problem: str = "") -> Row:
        if self.source and self.source.missing:
            self.node.missing += self.source.missing
            self.source.missing = []
        return self.node.row(level, name, total, parts, problem)

    # --- From front ends to the merger ----------------------------------------------------------------------------
    @cached_property
    def came(self) -> int:
        """Datagrams for this node's ports."""
        return self.card("frames") - self.card("other_frames")

    @cached_property
    def n_sent(self) -> int:
        return sum(self.sent(board, "datagrams_sent") for board in self.boards)

    @cached_property
    def kernel_dropped(self) -> int:
        """Datagrams. With GRO the kernel counts a message of up to 64 as one."""
        return dropped_datagrams(self.card("socket_dropped"), self.n_sent - self.came, joined=True)

    @cached_property
    def unexplained(self) -> int:
        return self.n_sent - self.came - self.kernel_dropped if self.source else 0

    @cached_property
    def n_malformed(self) -> int:
        """Malformed datagrams in excess of those that the front ends spoilt on purpose."""
        n = sum(self.merger(name) for name in self.node.counters[MERGER] if _is_bad_verdict(name))
        names = ("packets_truncated_injected", "packets_corrupted_injected")
        return max(n - sum(self.sent(board, name) for board in self.boards for name in names), 0)

    @cached_property
    def n_lost(self) -> int:
        """Frames and datagrams of the front ends that were received and did not reach the merger, for any cause."""
        refused = sum(self.card(name) for name in REFUSED)
        gone = self.kernel_dropped if self.source else self.card("socket_dropped")
        return refused + self.n_malformed + gone + max(self.unexplained, 0)

    # --- Fragments of a board -------------------------------------------------------------------------------------
    def outcomes(self, board: int) -> list[Part]:
        def of(name: str) -> int:
            return self.node(f"build.board{board}", name)

        events = self.merger("events_complete") + self.merger("events_incomplete")
        return [
            ("merged", events - of("missing")),
            ("late", of("fragments_late")),
            ("far ahead of the others", of("fragments_ahead")),
            ("duplicate", of("fragments_duplicate")),
        ]

    def withheld(self, board: int) -> list[Part]:
        """Fragments that the front end withheld or spoilt."""
        return [(cause, self.sent(board, f"fragments_{name}")) for cause, name in COUNTED.items()]

    def made(self, board: int) -> int:
        """Fragments that the board made; those sent twice count twice."""
        return self.sent(board, "fragments") + self.sent(board, "fragments_duplicated_injected")

    def not_merged(self, board: int) -> int:
        return self.made(board) - sum(n for _, n in (*self.outcomes(board), *self.withheld(board)))

    def losses(self) -> Iterator[Loss]:
        for board in self.boards if self.source else ():
            where = f"board {board}"
            yield from (Loss("fragments", cause, n, cause in ORDERED, where) for cause, n in self.withheld(board) if n)
            if self.n_lost and (n := self.not_merged(board)) > 0:
                yield Loss("fragments", NOT_MERGED, n, where=where)


def _is_bad_verdict(name: str) -> bool:
    return name.startswith("datagrams_") and name != "datagrams_ok"


def card_rows(view: CardView) -> Iterator[Row]:
    """All rows from frames to the batches of events."""
    if view.source:
        yield _sent_row(view)
    yield from _verdict_rows(view)
    if view.source:
        for board in view.boards:
            yield _made_row(view, board)
        yield _hits_row(view)
    yield from _memory_rows(view)


def _sent_row(view: CardView) -> Row:
    rest = view.unexplained
    parts = [("given to the card", view.came), ("dropped by the kernel", view.kernel_dropped)]
    if rest < 0:
        return view.row("datagrams", "sent, and received from others", view.n_sent - rest, parts)
    problem = ""
    if rest and view.one_host:
        problem = f"{rest} datagrams were sent on this host, did not arrive, and were not dropped by the kernel"
    words = UNEXPLAINED if view.one_host else NEVER_SEEN
    return view.row("datagrams", "sent, all boards", view.n_sent, [*parts, (words, rest)], problem)


def _verdict_rows(view: CardView) -> Iterator[Row]:
    names = [name for name in view.node.counters[CARD] if name.startswith("frames_")]
    yield view.row(
        "frames",
        "given to the card",
        view.card("frames"),
        [(name.removeprefix("frames_"), view.card(name)) for name in names],
    )
    names = [name for name in view.node.counters[MERGER] if name.startswith("datagrams_")]
    yield view.row(
        "datagrams",
        "accepted by the card",
        view.card("frames_accepted"),
        [(name.removeprefix("datagrams_"), view.merger(name)) for name in names],
    )


def _made_row(view: CardView, board: int) -> Row:
    parts, can_lack = [*view.outcomes(board), *view.withheld(board)], view.n_lost + view.merger("packets_dropped")
    if can_lack and (rest := view.not_merged(board)) > 0:
        parts.append((NOT_MERGED, rest))
    return view.row("fragments", f"board {board}: made, those sent twice counted twice", view.made(board), parts)


def _hits_row(view: CardView) -> Row:
    """The card counts neither the hits of fragments that it did not merge, nor those of rejected events."""
    made, merged = sum(view.sent(board, "hits") for board in view.boards), view.merger("hits")
    not_merged = sum(view.made(board) - view.outcomes(board)[0][1] for board in view.boards)
    parts = [("in merged events", merged)]
    if merged > made and not_merged:  # a packet arrived twice, the first time late
        return view.row("hits", "made, and sent twice", merged, parts)
    if not_merged or view.merger("events_rejected"):
        parts.append(("of fragments not merged, or rejected", made - merged))
    return view.row("hits", "made, all boards", made, parts)


def _memory_rows(view: CardView) -> Iterator[Row]:
    """The number of events that the card wrote must equal the number read from memory."""
    yield view.row(
        "records",
        "written by the card",
        view.card("records_written"),
        [("read in memory", view.merger("records_read"))],
    )
    rejected = view.merger("events_rejected")
    yield view.row(
        "events",
        "complete, by the card",
        view.merger("events_complete"),
        [("read in memory", view.built("events_complete"))],
    )
    yield view.row(
        "events",
        "incomplete, by the card",
        view.merger("events_incomplete"),
        [("read in memory", view.built("events_incomplete") - rejected), ("rejected", rejected)],
    )
    yield view.row(
        "events", "read in memory", view.merger("events_read"), [("handed on", view.built("events_built") - rejected)]
    )
    yield view.row(
        "events",
        "ends of burst, by the card",
        view.merger("bursts_ended"),
        [("read in memory", view.merger("ends_read"))],
    )
    yield view.row(
        "fragments",
        "merged by the card",
        view.merger("fragments"),
        [("in events", sum(view.outcomes(board)[0][1] for board in view.boards))],
    )
    yield view.row(
        "hits", "in merged events, by the card", view.merger("hits"), [("read in memory", view.merger("hits_read"))]
    )
    yield view.row(
        "hits",
        "read in memory",
        view.merger("hits_read"),
        [("in events", view.built("hits_merged")), ("beyond a batch", view.built("hits_truncated"))],
    )
