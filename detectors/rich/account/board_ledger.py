# SPDX-License-Identifier: Apache-2.0
"""The ledger of one RICH board, from its front end to the stage build.

It has two separate accounts. By number: each packet (mep: event) that was made either arrived, or was withheld by the
front end for a known cause, or was sent completely and never arrived. By datagram: the datagrams that the front end's
system accepted are those that this host's socket delivered, those that its kernel dropped, and an unexplained rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from anello.account.identity import (
    CAUSES,
    COUNTED,
    ORDERED,
    CameByBoard,
    MadeByBoard,
    Matched,
    ReceivedNumbers,
    SentNumbers,
    ends_of_epochs,
    matched,
    size,
)
from anello.account.ledger import (
    NEVER_SEEN,
    TAKEN_FOR_STRANGERS,
    UNEXPLAINED,
    Loss,
    Part,
    Reader,
    Row,
    dropped_datagrams,
    losses_by_now,
    possible_causes,
    taken_for_strangers,
    unheard,
)

NEVER_CAME = "never came"
CONFLICTING = "of a number that had come with other content"
DISOWNED = "of an address that was not the board's"
SAME_TIME = "of the same time as the one before"  # repeated packets are not among them: their numbers show them
MAX_EVENTS = 255  # in one packet of mep


@dataclass(frozen=True)
class Sequences:
    """Numbers of the packets that front ends made, and of those that the node received."""

    made: MadeByBoard = field(default_factory=dict)
    came: CameByBoard = field(default_factory=dict)

    def of(self, board: int, by_events: bool) -> Matched | None:
        """Returns None when one of the two lists is missing or incomplete."""
        if board not in self.made or board not in self.came:
            return None
        made, came = SentNumbers.of(self.made[board]), ReceivedNumbers.of(self.came[board])
        return matched(made, came, ends_of_epochs(made) if by_events else ())


@dataclass(frozen=True)
class BoardView:
    """The counters of one board in the node and in its front end, and its packet numbers as far as they are known."""

    reader: Reader
    source_reader: Reader | None
    board: int
    one_host: bool
    by_events: bool
    numbers: Matched | None

    @property
    def level(self) -> str:
        """Unit that the sequence numbers count: packets or events."""
        return "fragments" if self.by_events else "packets"

    def got(self, name: str) -> int:
        return self.reader(f"receive.board{self.board}", name)

    def built(self, name: str) -> int:
        return self.reader(f"build.board{self.board}", name)

    def builder_row(self) -> Row:
        """Each event either has this board's fragment or lacks it."""
        merged = self.reader("build", "events_built") - self.built("missing")
        return self.row(
            "fragments",
            "taken by the builder",
            self.built("fragments_in"),
            [
                ("merged", merged),
                ("late", self.built("fragments_late")),
                ("far ahead of the others", self.built("fragments_ahead")),
                (SAME_TIME, self.built("fragments_duplicate")),
                (DISOWNED, self.built("fragments_disowned")),
            ],
        )

    def sent(self, name: str) -> int:
        return self.source_reader(f"source.board{self.board}", name) if self.source_reader else 0

    def row(self, level: str, name: str, total: int, parts: list[Part], problem: str = "") -> Row:
        if self.source_reader and self.source_reader.missing:
            self.reader.missing += self.source_reader.missing
            self.source_reader.missing = []
        return self.reader.row(level, f"board {self.board}: {name}", total, parts, problem)

    @cached_property
    def malformed(self) -> list[Part]:
        verdicts = self.reader.counters.get(f"receive.board{self.board}.verdict", {})
        return [(f"malformed: {name}", int(value)) for name, value in verdicts.items() if name != "ok"]

    def n_own(self, level: str) -> int:
        """Number placed in buffers, without those that arrived before the board's address was known."""
        return self.got(level) - self.got(f"disowned_{level}")

    # --- By number ------------------------------------------------------------------------------------------------
    @cached_property
    def withheld(self) -> dict[str, int]:
        """Numbers that did not arrive because the front end withheld them, by cause."""
        if self.numbers:
            return {cause: self.numbers.n(cause) for cause in CAUSES}
        return {cause: self.sent(f"{self.level}_{name}") for cause, name in COUNTED.items()}

    @property
    def arrived(self) -> int:
        """Sequence numbers that arrived, each counted once; for mep without ends of burst, which have numbers, too."""
        if self.by_events:
            return self.got("distinct_sequences") - self.got("bursts_ended")
        return self.n_own("packets") + self.got("dropped_packets")

    @cached_property
    def never_came(self) -> int:
        """Number of packets that were sent completely and never received."""
        if not self.source_reader:
            return self.got("lost_sequences")
        if self.numbers:
            return size(self.numbers.never_came)
        return self.sent(self.level) - self.arrived - sum(self.withheld.values())

    @property
    def lost_any(self) -> bool:
        return bool(self.got("lost_sequences") or self.got("before_joining") or self.never_came)

    # --- By datagram ----------------------------------------------------------------------------------------------
    @cached_property
    def rubbish(self) -> int:
        """Malformed datagrams in excess of those that the front end spoilt on purpose."""
        spoilt = self.sent("packets_truncated_injected") + self.sent("packets_corrupted_injected")
        return max(sum(n for _, n in self.malformed) - spoilt, 0)

    @cached_property
    def received(self) -> int:
        """Datagrams that may have come from the front end."""
        return self.got("datagrams") - self.rubbish - self.strangers

    @cached_property
    def strangers(self) -> int:
        """Datagrams from other addresses than the board's; a few of the board's own may be among them."""
        return self.got("strangers") - self.got("mistaken_strangers") + self.got("disowned_packets")

    @cached_property
    def kernel_dropped(self) -> int:
        """Datagrams. With GRO the kernel counts a message of up to 64 as one."""
        gone = self.sent("datagrams_sent") - self.received
        return dropped_datagrams(self.got("kernel_dropped"), gone, joined=self.got("super_packets") > 0)

    @cached_property
    def taken_for_strangers(self) -> int:
        gone = self.sent("datagrams_sent") - self.received - self.kernel_dropped
        return taken_for_strangers(gone, self.got("strangers") - self.got("mistaken_strangers"))

    @cached_property
    def unexplained(self) -> int:
        """Datagrams that the front end's system accepted, and this host neither received nor dropped nor refused."""
        return self.sent("datagrams_sent") - self.received - self.kernel_dropped - self.taken_for_strangers

    @property
    def misses_a_marker(self) -> bool:
        """True when a marker is missing, so that the last one received may be an early one. (mep has no markers.)"""
        return not self.by_events and self.got("markers") < self.sent("burst_markers")

    @property
    def n_of_others(self) -> int:
        """Upper bound on the recognizable datagrams sent by others."""
        again = self.got("duplicate_packets") - self.sent("packets_duplicated_injected")
        if self.by_events:  # an end of burst is sent several times; its repeats count here
            again -= self.sent("burst_markers") - self.got("bursts_ended")
        never_made = size(self.numbers.never_made) if self.numbers else 0
        not_used = self.got("stray_packets") + self.got("conflicting_packets")
        return self.rubbish + self.strangers + not_used + max(again, 0) + never_made

    @property
    def rest_words(self) -> str:
        return UNEXPLAINED if self.one_host else NEVER_SEEN

    @cached_property
    def cause_of_never_came(self) -> str:
        """Text: the counted causes that can explain the loss, and the number that no counter explains."""
        most = MAX_EVENTS if self.by_events else 1  # largest number of sequence numbers in a datagram
        counted = [
            ("dropped by the kernel", most * self.kernel_dropped),
            (TAKEN_FOR_STRANGERS, most * (self.got("mistaken_strangers") + self.taken_for_strangers)),
            ("malformed", most * self.rubbish),
            ("stray", most * self.got("stray_packets")),
            (CONFLICTING, most * self.got("conflicting_packets")),
        ]
        rest = not self.source_reader or self.unexplained > 0
        return possible_causes(self.never_came, counted, self.rest_words, rest=rest)

    @property
    def problem_of_never_came(self) -> str:
        """Reports losses that no counter explains; on a single host there must be none."""
        if not self.source_reader or not self.never_came or UNEXPLAINED not in self.cause_of_never_came:
            return ""
        return f"{self.never_came} {self.level} were sent on this host and never came: {self.cause_of_never_came}"

    # --- What was lost --------------------------------------------------------------------------------------------
    def losses(self) -> Iterator[Loss]:
        """Packets that were made and did not arrive, by cause, with their numbers if they are known."""
        where, level = f"board {self.board}", self.level
        for cause, n in self.withheld.items() if self.source_reader else ():
            which = self.numbers.causes[cause] if self.numbers else ()
            if n:
                yield Loss(level, cause, n, cause in ORDERED, where, which)
        if self.never_came:
            which = self.numbers.never_came if self.numbers else ()
            yield Loss(level, self.cause_of_never_came, self.never_came, False, where, which)
        before = 0 if self.source_reader else self.got("before_joining")
        if before:
            yield Loss(level, "sent before the node joined", before, False, where)

    def losses_by_now(self) -> Iterator[Loss]:
        """Losses so far while the board still sends; packets that are on their way do not count as lost."""
        gaps, counted = self.got("lost_sequences"), [("dropped by the kernel", self.got("kernel_dropped"))]
        withheld = self.withheld if self.source_reader else {}
        rest = possible_causes(gaps, counted, NEVER_CAME, rest=False)
        yield from losses_by_now(self.level, self.board, gaps, withheld, rest)
        heard = self.got("packets") + self.got("dropped_packets") + self.got("markers")
        yield from unheard(self.board, heard, self.got("strangers"))


