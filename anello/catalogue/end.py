# SPDX-License-Identifier: Apache-2.0
"""The results that are known at a run's end, and the quality that people give it."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Counters = Mapping[str, Mapping[str, Mapping[str, int]]]  # process ("node", "source") -> block -> name -> value
MOST_BITS = 63  # of a whole number in SQLite


class Quality(StrEnum):
    """The quality that people give a run."""

    UNKNOWN = "unknown"
    GOOD = "good"
    BAD = "bad"
    TEST = "test"


@dataclass(frozen=True)
class LossCount:
    """Number lost for one cause; ordered: the configuration caused the loss."""

    cause: str
    n: int
    ordered: bool = False


@dataclass(frozen=True)
class Leg:
    """A latency histogram. bins: (lower edge, upper edge, count) of the bins with events; ns."""

    count: int
    bins: Sequence[tuple[float, float, int]]


@dataclass(frozen=True)
class End:
    """The results at a run's end; None: not known."""

    state: str
    exit_code: int | None = None
    balanced: bool | None = None
    events: int | None = None
    lost: int | None = None  # number lost for causes that were not configured
    bytes: int | None = None  # bytes received
    seconds: float | None = None  # s; the time over which the rate was taken
    leg: str | None = None  # the leg of the latency that judges the run; its quantiles:
    p50_ns: float | None = None
    p999_ns: float | None = None
    verdict: str | None = None  # the verdict's line
    word: str | None = None  # the verdict's word: what the run is worth (anello.account.verdict.Word)
    quality_found: Any = None  # quality of the reconstruction, as in summary.json
    comment: str = ""
    ended_ns: int | None = None  # wall clock; None: now
    losses: Sequence[LossCount] = ()
    latency: Mapping[str, Leg] = field(default_factory=dict)
    counters: Counters = field(default_factory=dict)


def keep_results(database: sqlite3.Connection, number: int, end: End) -> None:
    """Replaces a run's results in their tables. Called inside a transaction."""
    for table in ("loss", "latency", "counter_end"):
        database.execute(f"DELETE FROM {table} WHERE run = ?", (number,))
    database.executemany(
        "INSERT INTO loss VALUES (?, ?, ?, ?)", [(number, one.cause, one.n, one.ordered) for one in end.losses]
    )
    database.executemany(
        "INSERT INTO latency VALUES (?, ?, ?, ?)",
        [(number, leg, one.count, json.dumps([list(bin_) for bin_ in one.bins])) for leg, one in end.latency.items()],
    )
    places = [
        (process, block, name, value)
        for process, blocks in end.counters.items()
        for block, values in blocks.items()
        for name, value in values.items()
    ]
    database.executemany("INSERT OR IGNORE INTO counter(process, block, name) VALUES (?, ?, ?)",
                         [place[:3] for place in places])  # fmt: skip
    database.executemany(
        "INSERT INTO counter_end SELECT ?, id, ? FROM counter WHERE process = ? AND block = ? AND name = ?",
        [(number, _stored(value), *place) for *place, value in places],
    )


def _stored(value: int) -> int | str:
    return value if -(2**MOST_BITS) <= value < 2**MOST_BITS else str(value)
