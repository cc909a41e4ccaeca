# SPDX-License-Identifier: Apache-2.0
"""docs/reference/counters.md, from the tables that the headers of engine and detectors declare."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anello.engine import _engine

if TYPE_CHECKING:
    from anello._engine import CounterTable

HEAD = """\
# Counters

Every counter of the engine and of the detectors that are built with it, made from the tables in their headers
(`*_counters.hpp`) by `anello counters --reference`; a heading names the detector, and the blocks that have the
counters. `anello counters` prints those of running processes, and a run's are in its `summary.json`. `<i>` is the
number of a board, port, group or subscriber.

A counter only rises; a **gauge** says how something stands. Where no unit is given it is a number of things.

A counter has one place. In a balance the ledger accounts for everything of a kind: packets, datagrams, fragments,
hits, parts of events, events, decisions, frames, records, and the exchange's
[multi-fragment packets](mfp.md) (MFPs) and multi-event packets (MEPs). The **verdict** on a run reads a few more,
which say that something was lost or done on purpose. The others are **informative**: times, sizes, and how often
something happened that costs no data. Tests check that each is read where this page says.
"""


def reference() -> str:
    """The whole page as text."""
    return "\n".join([HEAD, *(line for table in _engine.counter_tables() for line in _section(table))])


def _section(table: "CounterTable") -> Iterator[str]:
    whose = f"{table['detector']}: " if table["detector"] else ""
    yield f"## {whose}{table['blocks'] or 'Of captures, in notices'}"
    yield ""
    yield "| counter | unit | place | meaning |"
    yield "|---|---|---|---|"
    for (name, meaning, place), (kind, unit) in zip(table["counters"], table["types"], strict=True):
        yield f"| `{name}` | {' '.join(filter(None, (unit, 'gauge' * (kind == 'gauge'))))} | {place} | {meaning} |"
    yield ""
