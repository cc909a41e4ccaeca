# SPDX-License-Identifier: Apache-2.0
"""Short measurements of the cost of this machine's operations, each of at most 1 s."""

import ctypes
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np

from anello.host.host import PageCost
from anello.system import hiccups
from anello.system.priority import going_first

HICCUP_S = 1.0
HICCUP_SHARE = 1e-3
PRIORITY_S, N_PRIORITY_TURNS = 0.8, 4
DEEP_NAP_S, N_DEEP_NAPS = 2e-3, 60
N_CLOCK_CALLS, N_CLOCK_TRIALS = 20_000, 5
REGION_BYTES, N_READS = 64 << 20, 400_000
PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30
TIMER_SLACK_NS = 1000  # the value that the engine's threads use
MAP_HUGETLB = 0x40000


@contextmanager
def _engine_timer_slack() -> Iterator[None]:
    """Lets naps end as promptly as those of the engine's threads; the default of 50 us would hide shorter delays."""
    prctl = ctypes.CDLL(None).prctl
    before = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)
    prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(TIMER_SLACK_NS), 0, 0, 0)
    try:
        yield
    finally:
        prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(max(before, 1)), 0, 0, 0)


def hiccup_s() -> float:
    """The wake-up delay that one arrival in a thousand exceeds, for a thread that naps."""
    with _engine_timer_slack():
        late = hiccups.measure(HICCUP_S)
    return hiccups.delay_of_share(late, HICCUP_S, HICCUP_SHARE)


def real_time_delays_s() -> tuple[float, float] | None:
    """hiccup_s() at ordinary and at real-time priority, in turns so that both see the same load of other programs;
    None: real-time priority is not permitted."""
    late: tuple[list[float], list[float]] = ([], [])
    for turn in range(2 * N_PRIORITY_TURNS):
        with going_first(turn % 2 == 1):
            if turn == 1 and os.sched_getscheduler(0) != os.SCHED_FIFO:
                return None
            with _engine_timer_slack():
                late[turn % 2].extend(hiccups.measure(PRIORITY_S / (2 * N_PRIORITY_TURNS)))
    usual, first = (hiccups.delay_of_share(one, PRIORITY_S / 2, HICCUP_SHARE) for one in late)
    return usual, first


def wake_up_s() -> float:
    """Median wake-up delay after naps of 2 ms, in which an idle core enters its deepest sleep."""
    late = []
    with _engine_timer_slack():
        for _ in range(N_DEEP_NAPS):
            began = time.perf_counter()
            time.sleep(DEEP_NAP_S)
            late.append(time.perf_counter() - began - DEEP_NAP_S)
    return median(late)


def clock_ns() -> float:
    """The cost of reading the clock; the cost of an empty Python call is subtracted."""
    return max(0.0, _call_ns(time.monotonic_ns) - _call_ns(threading.get_ident))


def _call_ns(call: Callable[[], int]) -> float:
    """The fastest of a few trials: the others were interrupted."""
    return min(_trial_ns(call) for _ in range(N_CLOCK_TRIALS))


def _trial_ns(call: Callable[[], int]) -> float:
    began = time.perf_counter_ns()
    for _ in range(N_CLOCK_CALLS):
        call()
    return (time.perf_counter_ns() - began) / N_CLOCK_CALLS


def page_cost() -> PageCost:
    """Times reads at random places in 64 MiB, on small pages and on huge ones."""
    small_ns = _read_ns(0, mmap.MADV_NOHUGEPAGE)
    try:
        return PageCost(small_ns, _read_ns(MAP_HUGETLB, None), "reserved huge pages")
    except OSError:  # no page is reserved: use transparent huge pages, as the engine does then
        pass
    try:
        return PageCost(small_ns, _read_ns(0, mmap.MADV_HUGEPAGE), "transparent huge pages")
    except OSError:
        return PageCost(small_ns, None, "")


def _read_ns(flags: int, advice: int | None) -> float:
    with mmap.mmap(-1, REGION_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags) as region:
        if advice is not None:
            region.madvise(advice)
        values = np.frombuffer(region, np.int64)
        values[:] = 1  # touches every page
        where = np.random.default_rng(1).integers(0, len(values), N_READS)
        trials = []
        for _ in range(3):
            began = time.thread_time_ns()
            values.take(where)
            trials.append(time.thread_time_ns() - began)
        del values
        return min(trials) / N_READS


def huge_page_refusal() -> str:
    """Why no huge page is available; empty: one was allocated and released."""
    try:
        with mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_HUGETLB) as region:
            region[0] = 1
    except OSError as error:
        return error.strerror or str(error)
    return ""
