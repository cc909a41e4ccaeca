# SPDX-License-Identifier: Apache-2.0
"""How trials are ordered and shown: no measuring here, only reckoning."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from anello.search.trial import spread

Case = TypeVar("Case")


def interleaved(cases: Sequence[Case], n_repeats: int) -> Iterator[Case]:
    """All cases, n_repeats times over, each time from another start: a slow minute of the machine hits all alike."""
    for repeat in range(n_repeats):
        first = repeat * len(cases) // n_repeats
        yield from cases[first:]
        yield from cases[:first]


def of_repeats(values: Sequence[float]) -> dict[str, Any]:
    """The repeats of one case as a JSON line: page.py reads `samples`."""
    return {"median": statistics.median(values), "spread": spread(values), "n_repeats": len(values),
            "samples": list(values)}  # fmt: skip


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text in columns, all but the first to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = (text.ljust(width) if not column else text.rjust(width)
                 for column, (text, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *(line(row) for row in rows)])


def numbers(text: str) -> list[float]:
    """`0.25,0.5,1` as an option gives it."""
    return [float(part) for part in text.split(",")]


def powers_of_two(first: int, last: int) -> list[int]:
    """first, 2 first, ... up to last."""
    values = []
    while first <= last:
        values.append(first)
        first *= 2
    return values
