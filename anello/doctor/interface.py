# SPDX-License-Identifier: Apache-2.0
"""Checks of one network interface: its packets, its rings, its place in the machine."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from anello.doctor.finding import CheckResult, Fix, Price, bad, better, good, not_applicable
from anello.doctor.network import prices
from anello.doctor.subject import Subject
from anello.host.host import CannotTell, Host, parse_cores, show_cores

NET = "sys/class/net"
NODES = "sys/devices/system/node"
JUMBO_BYTES = 9000
RX_DESCRIPTORS = 4096
ENCODING = {2.5: 0.8, 5.0: 0.8}  # GT/s -> share that is data; faster links use 128b/130b
MAX_PARENTS = 4


# --- Packets ------------------------------------------------------------------------------------------------------
def mtu(host: Host, subject: Subject) -> CheckResult:
    """Checks the MTU. The doctor never changes it by itself: on a path that does not pass jumbo frames, a larger MTU
    cuts the host off."""
    name = subject.interface
    wanted = subject.packet_bytes
    now = host.number(f"{NET}/{name}/mtu")
    command = f"ip link set dev {quote(name)} mtu {max(JUMBO_BYTES, wanted)}"
    fix = Fix(advice=f"where switches and front ends pass them (ping -M do -s 8972 NODE, from a front end): {command}")
    if now < wanted:
        return bad(f"{name} takes packets of {now} bytes, front ends send up to {wanted}", fix)
    if now < JUMBO_BYTES:
        return better(f"{name} takes packets of {now} bytes, no jumbo frames", fix)
    if is_loopback(host, name):
        return good(f"{name} takes packets of {now} bytes")
    return good(
        f"{name} takes packets of {now} bytes; whether the path does: ping -M do -s 8972 NODE, from a front end"
    )


def gro(host: Host, subject: Subject) -> CheckResult:
    if not subject.with_front_ends.receive.gro:
        return not_applicable("receive.gro = false")
    name, features = subject.interface, host.machine.features(subject.interface)
    off = [option for option, feature in (("gro", "rx-gro"), ("rx", "rx-checksum")) if not features.get(feature)]
    if not off:
        return good(f"on, checksums verified by {name}; front ends must send a UDP checksum other than 0")
    missing = " and ".join({"gro": "GRO", "rx": "verified checksums, which GRO needs,"}[option] for option in off)
    command = f"ethtool -K {quote(name)} " + " ".join(f"{option} on" for option in off)
    return better(f"{name} is without {missing}".rstrip(","), Fix((command,)), *_gro_price(host))


def _gro_price(host: Host) -> list[Price]:
    try:
        return prices(host.machine.receive_cost())
    except (CannotTell, OSError):
        return []


def rx_ring(host: Host, subject: Subject) -> CheckResult:
    if not is_card(host, subject.interface):
        return not_applicable(f"{subject.interface} is no card")
    now, most = host.machine.rx_ring(subject.interface)
    what = f"{now} receive descriptors of at most {most}"
    if now >= min(most, RX_DESCRIPTORS):
        return good(what)
    return better(
        what,
        Fix(
            (f"ethtool -G {quote(subject.interface)} rx {min(most, 2 * RX_DESCRIPTORS)}",),
            advice="many cards go down for a second",
        ),
    )


# --- Its place in the machine -------------------------------------------------------------------------------------
def pcie(host: Host, subject: Subject) -> CheckResult:
    device = _device(host, subject.interface)
    if device is None or not host.has(f"{device}/current_link_speed"):
        return not_applicable(f"{subject.interface} is not on PCI Express")
    now, most = _link(host, device, "current"), _link(host, device, "max")
    what = f"{now}, {now.gbit_per_s:.0f} Gb/s"
    if now.gbit_per_s >= most.gbit_per_s:
        return good(what)
    fix = Fix(
        advice=f"put the card into a slot of {most}, and look into the BIOS for the slot's speed and power saving"
    )
    speed = _speed_gbit(host, subject.interface)
    text = f"{what}, the card can {most}"
    return bad(f"{text} and receives {speed} Gb/s", fix) if speed > now.gbit_per_s else better(text, fix)


@dataclass(frozen=True)
class _Link:
    gt_per_s: float
    width: int

    @property
    def gbit_per_s(self) -> float:
        return self.gt_per_s * self.width * ENCODING.get(self.gt_per_s, 128 / 130)

    def __str__(self) -> str:
        return f"x{self.width} at {self.gt_per_s:g} GT/s"


def _link(host: Host, device: str, which: str) -> _Link:
    speed = re.match(r"[\d.]+", host.text(f"{device}/{which}_link_speed"))
    if not speed:
        raise CannotTell(f"/{device}/{which}_link_speed: {host.text(f'{device}/{which}_link_speed')[:40]}")
    return _Link(float(speed[0]), host.number(f"{device}/{which}_link_width"))


def _speed_gbit(host: Host, interface: str) -> int:
    try:
        return max(0, host.number(f"{NET}/{interface}/speed")) // 1000
    except CannotTell:  # drivers report nothing while the link is down
        return 0


def numa(host: Host, subject: Subject) -> CheckResult:
    nodes = _nodes(host)
    if len(nodes) < 2:
        return not_applicable("one NUMA node")
    home = _home_node(host, subject.interface)
    if home not in nodes:
        return not_applicable(f"{subject.interface} belongs to no NUMA node")
    local, threads = nodes[home], subject.config.placement
    near = f"threads.cores from {show_cores(local)}"
    if not subject.pinned_cores:
        fix = _pin_to(subject, local)
        return better(f"{subject.interface} is on node {home}, threads run anywhere: pin them, {near}", fix)
    away = [core for core in subject.pinned_cores if core not in local]
    if not away:
        return good(f"{subject.interface} and threads.cores are on node {home}")
    receiving = threads.cores[0] in away
    what = f"{subject.interface} is on node {home}, cores {show_cores(away)} are not"
    return better(f"{what}{', the receiving thread among them' if receiving else ''}", _pin_to(subject, local))


def _pin_to(subject: Subject, cores: frozenset[int]) -> Fix:
    """Pins one core per thread of the layout, as long as there are cores."""
    chosen = sorted(cores)[: len(subject.config.placement.layout)]
    return Fix(advice=f"in the configuration: threads.cores = {chosen}")


def _nodes(host: Host) -> dict[int, frozenset[int]]:
    names = (name for name in host.names(NODES) if re.fullmatch(r"node\d{1,4}", name))
    return {int(name[4:]): host.cores_in(f"{NODES}/{name}/cpulist") for name in names}


def _home_node(host: Host, interface: str) -> int:
    device = _device(host, interface)
    return -1 if device is None else host.number(f"{device}/numa_node")


# --- Interrupts ---------------------------------------------------------------------------------------------------
def irq(host: Host, subject: Subject) -> CheckResult:
    if not is_card(host, subject.interface):
        return not_applicable(f"{subject.interface} has no interrupts")
    queues = dict(_queues(host, subject.interface))
    if not queues:
        raise CannotTell(f"no interrupt of {subject.interface} is known in /proc/interrupts")
    used = frozenset().union(*queues.values())
    where = f"{len(queues)} interrupts of {subject.interface} on cores {show_cores(used)}"
    met = {number for number, cores in queues.items() if cores & set(subject.pinned_cores)}
    free = _cores_for_interrupts(host, subject)
    if met and free:
        what = f"{where}: {len(met)} of them may interrupt threads.cores {show_cores(subject.pinned_cores)}"
        fix = _spread(met, free)
        return bad(f"{what}, which spin", fix) if subject.spins else better(what, fix)
    if len(queues) > 2 and len(used) == 1 and len(free) > 1:
        return better(f"{where} alone", _spread(set(queues), free))
    return good(where)


def _queues(host: Host, interface: str) -> Iterator[tuple[int, frozenset[int]]]:
    """(interrupt, cores that it goes to) of each interrupt in use."""
    device = _device(host, interface)
    own = set(host.names(f"{device}/msi_irqs")) if device else set()
    for line in host.text("proc/interrupts").splitlines()[1:]:
        number, _, rest = line.strip().partition(":")
        if number.isdecimal() and (number in own or re.search(rf"\b{re.escape(interface)}\b", rest)):
            counts = [word for word in rest.split() if word.isdecimal()]
            if any(int(count) for count in counts) and not rest.rstrip().endswith(("config", "async")):
                yield int(number), _cores_of_interrupt(host, number)


def _cores_of_interrupt(host: Host, number: str) -> frozenset[int]:
    try:
        cores = parse_cores(host.text(f"proc/irq/{number}/effective_affinity_list"))
    except CannotTell:
        cores = frozenset()
    return cores or parse_cores(host.text(f"proc/irq/{number}/smp_affinity_list"))


def _cores_for_interrupts(host: Host, subject: Subject) -> list[int]:
    """Cores to which no thread is pinned, on the card's NUMA node where there are any."""
    free = host.online_cores() - set(subject.pinned_cores)
    near = free & _nodes(host).get(_home_node(host, subject.interface), frozenset())
    return sorted(near or free)


def _spread(numbers: set[int], cores: list[int]) -> Fix:
    commands = tuple(
        f"echo {cores[i % len(cores)]} > /proc/irq/{number}/smp_affinity_list"
        for i, number in enumerate(sorted(numbers))
    )
    return Fix(commands, advice="irqbalance would move them again: systemctl disable --now irqbalance")


# --- What it is ---------------------------------------------------------------------------------------------------
def is_loopback(host: Host, interface: str) -> bool:
    return host.number(f"{NET}/{interface}/type") == 772  # ARPHRD_LOOPBACK


def is_card(host: Host, interface: str) -> bool:
    return host.has(f"{NET}/{interface}/device")


def _device(host: Host, interface: str) -> str | None:
    """The interface's PCI device: its own, or the one below its virtual device."""
    if not is_card(host, interface):
        return None
    path = host.real(f"{NET}/{interface}/device")
    for _ in range(MAX_PARENTS):
        if host.has(f"{path}/numa_node"):
            return path
        path = path.rpartition("/")[0]
    return None
