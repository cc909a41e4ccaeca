# SPDX-License-Identifier: Apache-2.0
"""The ledger of a run that goes on. Its rows cannot be exact while data are on their way and are counted at several
places one after the other; but what came in some time ago must have arrived somewhere by now. So each row is compared
with its own past: it is closed up to the time at which no more had come in than has arrived by now."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from anello.account.ledger import Ledger, Row

MISSING = "there is no counter"
PATIENCE_S = 10.0  # what is on its way for longer is lost


@dataclass(frozen=True)
class LiveRow:
    """on_the_way: came and not yet arrived; closed_s: everything is accounted for up to so long ago, None: for longer
    than is remembered it is not."""

    level: str
    name: str
    total: int
    on_the_way: int
    closed_s: float | None

    @property
    def is_off(self) -> bool:
        return self.closed_s is None


@dataclass(frozen=True)
class Balance:
    """rows: each ledger row that is known by now."""

    rows: tuple[LiveRow, ...]

    @property
    def off(self) -> tuple[LiveRow, ...]:
        return tuple(row for row in self.rows if row.is_off)

    @property
    def on_the_way(self) -> int:
        """At the one place where most is."""
        return max((abs(row.on_the_way) for row in self.rows), default=0)

    @property
    def closed_s(self) -> float | None:
        """How long ago everything was accounted for, in every row."""
        ages = [row.closed_s for row in self.rows]
        return None if not ages or None in ages else max(age for age in ages if age is not None)


Sums = dict[tuple[str, str, int], tuple[int, int]]  # row -> what came, what arrived


class LiveLedger:
    """Looks at a run's ledger again and again, and remembers for PATIENCE_S what it said."""

    def __init__(self) -> None:
        self._past: deque[tuple[float, Sums]] = deque()

    def look(self, ledger: Ledger, now_s: float) -> Balance:
        sums = dict(_sums(ledger))
        self._past.append((now_s, sums))
        while len(self._past) > 1 and self._past[1][0] <= now_s - PATIENCE_S:
            self._past.popleft()
        return Balance(tuple(self._row(key, sums[key], now_s) for key in sums))

    def _row(self, key: tuple[str, str, int], at: tuple[int, int], now_s: float) -> LiveRow:
        came, arrived = at
        level, name, _ = key
        return LiveRow(level, name, came, came - arrived, self._closed_s(key, came, arrived, now_s))

    def _closed_s(self, key: tuple[str, str, int], came: int, arrived: int, now_s: float) -> float | None:
        """A row's sides are read one after the other, so that either may be ahead."""
        for then_s, sums in reversed(self._past):
            then_came, then_arrived = sums.get(key, (0, 0))
            if then_came <= arrived and then_arrived <= came:
                return now_s - then_s
        begins = self._past[0][0] > now_s - PATIENCE_S  # before what is remembered there was nothing
        return now_s - self._past[0][0] if begins else None


def _sums(ledger: Ledger) -> Iterator[tuple[tuple[str, str, int], tuple[int, int]]]:
    """Rows may have the same name where one sum is split in two ways."""
    seen: dict[tuple[str, str], int] = {}
    for row in _rows(ledger):
        n = seen[row.level, row.name] = seen.get((row.level, row.name), -1) + 1
        yield (row.level, row.name, n), (row.total, sum(value for _, value in row.parts))


def _rows(ledger: Ledger) -> Iterator[Row]:
    yield from (row for row in ledger.rows if MISSING not in row.problem)
