# SPDX-License-Identifier: Apache-2.0
"""Times and fill levels of the card's stages, from the counters of a run through the card's model (receive.backend =
"nanet")."""

from collections.abc import Mapping
from typing import Any

CLOCK_HZ = 156.25e6
CYCLE_NS = 1e9 / CLOCK_HZ
STAGES = {
    "receive": "in the receive path",
    "merge": "in the merger",
    "gather": "until gathered and written",
    "hand_on": "until reported to the host",
}

# Stores of the card, by the counters nanet.<name>_highest and _size: a probe in the model reads them, not the card.
STORES = {
    "payload_words": "words in the payload buffer",
    "payload_frames": "frames in it",
    "store_items": "items in a board's store",
    "store_words": "words of hits in it",
    "merged_words": "words of merged events",
    "ring": "completions in the ring",
}


def results(node: Mapping[str, Mapping[str, int]]) -> dict[str, Any] | None:
    """Means over the card's buffers: cycles of each stage of the model, and the number of datagrams in a buffer, or
    of events where the card has merged. None: no card, or no data passed it. node: the counters."""
    card = node.get("nanet", {})
    n_buffers = card.get("buffers", 0)
    if not n_buffers:
        return None
    merger = node.get("nanet.merge")
    stages = [name for name in STAGES if merger is not None or name != "merge"]
    cycles = {name: card[f"{name}_cycles"] / n_buffers for name in stages}
    what, n_inside = ("datagrams", card["datagrams"]) if merger is None else ("events", merger["events_read"])
    return {
        "frames": card["frames"],
        "buffers": n_buffers,
        f"{what}_per_buffer": n_inside / n_buffers,
        "cycles": cycles,
        "us": {name: n * CYCLE_NS * 1e-3 for name, n in cycles.items()},
        "highest": highest(card),
    }


def highest(card: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """The highest fill level of each store, and its size; stores that the model does not show are left out."""
    levels = {name: (card.get(f"{name}_highest", 0), card.get(f"{name}_size", 0)) for name in STORES}
    return {name: {"highest": n, "size": size} for name, (n, size) in levels.items() if size}


def line(node: Mapping[str, Mapping[str, int]]) -> str:
    """The same in a line for people; empty where there is no data."""
    found = results(node)
    if found is None:
        return ""
    stages = ", ".join(
        f"{n:,.1f} cycles ({found['us'][name]:.2f} us) {STAGES[name]}" for name, n in found["cycles"].items()
    )
    what = "events" if "events_per_buffer" in found else "datagrams"
    return (
        f"the card, simulated at 156.25 MHz: {found['frames']:,} frames, {found[f'{what}_per_buffer']:.1f} {what} "
        f"a buffer, in the mean {stages}{_fullest(found['highest'])}"
    )


def _fullest(levels: Mapping[str, Mapping[str, int]]) -> str:
    said = ", ".join(f"{one['highest']:,} of {one['size']:,} {STORES[name]}" for name, one in levels.items())
    return f"; at the most {said}" if said else ""
