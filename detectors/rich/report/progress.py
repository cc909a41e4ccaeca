# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a run of the RICH chain."""

from collections.abc import Iterator

from anello.account.leg import LegLatency, honest_legs
from anello.account.quantiles import microseconds
from anello.account.record import CounterDict
from anello.run.chain import Look, Meter
from anello.run.display import Item

from ..account.losses import bursts_ended, payload_bytes
from ..account.record import whole_leg


class RichMeter(Meter):
    """Shows how many events, bytes and rings a running node has counted."""

    def __init__(self, n_bursts: int) -> None:
        super().__init__()
        self._n_bursts = n_bursts

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
        stage: LegLatency = latency.get(whole_leg(latency), {})
        p50, p999 = (microseconds(value) for value in (stage.get("p50_ns"), stage.get("p999_ns")))
        yield Item("latency", f"p50 {p50} µs, p99.9 {p999} µs")
        silent = [name for name, state in look.node.states().items() if state == "silent"]
        if silent:
            yield Item("silent", ", ".join(silent), bad=True)
