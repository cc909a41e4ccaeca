# SPDX-License-Identifier: Apache-2.0
"""Delay with which a machine schedules an idle thread that wakes up.

No latency can be better than this. On a virtual machine it is often the larger part of p99.9.
"""

import time
from collections.abc import Callable, Sequence

NAP_S = 20e-6


def measure(
    seconds: float, clock: Callable[[], float] = time.perf_counter, sleep: Callable[[float], None] = time.sleep
) -> list[float]:
    """How much longer than requested each nap of 20 us took, s."""
    late = []
    end = clock() + seconds
    while (began := clock()) < end:
        sleep(NAP_S)
        late.append(clock() - began - NAP_S)
    return late


def share_later_than(late: Sequence[float], seconds: float, delay_s: float) -> float:
    """The share of events at random times that wait for the thread longer than delay_s."""
    return sum(max(0.0, one - delay_s) for one in late) / seconds


def delay_of_share(late: Sequence[float], seconds: float, share: float) -> float:
    """The delay that this share of events exceeds, s: 0.001 gives the machine's own p99.9."""
    low, high = 0.0, max(late, default=0.0)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if share_later_than(late, seconds, middle) > share else (low, middle)
    return high