# --- Rows ---------------------------------------------------------------------------------------------------------
def intake_rows(view: BoardView) -> Iterator[Row]:
    if view.source_reader:
        yield _made_row(view)
        yield _sent_row(view)
        yield _heard_row(view)
        yield from _announced_rows(view)
    else:
        yield _known_row(view)
    yield _received_row(view)
    yield from _placed_rows(view)


def _arrived(view: BoardView) -> list[Part]:
    if view.by_events:
        return [("arrived", view.arrived)]
    return [("placed", view.n_own("packets")), ("dropped, no free buffer", view.got("dropped_packets"))]


def _made_row(view: BoardView) -> Row:
    """Account by number. It subtracts and names numbers that arrived but were never made."""
    arrived, problem = _arrived(view), view.problem_of_never_came
    strange = (size(view.numbers.never_made), size(view.numbers.never_sent)) if view.numbers else (0, 0)
    if sum(strange) and not view.sent("packets_corrupted_injected"):
        problem = f"{sum(strange)} {view.level} came that the board never sent"
    if strange[0]:
        arrived[0] = (arrived[0][0], arrived[0][1] - strange[0])
    causes = [*view.withheld.items(), (view.cause_of_never_came, view.never_came)]
    return view.row(view.level, "made", view.sent(view.level), [*arrived, *causes], problem)


