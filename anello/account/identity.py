# SPDX-License-Identifier: Apache-2.0
"""Which sequence numbers a board sent, which arrived, and where each of the others was lost.

A number is known as epoch << 48 | number in that epoch: an epoch is a stretch in which a board counts from 0 (a run;
with mep a burst). Sets of numbers are sorted, disjoint ranges (begin, end), end excluded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NotRequired, Self, TypedDict

Ranges = tuple[tuple[int, int], ...]

EPOCH_SHIFT = 48
BOARD_DEAD = "board dead"
COUNTED = {  # cause, in the order of source::Withheld -> the front end's counter, after packets_ or fragments_
    BOARD_DEAD: "dead_board",
    "lost on purpose": "lost_injected",
    "refused by the sender's system": "not_sent",
    "truncated on purpose": "truncated_injected",
    "corrupted on purpose": "corrupted_injected",
}
CAUSES = tuple(COUNTED)
NEVER_SENT = (BOARD_DEAD, "lost on purpose")  # causes for which the front end sent nothing at all
ORDERED = (*NEVER_SENT, "truncated on purpose", "corrupted on purpose")  # only the keys faults.* cause these


# --- Sets of numbers ----------------------------------------------------------------------------------------------
def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in any order, made sorted and disjoint."""
    result: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if begin >= end:
            continue
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((begin, end))
    return tuple(result)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """The numbers that are in both sets."""
    result, i, k = [], 0, 0
    while i < len(left) and k < len(right):
        begin, end = max(left[i][0], right[k][0]), min(left[i][1], right[k][1])
        if begin < end:
            result.append((begin, end))
        if left[i][1] < right[k][1]:
            i += 1
        else:
            k += 1
    return tuple(result)


def difference(left: Ranges, right: Ranges) -> Ranges:
    """The numbers that are in `left` and not in `right`."""
    result, k = [], 0
    for whole_begin, end in left:
        begin = whole_begin
        while k < len(right) and right[k][1] <= begin:
            k += 1
        at = k
        while at < len(right) and right[at][0] < end:
            if begin < right[at][0]:
                result.append((begin, right[at][0]))
            begin = max(begin, right[at][1])
            at += 1
        if begin < end:
            result.append((begin, end))
    return tuple(result)


def size(ranges: Ranges) -> int:
    return sum(end - begin for begin, end in ranges)


def in_words(ranges: Ranges, most: int = 5) -> str:
    """For people: "3, 7-9, 12 and 40 more ranges"; with the epoch where there are several."""
    several = len({begin >> EPOCH_SHIFT for begin, _ in ranges}) > 1
    words = [_range_in_words(begin, end, several) for begin, end in ranges[:most]]
    more = len(ranges) - len(words)
    return ", ".join(words) + (f" and {more} more range{'s' * (more != 1)}" if more > 0 else "")


def _range_in_words(begin: int, end: int, with_epoch: bool) -> str:
    epoch, mask = begin >> EPOCH_SHIFT, (1 << EPOCH_SHIFT) - 1
    first, last = begin & mask, (end - 1) & mask
    words = f"{first}" if first == last else f"{first}-{last}"
    return f"{words} of epoch {epoch}" if with_epoch else words


def ranges_of(listed: Iterable[Sequence[int]], cause: int | None = None) -> Ranges:
    """The numbers that are listed under this cause. listed: [epoch, begin, end, cause]."""
    return union(
        ((epoch << EPOCH_SHIFT) + begin, (epoch << EPOCH_SHIFT) + end)
        for epoch, begin, end, why in listed
        if cause is None or why == cause
    )


# --- One board ----------------------------------------------------------------------------------------------------
Listed = Sequence[Sequence[int]]  # [epoch, begin, end, cause] of each range


class ListedAsMade(TypedDict):
    """The numbers of one board, as its front end lists them: Source.sequences()."""

    made: Listed
    withheld: Listed
    not_listed: int  # ranges that did not fit into the list


class ListedAsCame(TypedDict):
    """The numbers of one board, as a node lists them: Node.sequences()."""

    expected: Listed
    missing: Listed
    unused: NotRequired[Listed]  # given by nodes that record why they did not use a fragment
    not_listed: int


MadeByBoard = Mapping[int, ListedAsMade]
CameByBoard = Mapping[int, ListedAsCame]


@dataclass(frozen=True)
class SentNumbers:
    """The numbers that a board made, and those it withheld: cause -> numbers. From Source.sequences() for one board."""

    numbers: Ranges
    withheld: Mapping[str, Ranges]
    is_whole: bool = True  # False: the board had more ranges than it recorded

    @classmethod
    def of(cls, listed: ListedAsMade) -> Self:
        withheld = {words: ranges_of(listed["withheld"], cause) for cause, words in enumerate(CAUSES)}
        return cls(ranges_of(listed["made"]), withheld, not listed["not_listed"])


@dataclass(frozen=True)
class ReceivedNumbers:
    """The numbers that a node expected from a board, and those that never arrived. From Node.sequences() for one
    board."""

    expected: Ranges
    missing: Ranges
    is_whole: bool = True

    @classmethod
    def of(cls, listed: ListedAsCame) -> Self:
        return cls(ranges_of(listed["expected"]), ranges_of(listed["missing"]), not listed["not_listed"])

    @property
    def seen(self) -> Ranges:
        return difference(self.expected, self.missing)

    def in_one_epoch(self) -> "ReceivedNumbers":
        """The numbers of a board that never restarts, even where the node took a jump for a restart."""
        expected = union(_stripped(self.expected))
        return ReceivedNumbers(expected, difference(expected, union(_stripped(self.seen))), self.is_whole)


def _stripped(ranges: Ranges) -> Iterable[tuple[int, int]]:
    for begin, end in ranges:
        start = begin >> EPOCH_SHIFT << EPOCH_SHIFT
        yield begin - start, end - start


@dataclass(frozen=True)
class Matched:
    """Each number that the board made has arrived, is in one of the causes, or is in never_came: sent and not
    received."""

    made: int
    came: int
    causes: Mapping[str, Ranges] = field(default_factory=dict)
    never_came: Ranges = ()
    never_made: Ranges = ()  # received, though the board made no such number
    never_sent: Ranges = ()  # received, though the front end did not send it

    def n(self, cause: str) -> int:
        return size(self.causes.get(cause, ()))


def matched(made: SentNumbers, came: ReceivedNumbers, beside: Ranges = ()) -> Matched | None:
    """Compares the two lists. The third argument holds numbers that may arrive but are not counted as made (mep's
    ends of burst). None where one of the lists is not complete."""
    if not (made.is_whole and came.is_whole):
        return None
    seen = difference(came.seen, beside)
    absent = difference(made.numbers, seen)
    causes: dict[str, Ranges] = {}
    for cause in CAUSES:
        causes[cause] = intersection(absent, made.withheld.get(cause, ()))
        absent = difference(absent, causes[cause])
    unsent = union(one for cause in NEVER_SENT for one in made.withheld.get(cause, ()))
    return Matched(
        size(made.numbers),
        size(intersection(made.numbers, seen)),
        causes,
        absent,
        never_made=difference(seen, made.numbers),
        never_sent=intersection(seen, unsent),
    )


def ends_of_epochs(made: SentNumbers) -> Ranges:
    """The number after the last one of each epoch: with mep the number of its end of burst."""
    last: dict[int, int] = {}
    for _, end in made.numbers:
        last[(end - 1) >> EPOCH_SHIFT] = end
    return tuple((end, end + 1) for end in last.values())
