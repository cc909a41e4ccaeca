# SPDX-License-Identifier: Apache-2.0
"""Checks of the memory that buffers are made of."""

import re

from anello.doctor.finding import CheckResult, Fix, Price, better, good, not_applicable, sysctl, sysfs
from anello.doctor.subject import Subject
from anello.host.host import CannotTell, Host, PageCost

THP = "sys/kernel/mm/transparent_hugepage"
MAX_HUGE_PAGES = 512  # 1 GiB: more than the buffers of a usual configuration
HUGE_PAGE_KB = 2048
LOCK_BYTES = 1 << 30


def huge_pages(host: Host, subject: Subject) -> CheckResult:
    prices = _page_prices(host.machine.page_cost())
    reserved = host.number("proc/sys/vm/nr_hugepages")
    refusal = host.machine.huge_page_refusal()
    if not refusal:
        return good(f"available, {reserved} are reserved", *prices)
    what = f"none is available ({refusal}), {reserved} are reserved"
    wanted = subject.with_front_ends.receive.memory
    if wanted != "huge":
        return good(f'{what}; receive.memory = "{wanted}" asks for none', *prices)
    return better(
        f"{what}; transparent ones stand in",
        sysctl("huge-pages", vm__nr_hugepages=reserved + _affordable(host)),
        *prices,
    )


def _affordable(host: Host) -> int:
    """At most an eighth of the free memory."""
    available = re.search(r"^MemAvailable:\s+(\d+) kB", host.text("proc/meminfo"), re.M)
    if not available:
        raise CannotTell("/proc/meminfo has no MemAvailable")
    return max(1, min(MAX_HUGE_PAGES, int(available[1]) // 8 // HUGE_PAGE_KB))


def _page_prices(cost: PageCost) -> list[Price]:
    small = Price(cost.small_ns, "ns", "a read at random takes")
    return [small] if cost.huge_ns is None else [small, Price(cost.huge_ns, "ns", f"on {cost.huge_kind}")]


def transparent_huge_pages(host: Host, subject: Subject) -> CheckResult:
    if not host.has(f"{THP}/enabled"):
        return not_applicable("this kernel has none")
    enabled, defrag = _chosen(host, "enabled"), _chosen(host, "defrag")
    what = f"enabled: {enabled}, defrag: {defrag}"
    if enabled == "never":
        return better(f"{what}: buffers cannot have them", sysfs("thp", "madvise", f"{THP}/enabled"))
    if enabled == "always" and defrag == "always":
        return better(f"{what}: any page fault may wait for compaction", sysfs("thp", "madvise", f"{THP}/defrag"))
    return good(what)


def _chosen(host: Host, name: str) -> str:
    """The word in brackets of a text such as `always [madvise] never`."""
    found = re.search(r"\[([\w+]+)\]", host.text(f"{THP}/{name}"))
    if not found:
        raise CannotTell(f"/{THP}/{name} names no choice")
    return found[1]


def memory_lock(host: Host, subject: Subject) -> CheckResult:
    limit = host.machine.memory_lock_bytes()
    if limit is None:
        return good("unlimited")
    what = f"{limit / 2**20:.4g} MiB may be locked"
    if limit >= LOCK_BYTES:
        return good(what)
    command = "printf '* - memlock unlimited\\nroot - memlock unlimited\\n' > /etc/security/limits.d/90-anello.conf"
    return better(what, Fix((command,), advice="from the next login on"))
