# SPDX-License-Identifier: Apache-2.0
"""Reports when no front end sends any more: frozen, killed, unplugged, or ended without an end of run."""

import time
from collections.abc import Callable
from datetime import datetime

from anello.account.record import CounterDict

SILENT_AFTER_S = 2.0
AGAIN_AFTER = 10.0  # factor to the next report: after 2 s, 20 s, 200 s
MARGIN_S = 0.5  # beyond the longest pause that front ends make by configuration


class SilenceWatch:
    """Watches a node's counters. longest_pause_s: pause that front ends may make, as between two bursts.

    Silence is counted only after the first datagram: before it a node waits for its front ends.
    """

    def __init__(
        self,
        longest_pause_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._after_s = self._next_s = max(SILENT_AFTER_S, longest_pause_s + MARGIN_S)
        self._clock, self._wall_clock = clock, wall_clock
        self._n_datagrams = 0
        self._last_came_s = clock()

    def look(self, counters: CounterDict) -> list[str]:
        """Lines for the operator: when silence begins, at growing intervals while it lasts, and when it ends."""
        n_datagrams, now_s = datagrams(counters), self._clock()
        silent_s = now_s - self._last_came_s
        if n_datagrams != self._n_datagrams:
            was_reported, self._next_s = self._next_s > self._after_s, self._after_s
            self._n_datagrams, self._last_came_s = n_datagrams, now_s
            return [f"front ends send again, after {silent_s:.1f} s"] if was_reported else []
        if not n_datagrams or silent_s < self._next_s:
            return []
        self._next_s = AGAIN_AFTER * silent_s
        since = datetime.fromtimestamp(self._wall_clock() - silent_s).astimezone()
        return [
            f"no front end has sent for {silent_s:.1f} s, since {since:%H:%M:%S}: check that they are running and "
            "connected; if they have ended, nothing more will come, and Ctrl-C ends the run with its ledger"
        ]


def datagrams(counters: CounterDict) -> int:
    """Datagrams received so far on all ports; where the network card has merged, all frames that it received."""
    if "nanet.merge" in counters:
        return counters["nanet"].get("frames", 0)
    return sum(
        block.get("datagrams", 0)
        for name, block in counters.items()
        if name.startswith(("receive.board", "receive.port")) and not name.endswith(".verdict")
    )
