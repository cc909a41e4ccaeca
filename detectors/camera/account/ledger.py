# SPDX-License-Identifier: Apache-2.0
"""The ledger of the camera chain: datagrams, fragments and events, for hundreds of boards.

Each board has its own rows (Ledger.boards). The display shows their sums, and the few boards that stand out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from anello.account.identity import (
    CAUSES,
    COUNTED,
    ORDERED,
    CameByBoard,
    ListedAsCame,
    ListedAsMade,
    MadeByBoard,
    Matched,
    ReceivedNumbers,
    SentNumbers,
    matched,
    size,
)
from anello.account.ledger import (
    NEVER_SEEN,
    TAKEN_FOR_STRANGERS,
    UNEXPLAINED,
    Counters,
    Ledger,
    Loss,
    Part,
    Reader,
    Row,
    dropped_datagrams,
    front_ends_in,
    numbered,
    possible_causes,
    publish_rows,
    taken_for_strangers,
)

MAX_SHOWN_BOARDS = 5
ENDED = 2  # build.board<b>.state: its run has ended, so that its markers have announced everything

# Where a fragment that reached the builder can end: counter of the board, of the group ("fragments_" before), words.
OUTCOMES = (
    ("placed", "placed"),
    ("duplicate", "duplicate"),
    ("late", "late"),
    ("ahead", "beyond the window"),
    ("other_run", "of another run"),
    ("dropped", "dropped, no free buffer"),
)

# Outcomes of events that are given to a stream: words, counter.
STREAMED = (
    ("sent", "events_sent"),
    ("dropped, the receiver is slow", "dropped_queue_full"),
    ("dropped, nobody received", "dropped_not_connected"),
    ("lost with a connection", "lost_disconnected"),
    ("not sent by the end", "lost_at_end"),
)


def build_camera_ledger(
    node: Counters,
    source: Counters | None = None,
    *,
    groups: Sequence[range],
    one_host: bool = False,
    made: MadeByBoard | None = None,
    came: CameByBoard | None = None,
) -> Ledger:
    """Builds the ledger from the counters of a drained node and, if known, of all processes of the front ends.

    groups: the boards of each builder.
    Without the front ends' counters, their totals come from the end-of-run markers. one_host: both ends run on this
    machine, so that no network can lose a datagram and the kernel must have counted every loss. made, came: the
    numbers that were made and those that arrived (CameraSource.sequences, CameraNode.sequences); without them
    losses are only counted.
    """
    boards = _Boards(node, source, groups, made or {}, came or {})
    whole = boards.whole(one_host)
    rows = (*boards.sums(), *boards.shown(), *whole.rows())
    return Ledger(rows, tuple(boards.all_rows()), tuple(boards.losses(whole.why_never_came)))


# --- A node of a farm: its boards before the exchange, whole events after it ---------------------------------------
def farm_node_rows(node: Counters) -> Iterator[Row]:
    """Rows of one node, whose page also has the counters of its front ends; no rows if it has no camera."""
    reader = Reader(node)
    if "pack" in node:
        boards, whole = _boards_of_farm_node(node)
        yield from boards.sums()
        yield from (row for row in boards.all_rows() if row.problem)  # a sum cannot show it
        yield from whole.intake_rows()
        yield from _pack_rows(reader)
    if "unpack" in node:
        yield from _unpack_rows(reader)
        yield from _Whole(reader, None, [], [], one_host=False).output_rows("unpack")


def farm_board_losses(node: Counters) -> Iterator[Loss]:
    boards, whole = _boards_of_farm_node(node)
    return boards.losses(whole.why_never_came)


def _boards_of_farm_node(node: Counters) -> tuple["_Boards", "_Whole"]:
    numbers = [number for number, _ in numbered(node, "build.board")]
    source = front_ends_in(node)
    boards = _Boards(node, source, [range(numbers[0], numbers[-1] + 1)], {}, {})
    return boards, boards.whole(one_host=source is not None)


def _pack_rows(node: Reader) -> Iterator[Row]:
    def packed(name: str) -> int:
        return node("pack", name)

    parts = packed("parts_in")
    yield node.row("parts", "handed on by the builder", node("build.group0", "events_out"), [("taken", parts)])
    yield node.row(
        "parts",
        "taken",
        parts,
        [
            ("packed", packed("parts_packed")),
            ("of another run", packed("parts_other_run")),
            ("before the first packet", packed("parts_before_start")),
            ("after the last packet", packed("parts_after_end")),
            ("left, no room by the end", packed("parts_left")),
        ],
    )


def _unpack_rows(node: Reader) -> Iterator[Row]:
    def found(name: str) -> int:
        return node("unpack", name)

    handed_on = node("builder", "meps_complete") + node("builder", "meps_incomplete")
    yield node.row("MEPs", "handed to the camera", handed_on, [("taken", found("meps"))])
    yield node.row(
        "events", "places in MEPs", found("places"), [("joined", found("events_out")), ("empty", found("places_empty"))]
    )
    yield node.row(
        "parts",
        "in MEPs",
        found("parts_in"),
        [
            ("joined", found("parts_joined")),
            ("malformed", found("parts_malformed")),
            ("of other boards, events or runs", found("parts_of_other")),
        ],
    )
    yield node.row(
        "events",
        "joined",
        found("events_out"),
        [("complete", found("events_complete")), ("incomplete", found("events_incomplete"))],
    )


class _Boards:
    """The rows of each board, and their sums."""

    def __init__(
        self,
        node: Counters,
        source: Counters | None,
        groups: Sequence[range],
        made: MadeByBoard,
        came: CameByBoard,
    ) -> None:
        self._node, self._source, self._groups = node, source, groups
        self._boards = [
            _Board(
                Reader(node), Reader(source) if source else None, number, _matched(made.get(number), came.get(number))
            )
            for group in groups
            for number in group
        ]
        self._rows = [list(board.rows()) for board in self._boards]

    def sums(self) -> list[Row]:
        return [_sum_of(rows) for rows in zip(*self._rows, strict=True)]

    def shown(self) -> Iterator[Row]:
        return _shown(self._boards, self._rows)

    def losses(self, why_never_came: str) -> Iterator[Loss]:
        return (loss for board in self._boards for loss in board.losses(why_never_came))

    def all_rows(self) -> Iterator[Row]:
        return (row for rows in self._rows for row in rows)

    def whole(self, one_host: bool) -> "_Whole":
        source = Reader(self._source) if self._source else None
        return _Whole(Reader(self._node), source, self._boards, self._groups, one_host)


def _matched(made: ListedAsMade | None, came: ListedAsCame | None) -> Matched | None:
    if made is None or came is None:
        return None
    return matched(SentNumbers.of(made), ReceivedNumbers.of(came).in_one_epoch())


def _sum_of(rows: Iterable[Row]) -> Row:
    """Adds up the same row of all boards. A board's errors are in its own row."""
    rows = list(rows)
    parts: dict[str, int] = {}
    for row in rows:
        for label, value in row.parts:
            parts[label] = parts.get(label, 0) + value
    name = rows[0].name.partition(": ")[2]
    return Row(rows[0].level, f"all boards: {name}", sum(row.total for row in rows), tuple(parts.items()))


