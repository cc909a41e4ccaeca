# SPDX-License-Identifier: Apache-2.0
"""The cost of findings in latency: how much they add to its p99.9.

The cost is measured where the check measured it, on this host and just now; otherwise it is the most that the mechanism
can take at once, marked as estimated. A buffer that is too small delays nothing: it loses data.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from anello.doctor.finding import Basis, CheckResult, Cost, Grade
from anello.host.cores import KERNEL
from anello.host.host import CannotTell, Host

BASE_SLICE_US, MOST_CORES = 700, 8  # the scheduler's (EEVDF): times 1 + log2 of the cores, which count up to 8
N_STAMPS = 10  # clock readings per event, most of them once per batch
BATCH_US = 21  # a lane's work on a batch at 150,000 events/s (docs/explanation/latency.md)
MEASURED_S = 1.0  # stolen time is counted over the second in which hiccups are measured

Estimate = Callable[[Host, CheckResult], Cost | None]


def cost_of(check: str, host: Host, verdict: CheckResult) -> Cost | None:
    """The cost of a verdict; None: it costs nothing, or the cost is unknown."""
    measured = verdict.cost is not None and verdict.cost.basis == Basis.MEASURED
    if measured or verdict.result not in (Grade.BAD, Grade.COULD_BE_BETTER):
        return verdict.cost
    if check in LOSING:
        return Cost(Basis.LOSSES)
    try:
        return ESTIMATES[check](host, verdict) if check in ESTIMATES else verdict.cost
    except CannotTell:
        return None


def priced(check: str, host: Host, verdict: CheckResult) -> CheckResult:
    return replace(verdict, cost=cost_of(check, host, verdict))


def _estimated(us: float, of: str) -> Cost:
    return Cost(Basis.ESTIMATED, us, of)


def _turn(host: Host, verdict: CheckResult) -> Cost:
    return _estimated(turn_us(host), "another program's turn on the core, at usual priority")


def turn_us(host: Host) -> float:
    """How long, in us, the scheduler lets an ordinary thread run before another one that waits."""
    try:
        return host.number("sys/kernel/debug/sched/base_slice_ns") * 1e-3
    except CannotTell:  # only root may read it
        n_cores = max(1, min(MOST_CORES, len(host.machine.allowed_cores())))
        return BASE_SLICE_US * (1 + math.floor(math.log2(n_cores)))


def _throttling(host: Host, verdict: CheckResult) -> Cost:
    stopped_us = host.number(f"{KERNEL}/sched_rt_period_us") - host.number(f"{KERNEL}/sched_rt_runtime_us")
    return _estimated(stopped_us, "the rest of the period, in which real-time threads stand")


def _quota(host: Host, verdict: CheckResult) -> Cost | None:
    """The cost of a CPU quota. The finding's text begins with the group's name."""
    group = verdict.what.partition(" ")[0]
    path = f"{group}/cpu.max" if host.has(f"{group}/cpu.max") else f"{group}/cpu.cfs_period_us"
    period = host.text(path).split()[-1:]
    return _estimated(float(period[0]), "a period") if period and period[0].isdecimal() else None


def _governor(host: Host, verdict: CheckResult) -> Cost:
    policy = "sys/devices/system/cpu/cpu0/cpufreq"
    switch_us = host.number(f"{policy}/cpuinfo_transition_latency") * 1e-3
    return _estimated(switch_us, "a change of frequency")


def _softirq(host: Host, verdict: CheckResult) -> Cost:
    return _estimated(host.number("proc/sys/net/core/netdev_budget_usecs"), "the card's turn on the core")


def _stolen(host: Host, verdict: CheckResult) -> Cost:
    return _estimated(verdict.prices[0].value * 1e-2 * MEASURED_S * 1e6, "what was taken in a second, if at once")


def _half(host: Host, verdict: CheckResult) -> Cost:
    return _estimated(BATCH_US, "work takes up to twice as long")


def _clock(host: Host, verdict: CheckResult) -> Cost:
    return Cost(Basis.MEASURED, N_STAMPS * verdict.prices[0].value * 1e-3, f"{N_STAMPS} readings")


LOSING = frozenset({"socket-buffer", "udp-memory", "backlog", "budget", "rx-ring", "pcie", "drops"})
# fmt: off
ESTIMATES: dict[str, Estimate] = {
    "cores": _turn, "isolation": _turn, "autogroup": _turn, "real-time": _turn, "rt-throttling": _throttling,
    "cpu-quota": _quota, "governor": _governor, "irq": _softirq, "steal": _stolen, "smt": _half, "clock": _clock,
}
# fmt: on
