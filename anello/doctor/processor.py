# SPDX-License-Identifier: Apache-2.0
"""Checks of the cores that threads run on, and of what takes time from them."""

import re
from collections import Counter
from shlex import quote

from anello.doctor.finding import CheckResult, Fix, Price, bad, better, costing, good, not_applicable, sysctl, sysfs
from anello.doctor.subject import Subject
from anello.host.cores import KERNEL, listed, quotas, siblings_of
from anello.host.host import CPU, CannotTell, Host, show_cores

STAT = "proc/stat"
DEEP_US = 10  # wake-ups slower than this are visible in a latency of 100 us
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource")
GOOD_HICCUP_S, DEADLINE_S = 200e-6, 1e-3
GOOD_STEAL, BAD_STEAL = 0.005, 0.05


# --- Enough cores, the right ones ---------------------------------------------------------------------------------
def cores(host: Host, subject: Subject) -> CheckResult:
    allowed = host.machine.allowed_cores()
    n_threads, pinned = subject.config.n_threads, subject.pinned_cores
    what = f"{n_threads} threads, {len(allowed)} cores"
    missing = sorted(set(pinned) - allowed)
    if missing:
        return bad(f"threads.cores names {show_cores(missing)}; usable are {show_cores(allowed)}", _choose(allowed))
    shared = sorted(core for core, n in Counter(pinned).items() if n > 1)
    if shared:
        return better(f"several threads are pinned to core {show_cores(shared)}", _choose(allowed))
    if n_threads < len(allowed) or (n_threads == len(allowed) and not subject.spins):
        return good(what)
    fewer = "join stages in threads.layout, ask for fewer threads of a stage, or take a larger machine"
    if subject.spins:
        fix = Fix(advice=f'in the configuration: threads.wait = "sleep"; or {fewer}')
        return bad(f"{what}: threads that spin take cores from each other and from the kernel", fix)
    return better(f"{what}: threads take turns", Fix(advice=fewer))


def _choose(allowed: frozenset[int]) -> Fix:
    return Fix(advice=f"in the configuration: threads.cores from {show_cores(allowed)}, each once")


def smt(host: Host, subject: Subject) -> CheckResult:
    siblings = dict(siblings_of(host))
    if not siblings:
        raise CannotTell(f"/{CPU}/cpu*/topology/thread_siblings_list: there is none")
    if all(len(group) == 1 for group in siblings.values()):
        return not_applicable("one thread per core")
    if not subject.pinned_cores:
        return not_applicable("threads.cores pins none")
    pinned = set(subject.pinned_cores)
    pairs = sorted({tuple(sorted(siblings.get(core, frozenset()) & pinned)) for core in pinned})
    shared = [pair for pair in pairs if len(pair) > 1]
    if not shared:
        return good(f"threads.cores {show_cores(pinned)} are cores of their own")
    first = sorted({min(group) for group in siblings.values()})
    text = ", ".join("+".join(map(str, pair)) for pair in shared)
    return better(
        f"in threads.cores, {text} are two halves of one core",
        Fix(advice=f"in the configuration: threads.cores from {show_cores(first)}"),
    )


def isolation(host: Host, subject: Subject) -> CheckResult:
    pinned = set(subject.pinned_cores)
    if not pinned:
        return not_applicable("threads.cores pins none")
    isolated, tickless = listed(host, "isolated"), listed(host, "nohz_full")
    missing = sorted(pinned - isolated) or (sorted(pinned - tickless) if subject.spins else [])
    if not missing:
        return good(f"threads.cores {show_cores(pinned)} are isolated")
    wanted = show_cores(pinned)
    line = f"isolcpus=managed_irq,domain,{wanted} nohz_full={wanted} rcu_nocbs={wanted}"
    write = (
        f"printf 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {line}\"\\n' > /etc/default/grub.d/anello.cfg && update-grub"
    )
    fix = Fix(persist=write, advice=f"from the next boot, by the kernel's command line: {line}")
    kind = "isolated" if pinned - isolated else "without the scheduler's tick (nohz_full)"
    return better(f"cores {show_cores(missing)} of threads.cores are not {kind}", fix)


# --- How fast they are --------------------------------------------------------------------------------------------
def governor(host: Host, subject: Subject) -> CheckResult:
    found = Counter(
        host.text(f"{CPU}/{name}/cpufreq/scaling_governor")
        for name in host.names(CPU)
        if host.has(f"{CPU}/{name}/cpufreq/scaling_governor")
    )
    if not found:
        return not_applicable("no cpufreq here: firmware or the hypervisor decides")
    what = ", ".join(f"{name} on {n} cores" for name, n in found.most_common())
    if set(found) == {"performance"}:
        return good(what)
    return better(what, sysfs("governor", "performance", f"{CPU}/cpu*/cpufreq/scaling_governor"))


def idle_states(host: Host, subject: Subject) -> CheckResult:
    late_us = host.machine.wake_up_s() * 1e6
    price = Price(late_us, "µs", "a wake-up after 2 ms takes")
    states = f"{CPU}/cpu0/cpuidle"
    names = [name for name in host.names(states) if re.fullmatch(r"state\d{1,2}", name)]
    if not names:
        return good("the kernel knows no idle states here: firmware or the hypervisor decides", price)
    deep = [name for name in names if _is_deep(host, f"{states}/{name}")]
    if not deep:
        return good(f"none that takes longer than {DEEP_US} µs to leave", price)
    known = ", ".join(
        f"{host.text(f'{states}/{name}/name')} ({host.number(f'{states}/{name}/latency')} µs)" for name in deep
    )
    fix = sysfs("idle-states", 1, *(f"{CPU}/cpu*/cpuidle/{name}/disable" for name in deep))
    return costing(better(f"cores may fall into {known}", fix, price), late_us, "a wake-up after 2 ms")