def _shown(boards: list["_Board"], rows_of_boards: list[list[Row]]) -> Iterator[Row]:
    """A few of the boards that do not balance, and of those that sent far less than the others."""
    off = [row for rows in rows_of_boards for row in rows if not row.balanced]
    yield from off[:MAX_SHOWN_BOARDS]
    not_placed = [board.n_not_placed for board in boards]
    mean = sum(not_placed) / max(len(boards), 1)
    by_loss = sorted(range(len(boards)), key=lambda index: not_placed[index], reverse=True)
    for index in by_loss[: MAX_SHOWN_BOARDS - len(off[:MAX_SHOWN_BOARDS])]:
        row = rows_of_boards[index][-1]
        if not_placed[index] > 2 * mean and row.balanced:
            yield row


# --- One board ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Board:
    """The counters of one board, in the node and in its front end."""

    reader: Reader
    source_reader: Reader | None
    number: int
    numbers: Matched | None = None  # the fragments known by number

    def built(self, name: str) -> int:
        return self.reader(f"build.board{self.number}", name)

    def sent(self, name: str) -> int:
        return self.source_reader(f"source.board{self.number}", name) if self.source_reader else 0

    @property
    def has_ended(self) -> bool:
        return self.built("state") == ENDED

    @property
    def n_placed(self) -> int:
        """Fragments placed, without those that came from another address before the board's own was known."""
        return self.built("placed") - self.built("disowned")

    @property
    def n_arrived(self) -> int:
        """Fragments that arrived, each sequence number once."""
        return sum(self.built(name) for name, _ in OUTCOMES if name != "duplicate") - self.built("disowned")

    @property
    def n_lost(self) -> int:
        """Gaps in its sequence. Without an end of the run, fragments sent after the last received one are not known."""
        return self.built("lost")

    @property
    def n_not_placed(self) -> int:
        return self.n_never_came + self.n_arrived - self.built("placed") + sum(self.withheld.values())

    def row(self, level: str, name: str, total: int, parts: list[Part], problem: str = "") -> Row:
        if self.source_reader:
            self.reader.missing += self.source_reader.missing
            self.source_reader.missing = []
        return self.reader.row(level, f"board {self.number}: {name}", total, parts, problem)

    # --- By number ------------------------------------------------------------------------------------------------
    @cached_property
    def withheld(self) -> dict[str, int]:
        """Fragments that did not arrive because of the front end, by cause."""
        if self.numbers:
            return {cause: self.numbers.n(cause) for cause in CAUSES}
        return {cause: self.sent(f"fragments_{name}") for cause, name in COUNTED.items()}

    @cached_property
    def n_never_came(self) -> int:
        """Fragments sent whole and not received. A fragment of another run is received, but its number is not known."""
        if not self.source_reader:
            return self.n_lost
        if self.numbers:
            return size(self.numbers.never_came)
        return self.sent("fragments") - self.n_seen - sum(self.withheld.values())

    @property
    def n_seen(self) -> int:
        return self.n_arrived - self.built("other_run")

    def losses(self, words: str) -> Iterator[Loss]:
        """words: the label for fragments that never arrived."""
        where = f"board {self.number}"
        for cause, n in self.withheld.items() if self.source_reader else ():
            which = self.numbers.causes[cause] if self.numbers else ()
            if n:
                yield Loss("fragments", cause, n, cause in ORDERED, where, which)
        if self.n_never_came:
            which = self.numbers.never_came if self.numbers else ()
            yield Loss("fragments", words, self.n_never_came, False, where, which)

    # --- Rows -----------------------------------------------------------------------------------------------------
    def rows(self) -> Iterator[Row]:
        if self.source_reader:
            yield from self._source_rows()
        arrived = [(words, self.built(name)) for name, words in OUTCOMES if name not in ("duplicate", "placed")]
        arrived = [("placed", self.n_placed), *arrived]
        total = self.built("announced")
        if not self.has_ended:  # the board still sends, or ended without an end marker
            total = self.n_arrived + self.n_lost
        yield self.row("fragments", "on their way", total, [*arrived, ("never came", self.n_lost)])

    def _source_rows(self) -> Iterator[Row]:
        refused = sum(self.sent(f"send_{reason}") for reason in ("refused", "no_buffers", "failed"))
        yield self.row(
            "datagrams",
            "to be sent",
            self.sent("fragments") + self.sent("burst_markers") + self.sent("fragments_duplicated_injected"),
            [
                ("sent", self.sent("datagrams_sent")),
                ("refused by the sender's system", refused),
                ("lost on purpose", self.sent("fragments_lost_injected")),
                ("board dead", self.sent("fragments_dead_board")),
            ],
        )
        made, announced = self.sent("fragments"), self.built("announced")
        untold = 0 if self.has_ended else made - announced
        yield self.row(
            "fragments", "made, by its markers", made, [("announced", announced), ("no end-of-run marker came", untold)]
        )
        seen = [("placed", self.n_placed)]
        seen += [(words, self.built(name)) for name, words in OUTCOMES if name in ("late", "ahead", "dropped")]
        strange = (size(self.numbers.never_made), size(self.numbers.never_sent)) if self.numbers else (0, 0)
        problem = f"{sum(strange)} fragments came that the board never sent" if sum(strange) else ""
        causes = [*self.withheld.items(), ("sent whole, never came", self.n_never_came)]
        yield self.row("fragments", "made", made + strange[0], [*seen, *causes], problem)


