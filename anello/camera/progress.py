# SPDX-License-Identifier: Apache-2.0
"""How far a run of the camera chain is."""

import time
from collections.abc import Iterator

from anello.camera.record import silent_boards, slow_boards, total
from anello.camera.summary import in_percent, losses, named, share
from anello.chains import ChainNode
from anello.display import Item, Progress
from anello.record import CounterDict


class CameraMeter:
    """Differences of counters between two looks."""

    def __init__(self, n_events: int) -> None:
        self._n_events = n_events
        self._began = self._last_time = time.monotonic()
        self._last = (0, 0, 0)

    def look(self, node: ChainNode) -> Progress:
        now, counters = time.monotonic(), node.counters()
        items = tuple(self._items(now, counters, node))
        self._last, self._last_time = _sums(counters), now
        return Progress(now - self._began, items)

    def _items(self, now: float, counters: CounterDict, node: ChainNode) -> Iterator[Item]:
        sums, seconds = _sums(counters), max(now - self._last_time, 1e-3)
        events, n_bytes, n_bytes_out = (new - old for new, old in zip(sums, self._last, strict=True))
        yield Item("time", f"{now - self._began:.1f} s")
        yield Item("in", f"{n_bytes * 8e-9 / seconds:.2f} Gb/s")
        incomplete = counters.get("join", {}).get("events_incomplete", 0)
        complete = in_percent(share(counters, "join", "events_complete", "events_out"))
        of = f" of {self._n_events:,}" if self._n_events else ""
        yield Item("built", f"{sums[0]:,}{of}, now {events / seconds:,.0f} /s, {complete} complete", incomplete > 0)
        kept = in_percent(share(counters, "filter", "events_kept", "events_in"))
        yield Item("kept", f"{kept}, out {n_bytes_out * 8e-9 / seconds:.3f} Gb/s")
        lost = losses(counters)
        yield Item("not used", ", ".join(f"{n:,} {words}" for words, n in lost.items()) or "none", bool(lost))
        for kind, boards in (("silent", silent_boards(counters)), ("slow", slow_boards(counters, node.states()))):
            if boards:
                yield Item(kind, f"board {named(boards)}", bad=True)


def _sums(node: CounterDict) -> tuple[int, int, int]:
    """Events, bytes in, bytes out."""
    events, n_bytes_out = node.get("join", {}).get("events_out", 0), node.get("compress", {}).get("bytes_out", 0)
    return events, total(node, "receive.port", "bytes"), n_bytes_out
