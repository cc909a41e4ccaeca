# SPDX-License-Identifier: Apache-2.0
"""Where a node of the exchange runs: its threads on the cores near the card that carries its data.

Its buffers follow: the kernel allocates memory near the thread that touches it first, and a node touches all of it
before it starts.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anello.exchange.configuration.config import ExchangeConfig
from anello.host import topology
from anello.host.host import CannotTell, Host, show_cores
from anello.host.machine import ThisMachine
from anello.host.topology import INFINIBAND, NetworkCard, Topology
from anello.run.placement import UsableCores, is_open, own_cores, with_cores


@dataclass(frozen=True)
class NodePlacement:
    """The chosen cores. cores: logical ones; empty: anywhere. words: the choice and its reason, for the operator."""

    cores: frozenset[int]
    words: str


def near_card(config: ExchangeConfig, host: Host, allowed: frozenset[int]) -> NodePlacement:
    """Chooses cores near the card. allowed: the cores that this process may use. If the card's place is unknown, the
    choice is left to the kernel."""
    if any(core >= 0 for core in config.threads.cores):
        return _anywhere("threads.cores says where")
    if config.threads.near == "anywhere":
        return _anywhere('threads.near = "anywhere"')
    try:
        found = topology.read(host)
        cards = _cards(config, host, found)
    except (CannotTell, OSError) as error:
        return _anywhere(str(error))
    if len(found.nodes) < 2:
        return _anywhere("the machine has one memory node")
    return _beside(cards, found, allowed)


def _anywhere(why: str) -> NodePlacement:
    return NodePlacement(frozenset(), f"anywhere: {why}")


def _cards(config: ExchangeConfig, host: Host, found: Topology) -> list[NetworkCard]:
    """The cards that may carry the node's data: by their names, by the address, or (UCX chooses) any of InfiniBand."""
    fabric = config.fabric
    named = {device.strip().partition(":")[0] for device in fabric.ucx_net_devices.split(",")} - {"", "all"}
    if fabric.transport != "ucx":
        named = {host.machine.interface_with(fabric.host)}
    elif not named:
        named = set(host.names(INFINIBAND))
    return [card for card in found.cards if card.name in named]


def _beside(cards: Sequence[NetworkCard], found: Topology, allowed: frozenset[int]) -> NodePlacement:
    if not cards:
        return _anywhere("no card is known to carry the data")
    names = ", ".join(card.name for card in cards)
    nodes = {card.node for card in cards}
    if len(nodes) > 1 or not nodes <= set(found.nodes):
        return _anywhere(f"{names} belong to no single memory node")
    (node,) = nodes
    cores = frozenset(thread for core in found.cores if core.node == node for thread in core.threads) & allowed
    if not cores:
        return _anywhere(f"this process may use no core of memory node {node}, where {names} is")
    return NodePlacement(cores, f"logical cores {show_cores(cores)}, memory node {node}, next to {names}")


def n_on_the_way(config: ExchangeConfig) -> int:
    """Number of a node's threads that data wait for: of the exchange, and of the chain before it."""
    chain = config.of_chain
    return len(config.threads.layout) + (chain.threads.n_on_the_way(chain.n_lanes) if chain else 0)


@contextmanager
def placed(
    config: ExchangeConfig, look: Callable[[], UsableCores] = UsableCores.look
) -> Iterator[tuple[ExchangeConfig, str]]:
    """The configuration with cores and a message about them. With a chain before the exchange, its lanes and the
    exchange get cores as a chain by itself does. With a generator nothing waits for data from outside."""
    chain = config.of_chain
    if chain is None or config.threads.cores or not is_open(chain):
        yield config, ""
        return
    machine = look()
    with own_cores(n_on_the_way(config), machine) as chosen:
        n_own = len(config.threads.layout)
        if chosen.cores:
            config = config.on_cores(chosen.cores[:n_own], with_cores(chain, chosen.cores[n_own:], machine))
        yield config, chosen.words


def take_place(config: ExchangeConfig) -> NodePlacement:
    """Confines the calling thread to the cores, before it allocates memory and starts other threads."""
    placement = near_card(config, Host(Path("/"), ThisMachine()), frozenset(os.sched_getaffinity(0)))
    if placement.cores:
        os.sched_setaffinity(0, placement.cores)
    return placement