# --- All of it ----------------------------------------------------------------------------------------------------
class _Whole:
    """The rows of ports, groups of boards, and the later stages."""

    def __init__(
        self, node: Reader, source: Reader | None, boards: list[_Board], groups: Sequence[range], one_host: bool
    ) -> None:
        self._node, self._source, self._boards, self._groups = node, source, boards, groups
        self._one_host = one_host

    def rows(self) -> Iterator[Row]:
        yield from self.intake_rows()
        yield from self._join_rows()
        yield from self.output_rows("join")

    def intake_rows(self) -> Iterator[Row]:
        """Rows up to the parts that each group's builder hands on."""
        yield from self._lost_rows()
        yield self._port_row()
        for group, boards in enumerate(self._groups):
            yield from self._group_rows(group, boards)

    def output_rows(self, joiner: str) -> Iterator[Row]:
        """Rows after the block that counts joined events."""
        yield from self._send_rows(joiner)
        if "filter" in self._node.counters:
            yield from self._filter_rows()
        yield from self._output_rows()
        yield from publish_rows(self._node, "events kept", self._node("send", "events_kept"))

    def _ports(self, name: str) -> int:
        return self._sum("receive.port", name)

    def _sum(self, prefix: str, name: str) -> int:
        """Sum of a counter over the blocks that are the prefix and a number."""
        blocks = [block for block in self._node.counters if block.startswith(prefix)]
        return sum(self._node(block, name) for block in blocks if block.removeprefix(prefix).isdigit())

    def _all_groups(self, name: str) -> int:
        return self._sum("build.group", name)

    @property
    def _malformed(self) -> int:
        return sum(value for group in range(len(self._groups)) for _, value in self._malformed_of(group))

    def _malformed_of(self, group: int) -> list[Part]:
        verdicts = self._node.counters.get(f"receive.group{group}.verdict", {})
        return [(f"malformed: {name}", int(value)) for name, value in verdicts.items() if name != "ok"]

    def _sent(self, name: str) -> int:
        if not self._source:
            return 0
        return sum(self._source(f"source.board{board.number}", name) for board in self._boards)

    # The sender of a datagram that is no valid fragment is not known: these causes are counted for all boards together.
    @cached_property
    def _rubbish(self) -> int:
        """Malformed datagrams beyond those that the front ends damaged on purpose: the front ends did not send them."""
        spoilt = self._sent("fragments_truncated_injected") + self._sent("fragments_corrupted_injected")
        return max(self._malformed - spoilt, 0)

    @cached_property
    def _received(self) -> int:
        """Received datagrams that the front ends may have sent."""
        return self._ports("datagrams") - self._rubbish - self._strangers

    @cached_property
    def _strangers(self) -> int:
        """Datagrams from other addresses than the boards' own; a few may have been counted as such by mistake."""
        placed = sum(self._board(board.number, "disowned") for board in self._boards)
        return self._all_groups("strangers") + placed - self._mistaken

    @cached_property
    def _mistaken(self) -> int:
        return sum(self._board(board.number, "mistaken_strangers") for board in self._boards)

    @cached_property
    def _kernel_dropped(self) -> int:
        gone = self._sent("datagrams_sent") - self._received
        return dropped_datagrams(self._ports("kernel_dropped"), gone, joined=self._ports("super_packets") > 0)

    @cached_property
    def _taken_for_strangers(self) -> int:
        gone = self._sent("datagrams_sent") - self._received - self._kernel_dropped
        return taken_for_strangers(gone, self._all_groups("strangers") - self._mistaken)

    @cached_property
    def _unexplained(self) -> int:
        """Datagrams that the front ends' kernel took, and that neither arrived nor were dropped or refused here."""
        return self._sent("datagrams_sent") - self._received - self._kernel_dropped - self._taken_for_strangers

    @property
    def _n_of_others(self) -> int:
        """Upper bound on the recognizable datagrams sent by others."""
        again = self._all_groups("fragments_duplicate") - self._sent("fragments_duplicated_injected")
        strange = sum(self._all_groups(f"fragments_{name}") for name in ("wrong_board", "wrong_size", "other_run"))
        return self._rubbish + self._strangers + max(again, 0) + strange

    @property
    def _n_never_came(self) -> int:
        return sum(board.n_never_came for board in self._boards)

    @cached_property
    def why_never_came(self) -> str:
        """Text: counted causes that explain missing fragments, and the number that no counter explains."""
        counted = [
            ("dropped by the kernel", self._kernel_dropped if self._source else self._ports("kernel_dropped")),
            (TAKEN_FOR_STRANGERS, self._mistaken + self._taken_for_strangers),
            ("malformed", self._rubbish),
            ("of another run", self._all_groups("fragments_other_run")),
            ("of a wrong board", self._all_groups("fragments_wrong_board")),
            ("of a wrong size", self._all_groups("fragments_wrong_size")),
            ("dropped, no free block", self._ports("blocks_dropped")),
        ]
        rest = not self._source or self._unexplained > 0
        return possible_causes(self._n_never_came, counted, UNEXPLAINED if self._one_host else NEVER_SEEN, rest=rest)

    def _lost_rows(self) -> Iterator[Row]:
        if self._source:
            yield self._sent_row(self._source)
        n, problem = self._n_never_came, ""
        if n and self._source and UNEXPLAINED in self.why_never_came:
            problem = f"{n} fragments were sent on this host and never came: {self.why_never_came}"
        if n:
            yield self._row("fragments", "all boards: never came", n, [(self.why_never_came, n)], problem)

    def _sent_row(self, source: Reader) -> Row:
        """The row of datagrams. More may arrive than were sent if other programs send to the ports, too."""
        sent, rest, problem = self._sent("datagrams_sent"), self._unexplained, ""
        parts = [("received", self._received), ("dropped by the kernel", self._kernel_dropped)]
        if self._taken_for_strangers:
            parts.append((TAKEN_FOR_STRANGERS, self._taken_for_strangers))
        if rest < 0:
            problem = "" if -rest <= self._n_of_others else f"{-rest} more came than the front ends sent"
            return self._row("datagrams", "sent, and received from others", sent - rest, parts, problem)
        if rest and self._one_host:
            problem = f"{rest} datagrams were sent on this host, did not arrive, and were not dropped by the kernel"
        rest_words = UNEXPLAINED if self._one_host else NEVER_SEEN
        return self._row("datagrams", "sent", sent, [*parts, (rest_words, rest)], problem)

    def _row(self, level: str, name: str, total: int, parts: list[Part], problem: str = "") -> Row:
        if self._source:
            self._node.missing += self._source.missing
            self._source.missing = []
        return self._node.row(level, name, total, parts, problem)

    def _port_row(self) -> Row:
        return self._node.row(
            "datagrams",
            "received",
            self._ports("datagrams"),
            [
                ("given to the builders", self._all_groups("datagrams")),
                ("dropped, no free block", self._ports("blocks_dropped")),
            ],
        )

    def _group_rows(self, group: int, boards: range) -> Iterator[Row]:
        def built(name: str) -> int:
            return self._node(f"build.group{group}", name)

        def row(level: str, name: str, total: int, parts: list[Part]) -> Row:
            return self._node.row(level, f"group {group}: {name}" if len(self._groups) > 1 else name, total, parts)

        yield row(
            "datagrams",
            "given to the builder",
            built("datagrams"),
            [
                ("fragments", built("fragments_in")),
                ("markers", built("markers")),
                ("of strangers", built("strangers")),
                *self._malformed_of(group),
            ],
        )
        yield row(
            "datagrams",
            "of strangers",
            built("strangers"),
            [("by board", sum(self._board(board, "strangers") for board in boards))],
        )
        of_known = [(words, built(f"fragments_{name}")) for name, words in OUTCOMES]
        yield row(
            "fragments",
            "right",
            built("fragments_in"),
            [
                *of_known,
                ("of a wrong board", built("fragments_wrong_board")),
                ("of a wrong size", built("fragments_wrong_size")),
            ],
        )
        of_boards = [(words, sum(self._board(board, name) for board in boards)) for name, words in OUTCOMES]
        yield row("fragments", "of known boards", sum(value for _, value in of_known), of_boards)
        ends = ("complete", "timeout", "pushed_out", "run_ended")
        yield row(
            "events",
            "handed on",
            built("events_out"),
            [(end.replace("_", " "), built(f"events_{end}")) for end in ends],
        )
        yield row(
            "fragments",
            f"events x {len(boards)} boards",
            built("events_out") * len(boards),
            [("placed", built("fragments_placed")), ("missing", built("fragments_missing"))],
        )
        yield row(
            "fragments",
            "missing",
            built("fragments_missing"),
            [("by board", sum(self._board(board, "missing") for board in boards))],
        )

    def _board(self, board: int, name: str) -> int:
        return self._node(f"build.board{board}", name)

    def _join_rows(self) -> Iterator[Row]:
        def joined(name: str) -> int:
            return self._node("join", name)

        parts: list[Part] = [("joined", joined("parts_joined")), ("late", joined("parts_late"))]
        yield self._node.row("parts", "handed on by the builders", self._all_groups("events_out"), parts)
        yield self._node.row("parts", "taken", joined("parts_in"), parts)
        if len(self._groups) == 1:
            yield self._node.row("events", "joined", joined("events_out"), parts[:1])
        yield self._node.row(
            "fragments",
            "placed",
            self._all_groups("fragments_placed"),
            [("in joined events", joined("fragments")), ("in late parts", joined("fragments_late"))],
        )
        yield self._node.row(
            "events",
            "joined",
            joined("events_out"),
            [("complete", joined("events_complete")), ("incomplete", joined("events_incomplete"))],
        )

    def _send_rows(self, joiner: str) -> Iterator[Row]:
        def sent(name: str) -> int:
            return self._node("send", name)

        yield self._node.row(
            "events", "joined", self._node(joiner, "events_out"), [("given to the sending stage", sent("events_in"))]
        )
        yield self._node.row(
            "events",
            "given to the sending stage",
            sent("events_in"),
            [("kept", sent("events_kept")), ("rejected by the filter", sent("events_filtered"))],
        )

    def _filter_rows(self) -> Iterator[Row]:
        def filtered(name: str) -> int:
            return self._node("filter", name)

        given = self._node("send", "events_in")
        yield self._node.row(
            "events", "given to the sending stage", given, [("judged by the filter", filtered("events_in"))]
        )
        kept = self._node("send", "events_kept")
        yield self._node.row("events", "kept", kept, [("let pass by the filter", filtered("events_kept"))])
        yield self._node.row(
            "events",
            "given to the filter",
            filtered("events_in"),
            [("kept", filtered("events_kept")), ("rejected", filtered("events_rejected"))],
        )
        yield self._node.row(
            "events",
            "kept",
            filtered("events_kept"),
            [
                ("by signal", filtered("kept_by_signal")),
                ("without a filter", filtered("kept_unfiltered")),
                ("by fraction", filtered("kept_by_fraction")),
                ("by prescale", filtered("kept_by_prescale")),
                ("incomplete", filtered("kept_incomplete")),
                ("calibration", filtered("kept_calibration")),
            ],
        )
        yield self._node.row(
            "events",
            "rejected",
            filtered("events_rejected"),
            [("without signal", filtered("rejected_no_signal")), ("incomplete", filtered("rejected_incomplete"))],
        )

    def _output_rows(self) -> Iterator[Row]:
        """Rows of the kept events, if they are written, streamed or published."""
        if "compress" in self._node.counters:
            yield self._output_row(
                "kept",
                ("send", "events_kept"),
                "compress",
                (("compressed", "events_encoded"), ("could not be compressed", "events_failed")),
            )
        if "camera_store" in self._node.counters:
            yield self._output_row(
                "compressed", ("compress", "events_encoded"), "camera_store", (("given to the file", "events_seen"),)
            )
            yield self._output_row(
                "given to the file",
                ("camera_store", "events_seen"),
                "camera_store",
                (("stored", "events_stored"), ("lost by an error of the file", "events_lost")),
            )
        if "camera_stream" in self._node.counters:
            yield self._output_row(
                "compressed", ("compress", "events_encoded"), "camera_stream", (("given to the stream", "events_in"),)
            )
            yield self._output_row(
                "given to the stream",
                ("camera_stream", "events_in"),
                "camera_stream",
                STREAMED,
            )

        if "r1_stream0" in self._node.counters:
            yield from self._r1_rows()

    def _r1_rows(self) -> Iterator[Row]:
        """Rows of the R1v1 files that are written during the run: of all streams together, and of all writers."""

        def row(name: str, total: int, prefix: str, parts: tuple[tuple[str, str], ...]) -> Row:
            return self._node.row("events", name, total, [(words, self._sum(prefix, one)) for words, one in parts])

        yield row(
            "compressed",
            self._node("compress", "events_encoded"),
            "r1_stream",
            (("given to R1v1 streams", "events_in"),),
        )
        yield row("given to R1v1 streams", self._sum("r1_stream", "events_in"), "r1_stream", STREAMED)
        yield row(
            "sent to writers of R1v1 files",
            self._sum("r1_stream", "events_sent"),
            "r1_writer",
            (("taken", "events_in"), ("not taken by one that died", "events_never_taken")),
        )
        yield row(
            "taken by writers of R1v1 files",
            self._sum("r1_writer", "events_in"),
            "r1_writer",
            (
                ("in R1v1 files", "events_written"),
                ("of another camera or shape", "events_refused"),
                ("lost by an error of the file", "events_lost"),
                ("lost with a writer", "events_lost_with_writer"),
            ),
        )

    def _output_row(self, name: str, total: tuple[str, str], block: str, parts: tuple[tuple[str, str], ...]) -> Row:
        """total and parts: (block or words, counter)."""
        values = [(words, self._node(block, counter)) for words, counter in parts]
        return self._node.row("events", name, self._node(*total), values)
