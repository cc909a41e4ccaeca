# SPDX-License-Identifier: Apache-2.0
"""The roles of the nodes: em (event manager), sb (standby), ru (readout unit), bu (builder unit)."""

from collections.abc import Sequence

LEAST_WITH_STANDBY = 3  # nodes: with only two, neither can decide whether the other has died
# Roles of node 1; node 0 manages, and all nodes read out and build.
IN_SHORT: dict[tuple[str, ...], str] = {("all",): "ru+bu", ("all+sb",): "sb+ru+bu"}


def each(roles: Sequence[str], n_nodes: int) -> list[str] | None:
    """The roles of each node, joined by +; None where they are for another number of nodes."""
    second = IN_SHORT.get(tuple(roles))
    if second:
        return ["em+ru+bu", second, *["ru+bu"] * (n_nodes - 2)][:n_nodes]
    if len(roles) != n_nodes:
        return None
    return ["+".join(word.strip() for word in node.split("+")) for node in roles]


def objection(roles: Sequence[str]) -> str:
    """What a standby needs and this farm lacks; empty: nothing."""
    words = [node.split("+") for node in roles]
    if not any("sb" in node for node in words):
        return ""
    if any({"em", "sb"} <= set(node) for node in words):
        return "must have the standby on another node than the event manager"
    if len(roles) < LEAST_WITH_STANDBY:
        return f"must have {LEAST_WITH_STANDBY} nodes or more where one is a standby"
    return ""
