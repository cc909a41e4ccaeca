# SPDX-License-Identifier: Apache-2.0
"""How trials are ordered and judged: no measuring here, only reckoning."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Case = TypeVar("Case")


def spread(values: Sequence[float]) -> float:
    """Standard deviation / mean, as the micro benchmarks give it; 0 for a single value."""
    mean = statistics.fmean(values)
    return statistics.stdev(values) / mean if len(values) > 1 and mean else 0.0


def interleaved(cases: Sequence[Case], n_repeats: int) -> Iterator[Case]:
    """All cases, n_repeats times over, each time from another start: a slow minute of the machine hits all alike."""
    for repeat in range(n_repeats):
        first = repeat * len(cases) // n_repeats
        yield from cases[first:]
        yield from cases[:first]


def highest_passing(lowest: float, highest: float, step: float, passes: Callable[[float], bool]) -> float | None:
    """The highest of lowest, lowest + step, ... that passes, by halving; None when the lowest does not.

    Supposes that what passes at a value passes below it. `passes` is asked once per value.
    """
    if not passes(lowest):
        return None
    good, bad = 0, int((highest - lowest) / step + 1e-9) + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if passes(lowest + middle * step):
            good = middle
        else:
            bad = middle
    return lowest + good * step


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
