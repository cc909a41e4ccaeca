# SPDX-License-Identifier: Apache-2.0
"""The cores, caches, memory and cards of a host, read from its files: for the doctor's picture, and to place nodes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anello.host.host import CPU, CannotTell, Host, show_cores

NODES = "sys/devices/system/node"
NET = "sys/class/net"
INFINIBAND = "sys/class/infiniband"


@dataclass(frozen=True)
class Core:
    """A physical core and its logical cores."""

    number: int
    package: int
    node: int  # number of the memory node
    threads: tuple[int, ...]


@dataclass(frozen=True)
class Cache:
    level: int
    kind: str  # Unified, Data
    size: str  # in the kernel's notation, e.g. 32768K
    threads: frozenset[int]


@dataclass(frozen=True)
class NetworkCard:
    """A network card, or an InfiniBand device."""

    name: str
    node: int  # number of the memory node; -1: none
    about: str


@dataclass(frozen=True)
class Topology:
    cores: tuple[Core, ...]
    caches: tuple[Cache, ...]
    cards: tuple[NetworkCard, ...]
    memory_kb: dict[int, int]  # by memory node

    @property
    def packages(self) -> list[int]:
        return sorted({core.package for core in self.cores})

    @property
    def nodes(self) -> list[int]:
        return sorted({core.node for core in self.cores})

    def in_order_of_use(self, allowed: frozenset[int]) -> list[int]:
        """Logical cores for threads that belong together: node by node, first threads of cores before second ones."""
        rank = {}
        for core in self.cores:
            for place, thread in enumerate(sorted(core.threads)):
                rank[thread] = (place, core.node, core.package, core.number)
        return sorted(allowed & rank.keys(), key=lambda thread: (rank[thread], thread))


def read(host: Host) -> Topology:
    """Reads the topology. Raises CannotTell where the kernel reports no cores."""
    cores = sorted(set(_cores(host)), key=lambda core: (core.package, core.node, core.number, core.threads))
    if not cores:
        raise CannotTell(f"/{CPU}/cpu*/topology: there is none")
    caches = sorted(set(_caches(host)), key=lambda cache: (-cache.level, min(cache.threads)))
    memory_kb = {node: _memory_kb(host, node) for node in {core.node for core in cores}}
    return Topology(tuple(cores), tuple(caches), tuple(_cards(host)), memory_kb)


def _threads(host: Host) -> list[int]:
    return sorted(int(name[3:]) for name in host.names(CPU) if re.fullmatch(r"cpu\d{1,4}", name))


def _cores(host: Host) -> Iterator[Core]:
    nodes = {thread: node for node in _nodes(host) for thread in host.cores_in(f"{NODES}/node{node}/cpulist")}
    for thread in _threads(host):
        place = f"{CPU}/cpu{thread}/topology"
        if not host.has(f"{place}/thread_siblings_list"):
            continue
        siblings = tuple(sorted(host.cores_in(f"{place}/thread_siblings_list")))
        package, number = _number(host, f"{place}/physical_package_id"), _number(host, f"{place}/core_id")
        yield Core(number, max(package, 0), nodes.get(thread, 0), siblings)


def _nodes(host: Host) -> list[int]:
    return sorted(int(name[4:]) for name in host.names(NODES) if re.fullmatch(r"node\d{1,4}", name))


def _number(host: Host, path: str) -> int:
    return host.number(path) if host.has(path) else 0


def _caches(host: Host) -> Iterator[Cache]:
    for thread in _threads(host):
        folder = f"{CPU}/cpu{thread}/cache"
        for name in host.names(folder):
            path = f"{folder}/{name}"
            if host.has(f"{path}/shared_cpu_list") and host.text(f"{path}/type") != "Instruction":
                shared = host.cores_in(f"{path}/shared_cpu_list")
                yield Cache(host.number(f"{path}/level"), host.text(f"{path}/type"), host.text(f"{path}/size"), shared)


def _memory_kb(host: Host, node: int) -> int:
    path = f"{NODES}/node{node}/meminfo"
    found = re.search(r"MemTotal:\s+(\d+) kB", host.text(path if host.has(path) else "proc/meminfo"))
    return int(found[1]) if found else 0


def _cards(host: Host) -> Iterator[NetworkCard]:
    for kind in (NET, INFINIBAND):
        for name in host.names(kind):
            if host.has(f"{kind}/{name}/device"):
                yield NetworkCard(name, _home(host, f"{kind}/{name}/device"), _about(host, kind, name))


def _home(host: Host, device: str) -> int:
    return host.number(f"{device}/numa_node") if host.has(f"{device}/numa_node") else -1


def _about(host: Host, kind: str, name: str) -> str:
    """Speed and slot, if they are known."""
    device = f"{kind}/{name}/device"
    words = []
    try:
        speed = host.number(f"{kind}/{name}/speed") if kind == NET else 0
        words += [f"{speed / 1000:g} Gb/s"] if speed > 0 else []
        slot = [host.text(f"{device}/current_link_{what}") for what in ("width", "speed")]
        words += [f"PCIe x{slot[0]} at {slot[1].removesuffix(' PCIe')}"]
    except CannotTell:  # a virtual card, or one whose link is down
        pass
    return ", ".join(words)


# --- For people ---------------------------------------------------------------------------------------------------
def lines(topology: Topology) -> Iterator[str]:
    """The machine as an indented text, in the form of lstopo."""
    for package in topology.packages:
        yield f"package {package}"
        for node in sorted({core.node for core in topology.cores if core.package == package}):
            yield from _node_lines(topology, package, node)
    elsewhere = [card for card in topology.cards if card.node not in topology.nodes]
    for card in elsewhere:
        yield _card_line(card, "")


def _node_lines(topology: Topology, package: int, node: int) -> Iterator[str]:
    cores = [core for core in topology.cores if (core.package, core.node) == (package, node)]
    threads = frozenset(thread for core in cores for thread in core.threads)
    yield f"  memory node {node}, {topology.memory_kb.get(node, 0) / 2**20:.1f} GiB"
    shared = [cache for cache in topology.caches if cache.threads & threads and len(cache.threads) > _per_core(cores)]
    for cache in shared:
        yield f"    L{cache.level} {cache.size}, logical cores {show_cores(cache.threads)}"
    for core in cores:
        own = [cache for cache in topology.caches if cache.threads <= set(core.threads)]
        sizes = ", ".join(f"L{cache.level} {cache.size}" for cache in own)
        yield f"    core {core.number}: logical {show_cores(core.threads)}{f'; {sizes}' if sizes else ''}"
    for card in topology.cards:
        if card.node == node:
            yield _card_line(card, "    ")


def _per_core(cores: list[Core]) -> int:
    return max((len(core.threads) for core in cores), default=1)


def _card_line(card: NetworkCard, indent: str) -> str:
    return f"{indent}card {card.name}{f': {card.about}' if card.about else ''}"


def as_dict(topology: Topology) -> dict[str, Any]:
    """The topology as plain values, for programs."""
    return {
        "cores": [
            {"core": one.number, "package": one.package, "node": one.node, "threads": list(one.threads)}
            for one in topology.cores
        ],
        "caches": [
            {"level": one.level, "kind": one.kind, "size": one.size, "threads": sorted(one.threads)}
            for one in topology.caches
        ],
        "cards": [{"name": one.name, "node": one.node, "about": one.about} for one in topology.cards],
        "memory_kb": {str(node): kb for node, kb in topology.memory_kb.items()},
    }
