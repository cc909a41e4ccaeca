# SPDX-License-Identifier: Apache-2.0
"""Checks of the kernel's network settings, the same for every interface."""

from collections.abc import Iterator

from anello.doctor.finding import CheckResult, Fix, Price, bad, better, good, not_applicable, sysctl
from anello.doctor.subject import Subject
from anello.host.host import CannotTell, Host, ReceiveCost

NET = "proc/sys/net/core"
SNMP, SOFTNET = "proc/net/snmp", "proc/net/softnet_stat"
PAGE_BYTES = 4096
BACKLOG_PACKETS, BUDGET_PACKETS = 10_000, 600
UDP_CAUSES = {
    "RcvbufErrors": "for lack of room in a socket",
    "MemErrors": "for lack of UDP memory",
    "InCsumErrors": "with a wrong checksum",
}
CARD_CAUSES = {
    "rx_missed_errors": "missed by the card",
    "rx_fifo_errors": "overran the card",
    "rx_dropped": "dropped at the interface",
}


def socket_buffer(host: Host, subject: Subject) -> CheckResult:
    wanted = subject.with_front_ends.receive.socket_buffer_bytes
    limit = host.number(f"{NET}/rmem_max")
    had = host.machine.socket_buffer(wanted)
    price = Price(had / 2**20, "MiB", f"of {wanted / 2**20:.4g} MiB asked for, a socket gets")
    if had >= wanted:
        how = "" if limit >= wanted else f", past net.core.rmem_max = {limit}, since this user may"
        return good(f"receive.socket_buffer_bytes is available{how}", price)
    what = f"net.core.rmem_max = {limit} is below receive.socket_buffer_bytes"
    fix = sysctl("socket-buffer", net__core__rmem_max=wanted)
    return bad(what, fix, price) if had < wanted / 4 else better(what, fix, price)


def udp_memory(host: Host, subject: Subject) -> CheckResult:
    """Checks the receive memory. The kernel counts twice the size that a socket requests, as in SO_RCVBUF."""
    path = "proc/sys/net/ipv4/udp_mem"
    try:
        low, pressure, most = (int(word) for word in host.text(path).split())
    except ValueError as error:
        raise CannotTell(f"/{path} does not hold three numbers") from error
    receive = subject.with_front_ends.receive
    pages = 2 * len(receive.ports) * receive.socket_buffer_bytes // PAGE_BYTES
    what = f"full sockets take {pages * PAGE_BYTES >> 20} MiB of the {most * PAGE_BYTES >> 20} MiB allowed for UDP"
    if pages <= most:
        return good(what)
    return better(what, sysctl("udp-memory", net__ipv4__udp_mem=f"{low} {pressure} {2 * pages}"))


def backlog(host: Host, subject: Subject) -> CheckResult:
    now = host.number(f"{NET}/netdev_max_backlog")
    dropped = sum(row[1] for row in _softnet(host.text(SOFTNET)))
    what = f"net.core.netdev_max_backlog = {now}, {dropped:,} packets found it full since boot"
    if now >= BACKLOG_PACKETS:
        return good(what)
    return better(what, sysctl("backlog", net__core__netdev_max_backlog=3 * BACKLOG_PACKETS))


def budget(host: Host, subject: Subject) -> CheckResult:
    now = host.number(f"{NET}/netdev_budget")
    squeezed = sum(row[2] for row in _softnet(host.text(SOFTNET)))
    what = f"net.core.netdev_budget = {now}, used up {squeezed:,} times since boot"
    if now >= BUDGET_PACKETS or not squeezed:
        return good(what)
    return better(what, sysctl("budget", net__core__netdev_budget=BUDGET_PACKETS))


def drops(host: Host, subject: Subject) -> CheckResult:
    """Checks drops. Earlier ones are a hint; those that happen during the check are a fault."""
    before, now = dict(_drops(host, subject, earlier=True)), dict(_drops(host, subject, earlier=False))
    lost = ", ".join(f"{n:,} {cause}" for cause, n in now.items() if n)
    grown = {cause: n - before.get(cause, n) for cause, n in now.items() if n > before.get(cause, n)}
    fix = Fix(advice="the other findings name the causes; `nstat -az 'Udp*'` and `ip -s -s link` show the counters")
    if grown:
        more = ", ".join(f"{n:,} {cause}" for cause, n in grown.items())
        return bad(f"packets are being lost now: {more}", fix, Price(sum(grown.values()), "packets", "lost just now"))
    return better(f"since boot: {lost}; none just now", fix) if lost else good("none since boot")


def drop_paths(interface: str) -> list[str]:
    """The counters that drops() compares."""
    return [SNMP, SOFTNET, *(f"sys/class/net/{interface}/statistics/{name}" for name in CARD_CAUSES)]


def _drops(host: Host, subject: Subject, *, earlier: bool) -> Iterator[tuple[str, int]]:
    read = host.earlier if earlier else host.text
    udp = _udp(read(SNMP))
    for name, cause in UDP_CAUSES.items():
        yield cause, udp.get(name, 0)
    yield "in the backlog", sum(row[1] for row in _softnet(read(SOFTNET)))
    for name, cause in CARD_CAUSES.items():
        path = f"sys/class/net/{subject.interface}/statistics/{name}"
        if host.has(path):
            text = read(path)
            yield cause, int(text) if text.isdecimal() else 0


def _udp(snmp: str) -> dict[str, int]:
    lines = [line.split()[1:] for line in snmp.splitlines() if line.startswith("Udp:")]
    if len(lines) != 2 or not all(word.lstrip("-").isdecimal() for word in lines[1]):
        raise CannotTell(f"/{SNMP} has no counters of UDP")
    return dict(zip(lines[0], (int(word) for word in lines[1]), strict=False))


def _softnet(text: str) -> list[list[int]]:
    """One row per core: packets, drops, exhausted budgets, ..."""
    try:
        rows = [[int(word, 16) for word in line.split()] for line in text.splitlines()]
    except ValueError as error:
        raise CannotTell(f"/{SOFTNET} holds what is no number") from error
    if not rows or min(len(row) for row in rows) < 3:
        raise CannotTell(f"/{SOFTNET} has fewer columns than we know")
    return rows


def udp_gso(host: Host, subject: Subject) -> CheckResult:
    key = f"{subject.with_front_ends.source_section}.offload"
    if subject.value(key) != "gso":
        return not_applicable(f"{key} does not ask for it")
    if not host.machine.udp_gso():
        return better("this kernel has no UDP_SEGMENT", Fix(advice=f"it needs Linux 4.18; {key} = none"))
    if host.machine.features(subject.interface).get("tx-udp-segmentation"):
        return good(f"sockets take it, and {subject.interface} cuts packets itself")
    return good(f"sockets take it; the kernel cuts packets before they reach {subject.interface}")


def receive_cost(host: Host, subject: Subject) -> CheckResult:
    cost = host.machine.receive_cost()
    if cost.with_gro_ns is None:
        return better("the kernel does not gather datagrams (UDP_GRO)", Fix(advice="it needs Linux 5.0"), *prices(cost))
    return good(f"loopback, {1e3 / cost.plain_ns:.2f} M datagrams/s on one core without GRO", *prices(cost))


def prices(cost: ReceiveCost) -> list[Price]:
    """The cost of receiving a datagram of 1 kB."""
    plain = Price(cost.plain_ns, "ns", "a datagram of 1 kB takes")
    return [plain] if cost.with_gro_ns is None else [plain, Price(cost.with_gro_ns, "ns", "with GRO")]
