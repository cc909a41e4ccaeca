# SPDX-License-Identifier: Apache-2.0
"""All checks, why each matters, and their results on a host."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from anello.configuration.load import Config, load
from anello.doctor import engine_parts, interface, memory, network, processor, sockets
from anello.doctor.costs import priced
from anello.doctor.finding import CheckResult, Finding, Grade, NotApplicable
from anello.doctor.subject import Subject
from anello.errors import ConfigError
from anello.host.host import CannotTell, Host

NET = "sys/class/net"
ROUTES = "proc/net/route"


@dataclass(frozen=True)
class Check:
    """A check's name, the reason why it matters, and its function."""

    name: str
    why: str
    look: Callable[[Host, Subject], CheckResult]


# The measurement of hiccups takes 1 s; the counts of drops and stolen time follow it, and so cover that second.
CHECKS = (
    Check("socket-buffer", "bursts wait in the socket; what does not fit is lost", network.socket_buffer),
    Check("udp-memory", "all sockets together may not hold more than this", network.udp_memory),
    Check("backlog", "packets that are handed to another core, or come over loopback, queue here", network.backlog),
    Check("budget", "packets that the kernel takes from the card before it pauses", network.budget),
    Check("mtu", "larger packets cost fewer system calls per byte; too large ones never arrive", interface.mtu),
    Check("gro", "several datagrams of a board pass the kernel as one", interface.gro),
    Check("udp-gso", "front ends send several packets with one system call", network.udp_gso),
    Check("rx-ring", "packets wait in the card's ring while the kernel is busy", interface.rx_ring),
    Check("pcie", "a slot that is too narrow drops packets in the card", interface.pcie),
    Check("irq", "an interrupt on a thread's core stops that thread", interface.irq),
    Check("numa", "packets of another node's card cross the link between processors", interface.numa),
    Check("interleaving", "memory spread over processors is far away half of the time", sockets.interleaving),
    Check(
        "far-threads",
        "threads that hand buffers to each other across processors wait for the link",
        sockets.far_threads,
    ),
    Check("cores", "threads that share a core wait for each other", processor.cores),
    Check("smt", "two halves of a core share its arithmetic and caches", processor.smt),
    Check("isolation", "the scheduler puts other programs on cores that are not set aside", processor.isolation),
    Check("governor", "a core that saves power is slow when a burst begins", processor.governor),
    Check("idle-states", "a core in deep sleep wakes late", processor.idle_states),
    Check("clock", "every packet, batch and event reads the clock", processor.clock),
    Check("real-time", "a thread with this priority does not wait for other programs", processor.real_time),
    Check("rt-throttling", "the kernel stops real-time threads that spin, for 50 ms a second", processor.rt_throttling),
    Check("autogroup", "a build in another terminal gets as much as the run", processor.autogroup),
    Check("cpu-quota", "a used-up quota stops all threads for up to 100 ms", processor.cpu_quota),
    Check("huge-pages", "fewer address translations for buffers that are read once", memory.huge_pages),
    Check("thp", "the kernel's own huge pages, and what it does to get them", memory.transparent_huge_pages),
    Check("memory-lock", "memory for cards and GPUs must stay where it is", memory.memory_lock),
    Check("receive-backends", "the ways to receive that work here", engine_parts.receive_backends),
    Check("fabric", "the ways for nodes to reach each other that work here", engine_parts.fabric),
    Check("cuda", "rings can be found on a GPU", engine_parts.cuda),
    Check("receive-cost", "what the kernel takes for a datagram bounds the rate of one core", network.receive_cost),
    Check("hiccups", "no latency is better than the machine's own", processor.hiccups),
    Check("steal", "what a neighbour takes is missing here, all at once", processor.steal),
    Check("drops", "what the kernel dropped nobody can build events from", network.drops),
)


def examine(host: Host, subject: Subject, only: Sequence[str] = ()) -> list[Finding]:
    """The findings of all checks, or of those named, worst and most expensive first. All checks together take about
    4 s."""
    host.remember(processor.STAT, *network.drop_paths(subject.interface))
    findings = [_finding(check, host, subject) for check in CHECKS if not only or check.name in only]
    return sorted(findings, key=lambda one: (list(Grade).index(one.result), -(one.cost.us if one.cost else 0.0)))


def _finding(check: Check, host: Host, subject: Subject) -> Finding:
    try:
        verdict = priced(check.name, host, check.look(host, subject))
    except CannotTell as reason:
        verdict = CheckResult(Grade.CANNOT_TELL, str(reason))
    except NotApplicable as reason:
        verdict = CheckResult(Grade.NOT_APPLICABLE, str(reason))
    except OSError as error:
        verdict = CheckResult(Grade.CANNOT_TELL, error.strerror or str(error))
    what = _one_line(verdict.what)
    return Finding(check.name, check.why, verdict.result, what, verdict.fix, verdict.prices, verdict.cost)


def _one_line(text: str) -> str:
    """The text on one line: names and files of the host may hold any bytes, which a terminal and a script's comment
    must not."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


# --- Which interface ----------------------------------------------------------------------------------------------
def make_subject(host: Host, config: Config | None, wanted: str | None) -> Subject:
    """The subject. Its interface is the one named, else the one with the configuration's address, else that of the
    default route."""
    if wanted is not None:
        known = host.names(NET)
        if wanted not in known or not re.fullmatch(r"[\w.:@][\w.:@-]{0,14}", wanted):
            raise ConfigError("--interface", f"must be one of {', '.join(known) or 'none'}", wanted, "See ip link")
        return Subject(config or load(None), wanted, config is not None)
    name = _interface_of(host, config) if config else ""
    return Subject(config or load(None), name or next(_default_routes(host), "lo"), config is not None)


def _interface_of(host: Host, config: Config) -> str:
    """The interface with the configuration's address. Empty: no interface has this address, or all have."""
    try:
        return host.machine.interface_with(config.host)
    except (CannotTell, OSError):
        return ""


def _default_routes(host: Host) -> Iterator[str]:
    try:
        rows = [line.split() for line in host.text(ROUTES).splitlines()[1:]]
    except CannotTell:
        return
    for row in rows:
        if len(row) > 1 and row[1] == "00000000" and host.has(f"{NET}/{row[0]}"):
            yield row[0]
