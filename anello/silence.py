# SPDX-License-Identifier: Apache-2.0
"""Says when no front end sends any more: frozen, killed, unplugged, or at their end without a word."""

import time
from collections.abc import Callable

from anello.record import CounterDict

SILENT_AFTER_S = 2.0
MARGIN_S = 0.5  # beyond the longest pause that front ends make by themselves


class SilenceWatch:
    """Looks at a node's counters now and then. longest_pause_s: that front ends may make, as between two bursts.

    Silence counts from the first datagram on: before it a node waits for front ends to come.
    """

    def __init__(self, longest_pause_s: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._after_s = max(SILENT_AFTER_S, longest_pause_s + MARGIN_S)
        self._clock = clock
        self._n_datagrams = 0
        self._last_came_s = clock()
        self._is_told = False

    def look(self, counters: CounterDict) -> list[str]:
        """Lines for the operator: when silence begins, and when it ends."""
        n_datagrams, now_s = datagrams(counters), self._clock()
        silent_s = now_s - self._last_came_s
        if n_datagrams != self._n_datagrams:
            was_told, self._is_told = self._is_told, False
            self._n_datagrams, self._last_came_s = n_datagrams, now_s
            return [f"front ends send again, after {silent_s:.1f} s"] if was_told else []
        if not n_datagrams or self._is_told or silent_s < self._after_s:
            return []
        self._is_told = True
        return [
            f"no front end has sent for {silent_s:.1f} s: check that they are running and connected; "
            "Ctrl-C ends the run with its ledger"
        ]


def datagrams(counters: CounterDict) -> int:
    """Received so far, on all ports."""
    return sum(
        block.get("datagrams", 0)
        for name, block in counters.items()
        if name.startswith(("receive.board", "receive.port")) and not name.endswith(".verdict")
    )
