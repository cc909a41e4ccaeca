# SPDX-License-Identifier: Apache-2.0
"""Progress of a run of the RICH chain."""

from collections.abc import Iterator, Mapping
from typing import Any

from anello.chains import Look, Meter
from anello.display import Item
from anello.quantiles import honest_legs, microseconds
from anello.record import CounterDict

from .card_ledger import has_merged
from .losses import LOSSES, bursts_ended, losses, payload_bytes, receive_blocks
from .record import whole_leg


class RichMeter(Meter):
    """Events, bytes, rings."""

    def __init__(self, n_bursts: int) -> None:
        super().__init__()
        self._n_bursts = n_bursts

    def lost(self, counters: CounterDict) -> Mapping[str, int]:
        return _losses(counters)

    def _sums(self, counters: CounterDict) -> tuple[int, ...]:
        trigger = counters.get("trigger", {})
        return trigger.get("events", 0), payload_bytes(counters), trigger.get("rings", 0)

    def _items(self, look: Look) -> Iterator[Item]:
        events, n_bytes, rings = look.gained
        ended = bursts_ended(look.counters)
        yield Item("time", f"{look.time_s:.1f} s, bursts ended {ended} of {self._n_bursts or '∞'}")
        rates = f"now {events / look.seconds:,.0f} /s, {n_bytes * 8e-9 / look.seconds:.2f} Gb/s"
        yield Item("events", f"{look.sums[0]:,}, {rates}")
        yield Item("rings", f"{rings / events if events else 0.0:.2f} per event")
        latency = honest_legs(look.node.latency())
        stage: Mapping[str, Any] = latency.get(whole_leg(latency), {})
        p50, p999 = (microseconds(stage.get(key)) for key in ("p50_ns", "p999_ns"))
        yield Item("latency", f"p50 {p50} µs, p99.9 {p999} µs")
        losses = self.lost(look.counters)
        yield Item("not used", ", ".join(f"{n:,} {label}" for label, n in losses.items()) or "none", bool(losses))
        silent = [name for name, state in look.node.states().items() if state == "silent"]
        if silent:
            yield Item("silent", ", ".join(silent), bad=True)


def _losses(node: CounterDict) -> dict[str, int]:
    """Packets not used by now. Those that never came are left out: gaps may close while the run goes on."""
    blocks = receive_blocks(node)
    causes = {name: label for name, label in LOSSES.items() if name != "lost_sequences"}
    counts = {label: sum(block.get(name, 0) for block in blocks.values()) for name, label in causes.items()}
    if has_merged(node):
        counts |= losses(node)
    verdicts = [node.get(f"{block}.verdict", {}) for block in blocks]
    counts["malformed"] = sum(n for verdict in verdicts for name, n in verdict.items() if name != "ok")
    counts["late fragments"] = node.get("build", {}).get("fragments_late", 0)
    counts["incomplete events"] = node.get("build", {}).get("events_incomplete", 0)
    return {label: n for label, n in counts.items() if n}
