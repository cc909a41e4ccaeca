# SPDX-License-Identifier: Apache-2.0
"""Display of `anello source`: progress while front ends send, and a summary in a few lines."""

import time
from collections.abc import Callable, Iterator

from anello.account.ledger import total
from anello.account.record import CounterDict
from anello.run.display import Item, Progress

MADE = ("packets", "fragments", "hits")
OTHERWISE = {  # counter of a board -> words, shown where it is not 0
    "packets_dead_board": "packets of a dead board",
    "packets_lost_injected": "packets lost on purpose",
    "packets_truncated_injected": "packets truncated on purpose",
    "packets_corrupted_injected": "packets corrupted on purpose",
    "packets_duplicated_injected": "packets sent twice on purpose",
    "packets_reordered_injected": "packets out of order on purpose",
    "packets_not_sent": "packets not sent",
    "send_refused": "datagrams refused by the system",
    "send_no_buffers": "datagrams that the system had no buffer for",
    "send_failed": "datagrams that could not be sent",
}


def _of_boards(counters: CounterDict, name: str) -> int:
    return total(counters, "source.board", name)


class SendingMeter:
    """Reads the front ends' counters from time to time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_s = self._last_s = clock()
        self._last = (0, 0)

    def look(self, counters: CounterDict) -> Progress:
        now_s = self._clock()
        sums = _of_boards(counters, "datagrams_sent"), _of_boards(counters, "bytes_sent")
        datagrams, n_bytes = (new - old for new, old in zip(sums, self._last, strict=True))
        seconds = max(now_s - self._last_s, 1e-3)
        self._last, self._last_s = sums, now_s
        behind_s = counters.get("source", {}).get("time_forgone_ns", 0) * 1e-9
        items = [
            Item("time", f"{now_s - self._began_s:.1f} s"),
            Item("datagrams", f"{sums[0]:,}, now {datagrams / seconds:,.0f} /s"),
            Item("out", f"{n_bytes * 8e-9 / seconds:.3g} Gb/s"),
        ]
        if behind_s:
            items.append(Item("forgone", f"{behind_s:.2g} s", bad=True))
        return Progress(now_s - self._began_s, tuple(items))


def summary(counters: CounterDict, seconds: float) -> Iterator[str]:
    """Lines for people; --json has every counter."""
    datagrams, n_bytes = _of_boards(counters, "datagrams_sent"), _of_boards(counters, "bytes_sent")
    boards = sum(name.removeprefix("source.board").isdigit() for name in counters)
    per_s = 1 / seconds if seconds else 0.0
    yield (
        f"{datagrams:,} datagrams sent by {boards} board{'s' * (boards != 1)} in {seconds:.3g} s: "
        f"{datagrams * per_s:,.0f} /s, {n_bytes * 8e-9 * per_s:.3g} Gb/s"
    )
    made = [f"{n:,} {name}" for name in MADE if (n := _of_boards(counters, name))]
    own = counters.get("source", {})
    yield "made: " + ", ".join([f"{own.get('events', 0):,} events", *made])
    otherwise = [f"{n:,} {words}" for name, words in OTHERWISE.items() if (n := _of_boards(counters, name))]
    if otherwise:
        yield "not all as made: " + ", ".join(otherwise)
    if own.get("time_forgone_ns"):
        forgone_s = own["time_forgone_ns"] * 1e-9
        yield f"not at rate: the front ends were too slow, they reset their clock by {forgone_s:.2g} s"
