# SPDX-License-Identifier: Apache-2.0
"""The ledger of one RICH board, from its front end to the stage build.

Two accounts are kept apart. By number: each packet (mep: event) that was made arrived, was withheld by the front end
for a cause, or was sent whole and never arrived. By datagram: what the front end's system took is what this host's
socket gave, what its kernel dropped, and an unexplained rest. The rest is never given another name.
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
SAME_TIME = "of the same time as the one before"  # a repeated packet brings none: it is known by its number
MAX_EVENTS = 255  # in one packet of mep


@dataclass(frozen=True)
class Sequences:
    """What was made, and what came."""

    made: MadeByBoard = field(default_factory=dict)
    came: CameByBoard = field(default_factory=dict)

    def of(self, board: int, by_events: bool) -> Matched | None:
        """None where one side is not known, or not whole."""
        if board not in self.made or board not in self.came:
            return None
        made, came = SentNumbers.of(self.made[board]), ReceivedNumbers.of(self.came[board])
        return matched(made, came, ends_of_epochs(made) if by_events else ())


@dataclass(frozen=True)
class BoardView:
    """The counters of one board, of the node and of its front end, and what is known number by number."""

    reader: Reader
    source_reader: Reader | None
    board: int
    one_host: bool
    by_events: bool
    numbers: Matched | None

    @property
    def level(self) -> str:
        """What the sequence counts."""
        return "fragments" if self.by_events else "packets"

    def got(self, name: str) -> int:
        return self.reader(f"receive.board{self.board}", name)

    def built(self, name: str) -> int:
        return self.reader(f"build.board{self.board}", name)

    def builder_row(self) -> Row:
        """An event has this board's fragment, or lacks it."""
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
        """Placed, without what came before the board's own address was known."""
        return self.got(level) - self.got(f"disowned_{level}")

    # --- By number ------------------------------------------------------------------------------------------------
    @cached_property
    def withheld(self) -> dict[str, int]:
        """Numbers that did not come because of the front end, by cause."""
        if self.numbers:
            return {cause: self.numbers.n(cause) for cause in CAUSES}
        return {cause: self.sent(f"{self.level}_{name}") for cause, name in COUNTED.items()}

    @property
    def arrived(self) -> int:
        """By number, each once; of mep without the ends of burst, which have numbers too."""
        if self.by_events:
            return self.got("distinct_sequences") - self.got("bursts_ended")
        return self.n_own("packets") + self.got("dropped_packets")

    @cached_property
    def never_came(self) -> int:
        """Sent whole, and not seen."""
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
        """Malformed datagrams beyond those that the front end spoilt: it did not send them so."""
        spoilt = self.sent("packets_truncated_injected") + self.sent("packets_corrupted_injected")
        return max(sum(n for _, n in self.malformed) - spoilt, 0)

    @cached_property
    def received(self) -> int:
        """Datagrams that may be the front end's."""
        return self.got("datagrams") - self.rubbish - self.strangers

    @cached_property
    def strangers(self) -> int:
        """Datagrams from other addresses than the board's own; a few may have been counted as such by mistake."""
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
        """Datagrams that the front end's system took, and that neither came nor were dropped or refused here."""
        return self.sent("datagrams_sent") - self.received - self.kernel_dropped - self.taken_for_strangers

    @property
    def misses_a_marker(self) -> bool:
        """So that the last that came may be an early one. (The ends of burst of mep are no markers but events.)"""
        return not self.by_events and self.got("markers") < self.sent("burst_markers")

    @property
    def n_of_others(self) -> int:
        """Upper bound on the recognizable datagrams sent by others."""
        again = self.got("duplicate_packets") - self.sent("packets_duplicated_injected")
        if self.by_events:  # an end of burst is sent several times, and counted here from the second on
            again -= self.sent("burst_markers") - self.got("bursts_ended")
        never_made = size(self.numbers.never_made) if self.numbers else 0
        not_used = self.got("stray_packets") + self.got("conflicting_packets")
        return self.rubbish + self.strangers + not_used + max(again, 0) + never_made

    @property
    def rest_words(self) -> str:
        return UNEXPLAINED if self.one_host else NEVER_SEEN

    @cached_property
    def cause_of_never_came(self) -> str:
        """In words: counted causes that can have taken them, and what no counter explains."""
        most = MAX_EVENTS if self.by_events else 1  # numbers in a datagram
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
        """On one host, every loss must have been counted."""
        if not self.source_reader or not self.never_came or UNEXPLAINED not in self.cause_of_never_came:
            return ""
        return f"{self.never_came} {self.level} were sent on this host and never came: {self.cause_of_never_came}"

    # --- What was lost --------------------------------------------------------------------------------------------
    def losses(self) -> Iterator[Loss]:
        """What was made and did not come, by cause, with the numbers where they are known."""
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
        """While the board sends: what is on its way is not lost."""
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
    """By number. What came with a number that was never made is taken off, and named."""
    arrived, problem = _arrived(view), view.problem_of_never_came
    strange = (size(view.numbers.never_made), size(view.numbers.never_sent)) if view.numbers else (0, 0)
    if sum(strange) and not view.sent("packets_corrupted_injected"):
        problem = f"{sum(strange)} {view.level} came that the board never sent"
    if strange[0]:
        arrived[0] = (arrived[0][0], arrived[0][1] - strange[0])
    causes = [*view.withheld.items(), (view.cause_of_never_came, view.never_came)]
    return view.row(view.level, "made", view.sent(view.level), [*arrived, *causes], problem)


def _sent_row(view: BoardView) -> Row:
    """By datagram. More may come than was sent where others send to the port too."""
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
    """What the sequence numbers say that came, against what was made."""
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
    """What markers announced is what was made before them. Where markers of a board are missing, the last that came
    may be an early one. Where the sequence counts events, each burst ends with an event of its own."""
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
    """The front end is elsewhere: its numbers tell how many there were."""
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
        elif view.by_events and level == "hits":  # no packet of this format tells how many hits were sent
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