def _sent_row(view: BoardView) -> Row:
    """Account by datagram. More can arrive than the board sent, when others also send to the port."""
    problem, rest = "", view.unexplained
    if rest > 0 and view.one_host:
        problem = f"{rest} datagrams were sent on this host, did not arrive, and were not dropped by the kernel"
    parts = [("received", view.received), ("dropped by the kernel", view.kernel_dropped)]
    if view.taken_for_strangers:
        parts.append((TAKEN_FOR_STRANGERS, view.taken_for_strangers))
    if rest < 0:
        problem = "" if -rest <= view.n_of_others else f"{-rest} more came than the front end sent"
        total = view.sent("datagrams_sent") - rest
        return view.row("datagrams", "sent, and received from others", total, parts, problem)
    return view.row("datagrams", "sent", view.sent("datagrams_sent"), [*parts, (view.rest_words, rest)], problem)


def _heard_row(view: BoardView) -> Row:
    """Compares the number received, according to sequence numbers, with the number made."""
    made, dead = view.sent(view.level), view.sent(f"{view.level}_dead_board")
    seen = view.got("distinct_sequences") - (view.got("bursts_ended") if view.by_events else 0)
    passed_over, before = view.got("lost_sequences"), view.got("before_joining")
    later = made - dead - seen - passed_over - before if view.misses_a_marker else 0
    # fmt: off
    parts = [("seen", seen), ("passed over", passed_over), ("before the first that came", before),
             ("board dead, never announced", dead), ("after the last that was heard of", later)]
    # fmt: on
    return view.row(view.level, "made, by the numbers heard", made, parts)


