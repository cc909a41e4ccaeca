# SPDX-License-Identifier: Apache-2.0
"""The ledger of a run that continues. Its rows cannot be exact while data are in transit and are counted at several
places one after the other; but data that came in some time ago must have been accounted for by now. So each row
is compared with its own past: it is closed up to the time when no more had come in than is accounted for now."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from anello.account.ledger import Ledger, Row

MISSING = "there is no counter"
PATIENCE_S = 10.0  # s; data in transit for longer count as lost


@dataclass(frozen=True)
class LiveRow:
    """One row. on_the_way: came in and not yet accounted for; closed_s: age in s of the time up to which everything
    is accounted for; None: that time is longer ago than the stored past."""

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
    """The ledger now. rows: each row that can be computed during a run."""

    rows: tuple[LiveRow, ...]

    @property
    def off(self) -> tuple[LiveRow, ...]:
        return tuple(row for row in self.rows if row.is_off)

    @property
    def on_the_way(self) -> int:
        """The number in transit, at the place where it is largest."""
        return max((abs(row.on_the_way) for row in self.rows), default=0)

    @property
    def closed_s(self) -> float | None:
        """Age in s of the time up to which every row accounts for everything."""
        ages = [row.closed_s for row in self.rows]
        return None if not ages or None in ages else max(age for age in ages if age is not None)


Sums = dict[tuple[str, str, int], tuple[int, int]]  # row -> number that came in, number accounted for


class LiveLedger:
    """Compares a run's ledger with its own values of the last PATIENCE_S."""

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
        """Age of the time up to which a row is closed. The two sides are read one after the other, so either may be
        ahead."""
        for then_s, sums in reversed(self._past):
            then_came, then_arrived = sums.get(key, (0, 0))
            if then_came <= arrived and then_arrived <= came:
                return now_s - then_s
        # the run began within the stored past; before that nothing had come in
        begins = self._past[0][0] > now_s - PATIENCE_S
        return now_s - self._past[0][0] if begins else None


def _sums(ledger: Ledger) -> Iterator[tuple[tuple[str, str, int], tuple[int, int]]]:
    """The two sums of each row. Rows may share a name where one sum is split in two ways."""
    seen: dict[tuple[str, str], int] = {}
    for row in _rows(ledger):
        n = seen[row.level, row.name] = seen.get((row.level, row.name), -1) + 1
        yield (row.level, row.name, n), (row.total, sum(value for _, value in row.parts))


def _rows(ledger: Ledger) -> Iterator[Row]:
    yield from (row for row in ledger.rows if MISSING not in row.problem)
