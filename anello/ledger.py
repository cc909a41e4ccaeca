# SPDX-License-Identifier: Apache-2.0
"""The closed ledger of a run: everything sent is built, decided, or lost for a named cause.

Each row is an identity between counters (`block -> name -> value`) that holds exactly once a run has drained. A row
that does not close makes the run fail and says where to look. Differences are taken over the whole run, never per
interval.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

Counters = Mapping[str, Mapping[str, int]]
Part = tuple[str, int]


@dataclass(frozen=True)
class Row:
    """total = sum of the parts, and no part below 0. `problem` says what is wrong; empty: nothing."""

    level: str  # packets, fragments, hits, events, decisions, bytes
    name: str
    total: int
    parts: tuple[Part, ...]
    problem: str = ""

    @property
    def balanced(self) -> bool:
        return not self.problem


@dataclass(frozen=True)
class Ledger:
    """rows: what people are shown. boards: rows of single boards beside those, where a chain has hundreds."""

    rows: tuple[Row, ...]
    boards: tuple[Row, ...] = ()

    @property
    def balanced(self) -> bool:
        return all(row.balanced for row in (*self.rows, *self.boards))

    @property
    def problems(self) -> list[str]:
        rows = {id(row): row for row in (*self.rows, *self.boards)}.values()  # a board's row may stand in both
        return [f"ledger: {row.level}: {row.name}: {row.problem}" for row in rows if row.problem]

    def as_dict(self) -> dict[str, Any]:
        rows, boards = ([asdict(row) for row in rows] for rows in (self.rows, self.boards))
        return {"balanced": self.balanced, "rows": rows, "boards": boards}


PUBLISHED = (
    ("sent", "records_sent"), ("dropped, subscribers had no room", "records_dropped_full"),
    ("dropped, nobody subscribed", "records_dropped_nobody"), ("too large", "records_dropped_too_large"),
    ("refused by libzmq", "records_dropped_failed"), ("given up at the end", "records_dropped_at_end"),
)  # fmt: skip
SUBSCRIBED = (
    ("sent", "records_sent"), ("dropped, no room", "records_dropped_full"),
    ("dropped, it was gone", "records_dropped_gone"),
)  # fmt: skip


class Reader:
    """Counters by name. A missing one is a problem of the row that asks for it, not a zero."""

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
            problem = f"{total} is not the sum of its parts, {total - difference}: {abs(difference)} unaccounted for"
        elif negative:
            problem = f"more than there was went to: {', '.join(negative)}"
        shown = tuple(part for index, part in enumerate(parts) if index == 0 or part[1])
        return Row(level, name, total, shown, problem)


def publish_rows(node: Reader, name: str, total: int) -> Iterator[Row]:
    """What became of `total` results for subscribers, and which of them each subscriber got; nothing where nothing is
    published."""
    if "publish" not in node.counters:
        return
    given = node("publish", "records_in")
    yield node.row("records", name, total, [("given to the publisher", given)])
    yield node.row("records", "to be published", given, [(words, node("publish", key)) for words, key in PUBLISHED])
    prefix = "publish.subscriber"
    for block in sorted(block for block in node.counters if block.startswith(prefix)):
        if node(block, "subscriptions"):
            yield node.row(
                "records", f"offered to subscriber {block.removeprefix(prefix)}", node(block, "records_offered"),
                [(words, node(block, key)) for words, key in SUBSCRIBED],
            )  # fmt: skip