def _announced_rows(view: BoardView) -> Iterator[Row]:
    """Markers announce the number made before them. When markers of a board are missing, the last one received may be
    an early one. When the sequence counts events, each burst ends with a special event."""
    for level in ("fragments",) if view.by_events else ("packets", "fragments", "hits"):
        made, announced = view.sent(level), view.got(f"announced_{level}")
        if view.by_events:
            announced -= view.got("bursts_ended")
        dead = made - announced if view.sent("packets_dead_board") else 0
        if level != "hits":
            dead = view.sent(f"{level}_dead_board")
        later = made - announced - dead if view.misses_a_marker else 0
        parts = [("announced", announced), ("board dead, never announced", dead), ("after the last marker", later)]
        yield view.row(level, "made, by its markers", made, parts)


def _known_row(view: BoardView) -> Row:
    """For a front end on another machine: its sequence numbers give the number made."""
    known = view.got("distinct_sequences") + view.got("lost_sequences") + view.got("before_joining")
    if view.by_events:
        known -= view.got("bursts_ended")
    parts = [
        *_arrived(view),
        (view.cause_of_never_came, view.never_came),
        ("sent before the node joined", view.got("before_joining")),
    ]
    announced = view.got(f"announced_{view.level}") - (view.got("bursts_ended") if view.by_events else 0)
    problem = f"{announced} were announced" if announced > known else ""
    return view.row(view.level, "known by their numbers", known, parts, problem)


def _received_row(view: BoardView) -> Row:
    return view.row(
        "packets",
        "received",
        view.got("datagrams"),
        [
            ("placed", view.got("packets")),
            ("burst markers", view.got("markers")),
            ("duplicate", view.got("duplicate_packets")),
            ("dropped, no free buffer", view.got("dropped_packets")),
            (CONFLICTING, view.got("conflicting_packets")),
            ("stray", view.got("stray_packets")),
            ("of strangers", view.got("strangers")),
            *view.malformed,
        ],
    )


def _placed_rows(view: BoardView) -> Iterator[Row]:
    for level in ("fragments", "hits"):
        arrived = [("placed", view.n_own(level)), ("dropped, no free buffer", view.got(f"dropped_{level}"))]
        if view.source_reader:
            total, name = view.sent(level), "made"
            if view.by_events and level == "fragments":
                total += view.got("bursts_ended")
                name = "made, and ends of burst"
        elif view.by_events and level == "hits":  # no packet of this format gives the number of hits sent
            continue
        else:
            total = view.got(f"announced_{level}") + view.got(f"unannounced_{level}")
            name = "announced, and come since"
        missed = total - sum(value for _, value in arrived) if view.lost_any or any(view.withheld.values()) else 0
        yield view.row(level, name, total, [*arrived, ("in packets that never came", missed)])
    yield view.row(
        "fragments",
        "placed",
        view.got("fragments"),
        [("taken by the builder", view.built("fragments_in")), ("overwritten", view.got("overwritten_fragments"))],
    )
