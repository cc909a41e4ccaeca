# SPDX-License-Identifier: Apache-2.0
"""The closed ledger of a run: everything sent is built, decided, or lost for a named cause.

Each row is an identity between counters (`block -> name -> value`) that holds exactly once a run has drained. A row
that does not balance makes the run fail and says where to look. Differences are taken over the whole run, never per
interval.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from anello.account.identity import BOARD_DEAD, EPOCH_SHIFT, ORDERED, Ranges, in_words, size

ONE_OF_MANY = re.compile(r"^((board|node) ?\d+: )+")
MOST_RANGES = 1000  # most ranges of one loss that summary.json lists

Counters = Mapping[str, Mapping[str, int]]
Part = tuple[str, int]


@dataclass(frozen=True)
class Row:
    """One balance: total = sum of the parts, and no part below 0. `problem` says what is wrong; empty: nothing."""

    level: str  # packets, fragments, hits, events, decisions, bytes
    name: str
    total: int
    parts: tuple[Part, ...]
    problem: str = ""

    @property
    def balanced(self) -> bool:
        return not self.problem


@dataclass(frozen=True)
class Loss:
    """What was made and not delivered, for one cause. ordered: the configuration caused it. numbers: which ones, if
    known."""

    level: str
    words: str
    n: int
    ordered: bool = False
    where: str = ""  # for example "board 1"
    numbers: Ranges = ()

    @property
    def line(self) -> str:
        which = f": {in_words(self.numbers)}" if self.numbers else ""
        return f"{self.where}: {self.n:,} {self.level} {self.words}{which}"

    def as_dict(self) -> dict[str, Any]:
        mask = (1 << EPOCH_SHIFT) - 1
        listed = [[begin >> EPOCH_SHIFT, begin & mask, (end - 1) & mask] for begin, end in self.numbers[:MOST_RANGES]]
        not_listed = self.n - size(self.numbers[:MOST_RANGES])
        return {
            "level": self.level,
            "cause": self.words,
            "n": self.n,
            "ordered": self.ordered,
            "where": self.where,
            "ranges": listed,
            "not_listed": not_listed,
        }


@dataclass(frozen=True)
class Ledger:
    """rows: those displayed. boards: in addition, rows of single boards, where a chain has hundreds. losses: what
    was made and did not arrive, number by number where that is known."""

    rows: tuple[Row, ...]
    boards: tuple[Row, ...] = ()
    losses: tuple[Loss, ...] = ()

    @property
    def balanced(self) -> bool:
        return all(row.balanced for row in (*self.rows, *self.boards))

    @property
    def all_rows(self) -> tuple[Row, ...]:
        """Every row once, also those that are both in the table and in a board's list."""
        return tuple({id(row): row for row in (*self.rows, *self.boards)}.values())

    @property
    def line(self) -> str:
        """The whole ledger in one line."""
        n_off = sum(not row.balanced for row in self.all_rows)
        if n_off:
            return f"THE LEDGER DOES NOT BALANCE: {n_off} of {len(self.all_rows)} rows are off"
        level, n = self._greatest
        return f"the ledger balances: all {n:,} {level} accounted for" if level else "the ledger balances"

    @property
    def _greatest(self) -> Part:
        """The level that the ledger counts (fragments where there are any) and the largest total of its rows; rows
        of single boards or nodes are added up to one."""
        levels = [row.level for row in self.rows if row.total]
        level = "fragments" if "fragments" in levels else levels[0] if levels else ""
        sums: dict[str, int] = {}
        for row in self.rows:
            if row.level == level:
                name = ONE_OF_MANY.sub("", row.name)
                sums[name] = sums.get(name, 0) + row.total
        return level, max(sums.values(), default=0)

    @property
    def problems(self) -> list[str]:
        return [f"ledger: {row.level}: {row.name}: {row.problem}" for row in self.all_rows if row.problem]

    def as_dict(self) -> dict[str, Any]:
        rows, boards = ([asdict(row) for row in rows] for rows in (self.rows, self.boards))
        losses = [loss.as_dict() for loss in self.losses]
        return {"balanced": self.balanced, "rows": rows, "boards": boards, "losses": losses}


UNEXPLAINED = "unexplained"
NEVER_SEEN = "sent, never seen on this host"
MAX_SEGMENTS = 64  # most datagrams that the kernel joins into one message (UDP_MAX_SEGMENTS)


def possible_causes(n_lost: int, counted: Sequence[Part], rest_words: str, *, rest: bool) -> str:
    """Why n_lost numbers never arrived, in words: each counted loss with the most numbers it can explain; then
    rest_words, if a remainder is known or the counted losses are too few."""
    words = [words for words, n in counted if n]
    beyond = n_lost > sum(n for _, n in counted)
    return " or ".join([*words, *([rest_words] if rest or beyond else [])])


def dropped_datagrams(counted: int, gone: int, *, joined: bool) -> int:
    """Number of datagrams that the kernel dropped at a socket. The kernel counts one message, which with GRO holds
    up to 64 datagrams: where that can explain all missing datagrams, `gone` is returned."""
    return gone if joined and counted < gone <= counted * MAX_SEGMENTS else counted


TAKEN_FOR_STRANGERS = "counted as a stranger's"


def taken_for_strangers(gone: int, strangers: int) -> int:
    """How many of `gone` datagrams from front ends were rejected as strangers'. `gone` counts those that were
    neither accepted nor dropped; the front ends may send from addresses that are not in receive.sources."""
    return max(0, min(gone, strangers))