def _is_deep(host: Host, state: str) -> bool:
    return host.number(f"{state}/latency") > DEEP_US and host.number(f"{state}/disable") == 0


def clock(host: Host, subject: Subject) -> CheckResult:
    folder = "sys/devices/system/clocksource/clocksource0"
    price = Price(host.machine.clock_ns(), "ns", "a reading takes")
    now = host.text(f"{folder}/current_clocksource")
    if now in FAST_CLOCKS:
        return good(f"{now}, read without a system call", price)
    if "tsc" in host.text(f"{folder}/available_clocksource").split():
        fix = Fix((f"echo tsc > /{folder}/current_clocksource",), advice="for later boots: clocksource=tsc")
    else:
        fix = Fix(advice="the kernel trusts no better one: `dmesg | grep -i tsc` tells why")
    return bad(f"{now}: every stamp is a system call", fix, price)


# --- Who else takes them ------------------------------------------------------------------------------------------
def real_time(host: Host, subject: Subject) -> CheckResult:
    delays = host.machine.real_time_delays_s()
    if delays is None:
        fix = Fix(advice="give the user LimitRTPRIO (systemd), rtprio (limits.conf) or the program CAP_SYS_NICE")
        return better("not permitted: other programs keep threads waiting that have data", fix)
    usual_us, first_us = (delay_s * 1e6 for delay_s in delays)
    price = Price(first_us, "µs", f"one arrival in 1000 waits {usual_us:,.0f} µs without it, with it")
    return good("permitted", price)


def rt_throttling(host: Host, subject: Subject) -> CheckResult:
    runtime_us = host.number(f"{KERNEL}/sched_rt_runtime_us")
    if runtime_us < 0:
        return good("off")
    what = f"real-time threads get {runtime_us / 1e3:g} ms of each second"
    if not host.machine.is_real_time():
        return good(f"{what}; Anello's run at normal priority")
    fix = sysctl("rt-throttling", kernel__sched_rt_runtime_us=-1)
    if subject.spins:
        return bad(f"{what}, this shell's are real-time, and threads.wait = spin", fix)
    return better(f"{what}, and this shell's are real-time", fix)


def autogroup(host: Host, subject: Subject) -> CheckResult:
    path = f"{KERNEL}/sched_autogroup_enabled"
    if not host.has(path):
        return not_applicable("this kernel has none")
    if not host.number(path):
        return good("off")
    fix = sysctl("autogroup", kernel__sched_autogroup_enabled=0)
    return better("on: a terminal's programs share one terminal's part, and nice does not reach beyond it", fix)


def steal(host: Host, subject: Subject) -> CheckResult:
    before, now = _cpu_times(host.earlier(STAT)), _cpu_times(host.text(STAT))
    passed = sum(now) - sum(before)
    times = [new - old for new, old in zip(now, before, strict=True)] if passed > 0 else now
    share = max(0, times[7]) / max(1, sum(times))
    price = Price(100 * share, "%", "taken just now" if passed > 0 else "taken since boot")
    fix = Fix(advice="this is a virtual machine with neighbours: ask for dedicated cores, or measure on real ones")
    if share > BAD_STEAL:
        return bad("the hypervisor takes cores away", fix, price)
    if share > GOOD_STEAL:
        return better("the hypervisor takes cores away now and then", fix, price)
    return good("the hypervisor, if there is one, leaves the cores here", price)


def _cpu_times(stat: str) -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal: the first two include guests."""
    words = stat.partition("\n")[0].split()
    if words[:1] != ["cpu"] or len(words) < 9 or not all(word.isdecimal() for word in words[1:9]):
        raise CannotTell(f"/{STAT} does not begin with the times of all cores")
    return [int(word) for word in words[1:9]]


def cpu_quota(host: Host, subject: Subject) -> CheckResult:
    limits = list(quotas(host))
    if not limits:
        return good("none")
    least, path = min(limits)
    what = f"{path} allows {least:.3g} cores, then stops all threads until its period is over"
    command = f"echo max > {quote(f'/{path}/cpu.max')}"
    if not host.has(f"{path}/cpu.max"):
        command = f"echo -1 > {quote(f'/{path}/cpu.cfs_quota_us')}"
    fix = Fix((command,), advice="in a container: start it without --cpus, with --cpuset-cpus instead")
    return bad(what, fix) if least < subject.config.n_threads else better(what, fix)


def hiccups(host: Host, subject: Subject) -> CheckResult:
    late_s = host.machine.hiccup_s()
    return costing(_of_hiccup(late_s), late_s * 1e6, "one arrival in 1000")


def _of_hiccup(late_s: float) -> CheckResult:
    price = Price(late_s * 1e6, "µs", "one arrival in 1000 waits longer than")
    fix = Fix(advice="stop what else runs here; then the findings on idle states, steal, isolation, interrupts")
    if late_s >= DEADLINE_S:
        return bad("no p99.9 of this machine can be below 1 ms now, whatever the program", fix, price)
    if late_s >= GOOD_HICCUP_S:
        return better("the machine itself takes a good part of 1 ms", fix, price)
    return good("a thread that wakes is let in", price)
