# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a run, in one line, and the exit code of the run.

Every chain lists its flaws (Record.flaws); line and exit code are made here only, wherever they are shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from anello.account.ledger import TAKEN_FOR_STRANGERS, Counters, Ledger, numbered
from anello.system import exit_codes

MOST_IN_LINE = 8
MOST_NAMED = 3  # places that one line names


class Word(StrEnum):
    """What a run is worth, best first. docs/reference/exit-codes.md defines each word."""

    GOOD = "good"
    AS_ORDERED = "good, with the faults that were asked for"
    DEGRADED = "degraded"
    INCOMPLETE = "incomplete"
    LOST = "lost"
    UNKNOWN = "unknown"
    WRONG = "wrong"


GRAVITY = {word: number for number, word in enumerate(Word)}
# fmt: off
EXIT_CODES = {
    Word.GOOD: 0, Word.AS_ORDERED: 0, Word.DEGRADED: exit_codes.DEGRADED, Word.INCOMPLETE: exit_codes.INCOMPLETE,
    Word.LOST: exit_codes.LOST, Word.UNKNOWN: exit_codes.UNKNOWN, Word.WRONG: exit_codes.LEDGER,
}
# fmt: on


@dataclass(frozen=True)
class Flaw:
    """One way in which a run delivered less than was made, or something other than was configured.

    words: after the number, e.g. "fragments late"; n is None where nothing is counted. ordered: the configuration
    caused it (faults, drop policies). word: what a run with this flaw is worth; Word.GOOD where it is only reported,
    such as time that the front ends skipped. where: its boards or nodes. since_s: after the run's start. remedy: what
    to do.
    """

    words: str
    n: int | None = None
    ordered: bool = False
    word: Word = Word.LOST
    where: tuple[str, ...] = ()
    since_s: float | None = None
    of: int = 0  # the total that n is part of, where it helps
    remedy: str = ""

    @property
    def in_words(self) -> str:
        if self.n is None:
            return self.words
        return f"{self.n:,} of {self.of:,} {self.words}" if self.of else f"{self.n:,} {self.words}"

    @property
    def in_full(self) -> str:
        """What, how many, where, since when, and what to do."""
        more = len(self.where) - MOST_NAMED
        where = ", ".join(self.where[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        since = "" if self.since_s is None else f"since {self.since_s:.1f} s"
        details = ", ".join(part for part in (where, since) if part)
        return self.in_words + (f" ({details})" if details else "") + (f": {self.remedy}" if self.remedy else "")

    @property
    def counts(self) -> Word:
        """The verdict on a run that has only this flaw."""
        return Word.AS_ORDERED if self.ordered and self.word is not Word.GOOD else self.word

    def as_dict(self) -> dict[str, Any]:
        return {
            "words": self.words,
            "n": self.n,
            "ordered": self.ordered,
            "word": self.word.value,
            "where": list(self.where),
            "since_s": self.since_s,
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class Verdict:
    """The judgement of a run. flaws: the worst first. ended_badly: why the run could not be brought to its end, e.g.
    that the front ends were killed."""

    flaws: tuple[Flaw, ...]
    balanced: bool
    interrupted: bool = False
    ended_badly: str = ""
    in_progress: bool = False

    @property
    def word(self) -> Word:
        """The worst word of all flaws."""
        found = [flaw.counts for flaw in self.flaws]
        found += [Word.UNKNOWN] if self.ended_badly else []
        found += [] if self.balanced else [Word.WRONG]
        return max(found, key=GRAVITY.__getitem__, default=Word.GOOD)

    @property
    def is_whole(self) -> bool:
        """True if nothing is wrong, nothing was left out, and nothing is to be reported."""
        return self.word is Word.GOOD and not self.flaws and not self.interrupted

    @property
    def is_as_ordered(self) -> bool:
        """True if nothing is wrong except what the configuration asked for."""
        return self.word in (Word.GOOD, Word.AS_ORDERED)

    @property
    def line(self) -> str:
        """The verdict in one line for the operator."""
        wrong = [self.ended_badly] if self.ended_badly else []
        wrong += [] if self.balanced else ["the ledger does not balance"]
        wrong += _listed([flaw for flaw in self.flaws if flaw.counts not in (Word.GOOD, Word.AS_ORDERED)])
        ordered = _listed([flaw for flaw in self.flaws if flaw.counts is Word.AS_ORDERED])
        noted = _listed([flaw for flaw in self.flaws if flaw.counts is Word.GOOD])
        said = [f"{self.word}: {'; '.join(wrong)}"] if wrong else [f"good: {self._whole}"]
        if ordered:
            said = [*said, f"as configured: {', '.join(ordered)}"] if wrong else [f"{self.word}: {', '.join(ordered)}"]
        return "; ".join([*said, *noted, *(["stopped as ordered"] if self.interrupted else [])])

    def since(self, history: Sequence[tuple[float, Mapping[str, int]]]) -> "Verdict":
        """The same verdict; each flaw has the time when it was first seen. history: (time since the start in s,
        losses until then by the flaws' words)."""
        first: dict[str, float] = {}
        for time_s, lost in reversed(history):
            first |= dict.fromkeys((words for words, n in lost.items() if n), time_s)
        return replace(self, flaws=tuple(replace(flaw, since_s=first.get(flaw.words)) for flaw in self.flaws))

    @property
    def lost(self) -> dict[str, int]:
        """Losses that nobody configured and that make the run less than good, by cause; a flaw that is not counted
        is 1."""
        return {flaw.words: flaw.n or 1 for flaw in self.flaws if GRAVITY[flaw.counts] > GRAVITY[Word.AS_ORDERED]}

    @property
    def _whole(self) -> str:
        return "nothing is lost by now" if self.in_progress else "all data was delivered"

    @property
    def exit_code(self) -> int:
        """The exit code. A stop that the operator asked for is no failure."""
        if self.ended_badly and self.word is Word.UNKNOWN:
            return exit_codes.FAILED
        return EXIT_CODES[self.word]

    def as_dict(self) -> dict[str, Any]:
        return {
            "word": self.word.value,
            "line": self.line,
            "whole": self.is_whole,
            "exit_code": self.exit_code,
            "flaws": [flaw.as_dict() for flaw in self.flaws],
        }


def _listed(flaws: Sequence[Flaw]) -> list[str]:
    """The flaws in words; the worst with all details."""
    more = len(flaws) - MOST_IN_LINE
    listed = [flaw.in_words if index else flaw.in_full for index, flaw in enumerate(flaws[:MOST_IN_LINE])]
    return listed + ([f"and {more} more"] if more > 0 else [])


def judged(ledger: Ledger, flaws: Iterable[Flaw], *, interrupted: bool, ended_badly: str = "") -> Verdict:
    """The verdict of a finished run. Flaws with the same words are added up; the ledger's own losses come first."""
    return Verdict(_summed([*losses_of(ledger), *flaws]), ledger.balanced, interrupted, ended_badly)


def as_it_stands(flaws: Iterable[Flaw], *, balanced: bool) -> Verdict:
    """The verdict of a run that still continues."""
    return Verdict(_summed(flaws), balanced, in_progress=True)


REMEDIES = {TAKEN_FOR_STRANGERS: "give these boards' addresses in receive.sources"}


def losses_of(ledger: Ledger) -> list[Flaw]:
    return [
        Flaw(
            f"{loss.level} {loss.words}",
            loss.n,
            ordered=loss.ordered,
            where=(loss.where,) if loss.where else (),
            remedy=REMEDIES.get(loss.words, ""),
        )
        for loss in ledger.losses
        if loss.n
    ]


def _summed(flaws: Iterable[Flaw]) -> tuple[Flaw, ...]:
    """Flaws with the same words added up, the worst first."""
    by_words: dict[tuple[str, bool, Word], Flaw] = {}
    for flaw in flaws:
        key = (flaw.words, flaw.ordered, flaw.word)
        by_words[key] = _together(by_words[key], flaw) if key in by_words else flaw
    found = (flaw for flaw in by_words.values() if flaw.n != 0)
    return tuple(sorted(found, key=lambda flaw: -GRAVITY[flaw.counts]))


def _together(one: Flaw, other: Flaw) -> Flaw:
    n = one.n if other.n is None else (one.n or 0) + other.n
    since = [at for at in (one.since_s, other.since_s) if at is not None]
    where = tuple(dict.fromkeys((*one.where, *other.where)))
    return replace(
        one, n=n, of=one.of + other.of, where=where, since_s=min(since, default=None), remedy=one.remedy or other.remedy
    )


# --- Of every chain -----------------------------------------------------------------------------------------------
def source_flaws(source: Mapping[str, Mapping[str, int]] | None, asked_s: float = 0.0) -> list[Flaw]:
    """Flaws of the front ends: rates and times that they did not reach. asked_s: the configured sending time in s,
    if known."""
    forgone_s = ((source or {}).get("source") or {}).get("time_forgone_ns", 0) * 1e-9
    if not forgone_s:
        return []
    of = f" of {asked_s:.3g} s" if asked_s else ""
    words = f"not at rate: the front ends were too slow, they reset their clock by {forgone_s:.2g} s{of}"
    return [Flaw(words, word=Word.GOOD)]


ENDED = 2  # build.board<b>.state


def proof_flaws(node: Counters, source: Counters | None, *, interrupted: bool) -> list[Flaw]:
    """What is missing as a proof that a run is good: data arrived, and the end of every board arrived, unless the
    node was stopped before."""
    of_capture = list(_capture_flaws(node.get("receive.capture", {})))
    if not n_came(node):
        remedy = "see what is sent here (anello dump PORT) and what this host lets in (anello doctor)"
        return [*of_capture, Flaw("nothing came", word=Word.UNKNOWN, remedy=remedy)]
    return of_capture if interrupted else [*of_capture, *_boards_without_end(node, source or {})]


CAPTURE_FLAWS = {  # counter of receive.capture -> words, what to do
    "ip6": ("datagrams of the capture over IPv6, not used", "record what is sent over IPv4"),
    "ip_fragments": (
        "IP fragments of the capture, not used",
        "send datagrams no longer than the network's MTU, or raise it",
    ),
    "cut_short": ("datagrams of which the capture has only the beginning", "record with tcpdump -s 0"),
    "malformed": ("frames of the capture with lengths that contradict each other", "see anello dump FILE"),
}


def _capture_flaws(capture: Mapping[str, int]) -> Iterator[Flaw]:
    """Flaws for packets of a capture file that were sent to the node's ports and that the node could not use."""
    for name, (words, remedy) in CAPTURE_FLAWS.items():
        if n := capture.get(name, 0):
            yield Flaw(words, n, remedy=remedy)
    if capture.get("read_errors"):
        remedy = "its log says why; convert it (editcap, tcpdump -r) to one link type"
        yield Flaw("the capture could not be read to its end", word=Word.UNKNOWN, remedy=remedy)


def n_came(node: Counters) -> int:
    """Datagrams that the node received, or frames where the card captures frames."""
    received = sum(values.get("datagrams", 0) for block, values in node.items() if block.startswith("receive."))
    return received or node.get("nanet", {}).get("frames", 0)


def _boards_without_end(node: Counters, source: Counters) -> Iterator[Flaw]:
    """Boards that sent data and no end of run. A board that is configured to play dead has no end."""
    by_order: dict[bool, list[str]] = {}
    for number, block in numbered(node, "build.board"):
        sent = node.get(f"receive.board{number}", {}).get("packets", 0) or block.get("placed", 0)
        if sent and block.get("state", ENDED) != ENDED:
            plays_dead = bool(source.get(f"source.board{number}", {}).get("packets_dead_board"))
            by_order.setdefault(plays_dead, []).append(f"board {number}")
    remedy = "see whether they were switched off, or their last packets were lost"
    for ordered, boards in by_order.items():
        yield Flaw("boards whose end never came", len(boards), ordered, Word.UNKNOWN, tuple(boards), remedy=remedy)


def effort_flaws(n_decided: int, with_less: Mapping[str, int], most_share: float) -> list[Flaw]:
    """Flaws for events that were decided with less effort than configured, by kind of effort: above the share
    most_share of all events they make the run degraded."""
    is_degraded = sum(with_less.values()) > most_share * n_decided
    word = Word.DEGRADED if is_degraded else Word.GOOD
    remedy = "give the node more cores, send less, or let it take longer: trigger.deadline_us" if is_degraded else ""
    return [Flaw(words, n, word=word, of=n_decided, remedy=remedy) for words, n in with_less.items() if n]


DROP_POLICIES = ("drop_new", "overwrite_oldest")  # values of receive.policy


def is_reordered(source: Mapping[str, Mapping[str, int]] | None) -> bool:
    """True if front ends sent packets out of order on purpose, so that late packets were to be expected."""
    return any(block.get("packets_reordered_injected") for block in (source or {}).values())


def incomplete_flaws(n: int, ledger: Ledger, others: Iterable[Flaw]) -> list[Flaw]:
    """Flaws for n events without a board's fragment: ordered if only configured losses can have caused them."""
    ordered = is_only_as_ordered([*losses_of(ledger), *others])
    return [Flaw("events incomplete", n, ordered, Word.INCOMPLETE)] if n else []


def is_only_as_ordered(flaws: Iterable[Flaw]) -> bool:
    """True if something was lost, and the configuration ordered every such loss."""
    losses = [flaw for flaw in flaws if flaw.n and flaw.word is Word.LOST]
    return bool(losses) and all(loss.ordered for loss in losses)


PUBLISH_FLAWS = {  # counter -> words, whether the configuration orders it
    "records_dropped_full": ("records not published, subscribers had no room", True),
    "records_dropped_too_large": ("records not published, too large", False),
    "records_dropped_failed": ("records not published, refused by libzmq", False),
    "records_dropped_at_end": ("records not published by the end", False),
}


def publish_flaws(node: Mapping[str, Mapping[str, int]], publisher: str = "publish") -> list[Flaw]:
    """Flaws for records that subscribers did not get. A run without subscribers has no such flaw. publisher: its
    block of counters."""
    block = node.get(publisher, {})
    flaws = [Flaw(words, block.get(name, 0), ordered) for name, (words, ordered) in PUBLISH_FLAWS.items()]
    return [flaw for flaw in flaws if flaw.n]