def unheard(board: int, own: int, strangers: int) -> Iterator[Loss]:
    """Losses of a board that sends, but of which the node accepted nothing and received datagrams only from other
    addresses in the board's name: these may be the board's own."""
    if strangers and not own:
        yield Loss("datagrams", TAKEN_FOR_STRANGERS, strangers, False, f"board {board}")


PUBLISHED = (
    ("sent", "records_sent"),
    ("dropped, subscribers had no room", "records_dropped_full"),
    ("dropped, nobody subscribed", "records_dropped_nobody"),
    ("too large", "records_dropped_too_large"),
    ("refused by libzmq", "records_dropped_failed"),
    ("given up at the end", "records_dropped_at_end"),
)
SUBSCRIBED = (
    ("sent", "records_sent"),
    ("dropped, no room", "records_dropped_full"),
    ("dropped, it was gone", "records_dropped_gone"),
)


def count_of(counters: Counters, block: str, name: str) -> int:
    """The counter's value; 0 where this run has no such counter."""
    return counters.get(block, {}).get(name, 0)


def total(counters: Counters, prefix: str, name: str) -> int:
    """The counter's sum over all numbered blocks with this prefix."""
    return sum(block.get(name, 0) for _, block in _blocks(counters, prefix))


def numbered(counters: Counters, prefix: str) -> list[tuple[int, Mapping[str, int]]]:
    """(number, block) of the blocks that have a number after the prefix, in the order of the numbers."""
    return sorted(_blocks(counters, prefix), key=lambda one: one[0])


def _blocks(counters: Counters, prefix: str) -> Iterator[tuple[int, Mapping[str, int]]]:
    found = ((name.removeprefix(prefix), block) for name, block in counters.items() if name.startswith(prefix))
    return ((int(number), block) for number, block in found if number.isdigit())


def front_ends_in(counters: Counters) -> Counters | None:
    """The counters of the front ends that a node started itself, which are among its own; None if it started none."""
    return counters if any(block.startswith("source.board") for block in counters) else None


def losses_by_now(level: str, board: int, gaps: int, withheld: Mapping[str, int], rest: str) -> Iterator[Loss]:
    """Losses of a board that still sends: gaps in its numbers, which may still close. withheld: by cause, what its
    front end says it did not send; rest: words for what remains. No later packet follows those that a dead board
    kept, so no gap shows them."""
    where = f"board {board}"
    for cause, n in withheld.items():
        explained = min(n, gaps)
        gaps -= explained
        if n_lost := n if cause == BOARD_DEAD else explained:
            yield Loss(level, cause, n_lost, cause in ORDERED, where)
    if gaps:
        yield Loss(level, rest, gaps, False, where)


class Reader:
    """Reads counters by name. A missing one is a problem of the row that needs it, not a zero."""

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.missing: list[str] = []

    def __call__(self, block: str, name: str) -> int:
        try:
            return int(self.counters[block][name])
        except KeyError:
            self.missing.append(f"{block}.{name}")
            return 0

    def row(self, level: str, name: str, total: int, parts: list[Part], problem: str = "") -> Row:
        missing, self.missing = self.missing, []
        difference = total - sum(value for _, value in parts)
        negative = [label for label, value in parts if value < 0]
        if missing:
            problem = f"there is no counter {', '.join(missing)}"
        elif difference:
            off = f"{total} is not the sum of its parts, {total - difference}: {abs(difference)} unaccounted for"
            problem = f"{problem}; {off}" if problem else off
        elif negative:
            problem = f"more than there was went to: {', '.join(negative)}"
        shown = tuple(part for index, part in enumerate(parts) if index == 0 or part[1])
        return Row(level, name, total, shown, problem)


def sent_row(node: Reader, source: Reader, own: int, strangers: int) -> Row:
    """The row of one host: each datagram that the sender's system accepted was received here, dropped or refused.
    own: datagrams received that can be the boards'; strangers: those counted as sent by others."""
    sent = total(source.counters, "source.board", "datagrams_sent")
    counted = total(node.counters, "receive.port", "kernel_dropped")
    gone = sent - total(node.counters, "receive.port", "datagrams")
    dropped = dropped_datagrams(counted, gone, joined=total(node.counters, "receive.port", "super_packets") > 0)
    refused = taken_for_strangers(sent - own - dropped, strangers)
    parts = [("came", own), ("dropped by the kernel", dropped), (TAKEN_FOR_STRANGERS, refused)]
    return node.row("datagrams", "sent by the boards' system", sent, parts)


def publish_rows(node: Reader, name: str, total: int, publisher: str = "publish") -> Iterator[Row]:
    """Balances of `total` results for subscribers: published or not, and delivered to each subscriber or not. Empty
    where nothing is published. publisher: its block of counters."""
    if publisher not in node.counters:
        return
    given = node(publisher, "records_in")
    yield node.row("records", name, total, [("given to the publisher", given)])
    yield node.row("records", "to be published", given, [(words, node(publisher, key)) for words, key in PUBLISHED])
    prefix = f"{publisher}.subscriber"
    for block in sorted(block for block in node.counters if block.startswith(prefix)):
        if node(block, "subscriptions"):
            yield node.row(
                "records",
                f"offered to subscriber {block.removeprefix(prefix)}",
                node(block, "records_offered"),
                [(words, node(block, key)) for words, key in SUBSCRIBED],
            )
