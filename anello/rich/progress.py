# SPDX-License-Identifier: Apache-2.0
"""How far a run of the RICH chain is."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from anello.chains import ChainNode
from anello.display import Item, Progress
from anello.record import CounterDict, receive_blocks
from anello.rich.summary import LOSSES


class RichMeter:
    """Differences of counters between two looks."""

    def __init__(self, n_bursts: int) -> None:
        self._n_bursts = n_bursts
        self._began = self._last_time = time.monotonic()
        self._last = (0, 0, 0)

    def look(self, node: ChainNode) -> Progress:
        now, counters = time.monotonic(), node.counters()
        items = tuple(self._items(now, counters, node))
        self._last, self._last_time = _sums(counters), now
        return Progress(now - self._began, items)

    def _items(self, now: float, counters: CounterDict, node: ChainNode) -> Iterator[Item]:
        sums, seconds = _sums(counters), max(now - self._last_time, 1e-3)
        events, n_bytes, rings = (new - old for new, old in zip(sums, self._last, strict=True))
        ended = max((block.get("bursts_ended", 0) for block in receive_blocks(counters).values()), default=0)
        yield Item("time", f"{now - self._began:.1f} s, bursts ended {ended} of {self._n_bursts or '∞'}")
        rates = f"now {events / seconds:,.0f} /s, {n_bytes * 8e-9 / seconds:.2f} Gb/s"
        yield Item("events", f"{sums[0]:,}, {rates}")
        yield Item("rings", f"{rings / events if events else 0.0:.2f} per event")
        stage: Mapping[str, Any] = node.latency().get("sent_to_decided", {})
        p50_us, p999_us = (float(stage.get(key, 0)) * 1e-3 for key in ("p50_ns", "p999_ns"))
        yield Item("latency", f"p50 {p50_us:,.0f} µs, p99.9 {p999_us:,.0f} µs")
        losses = _losses(counters)
        yield Item("not used", ", ".join(f"{n:,} {label}" for label, n in losses.items()) or "none", bool(losses))
        silent = [name for name, state in node.states().items() if state == "silent"]
        if silent:
            yield Item("silent", ", ".join(silent), bad=True)


def _sums(node: CounterDict) -> tuple[int, int, int]:
    """Events, bytes, rings."""
    n_bytes = sum(block.get("bytes", 0) for block in receive_blocks(node).values())
    trigger = node.get("trigger", {})
    return trigger.get("events", 0), n_bytes, trigger.get("rings", 0)


def _losses(node: CounterDict) -> dict[str, int]:
    """Packets not used by now. Those that never came are left out: gaps may close while the run goes on."""
    blocks = receive_blocks(node)
    causes = {name: label for name, label in LOSSES.items() if name != "lost_sequences"}
    counts = {label: sum(block.get(name, 0) for block in blocks.values()) for name, label in causes.items()}
    verdicts = [node.get(f"{block}.verdict", {}) for block in blocks]
    counts["malformed"] = sum(n for verdict in verdicts for name, n in verdict.items() if name != "ok")
    counts["late fragments"] = node.get("build", {}).get("fragments_late", 0)
    counts["incomplete events"] = node.get("build", {}).get("events_incomplete", 0)
    return {label: n for label, n in counts.items() if n}
