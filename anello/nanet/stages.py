# SPDX-License-Identifier: Apache-2.0
"""What a run through the card's model (receive.backend = "nanet") says of the card's stages, from its counters."""

from collections.abc import Mapping
from typing import Any

CLOCK_HZ = 156.25e6
CYCLE_NS = 1e9 / CLOCK_HZ
STAGES = {
    "receive": "in the receive path",
    "gather": "until gathered and written",
    "hand_on": "until told",
}


def results(node: Mapping[str, Mapping[str, int]]) -> dict[str, Any] | None:
    """Means over the card's buffers: cycles of each stage of the model, and datagrams in a buffer. None: no card, or
    nothing came through it. node: the counters."""
    card = node.get("nanet", {})
    n_buffers = card.get("buffers", 0)
    if not n_buffers:
        return None
    cycles = {name: card[f"{name}_cycles"] / n_buffers for name in STAGES}
    return {
        "frames": card["frames"],
        "buffers": n_buffers,
        "datagrams_per_buffer": card["datagrams"] / n_buffers,
        "cycles": cycles,
        "us": {name: n * CYCLE_NS * 1e-3 for name, n in cycles.items()},
    }


def line(node: Mapping[str, Mapping[str, int]]) -> str:
    """The same for people; empty where there is nothing to tell."""
    found = results(node)
    if found is None:
        return ""
    stages = ", ".join(
        f"{found['cycles'][name]:,.1f} cycles ({found['us'][name]:.2f} us) {words}" for name, words in STAGES.items()
    )
    return (
        f"the card, simulated at 156.25 MHz: {found['frames']:,} frames, {found['datagrams_per_buffer']:.1f} datagrams "
        f"a buffer, in the mean {stages}"
    )
