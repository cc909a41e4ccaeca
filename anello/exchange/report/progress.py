# SPDX-License-Identifier: Apache-2.0
"""Progress of a run of the exchange, from the nodes' own reports."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from anello.account.notices import printable
from anello.exchange.rendezvous.messages import MAX_FRAME_BYTES
from anello.run.display import Item, Progress
from anello.system.json_messages import MalformedError, decode

MAX_SHOWN_NODES = 8


class ExchangeMeter:
    """The changes between two looks. gone: nodes that died, and why; the caller may add to it."""

    def __init__(self, n_nodes: int, gone: Mapping[int, str]) -> None:
        self._n_nodes, self._gone = n_nodes, gone
        self._last: dict[int, tuple[float, int, int]] = {}
        self._rates: dict[int, tuple[float, float]] = {}

    def look(self, reports: Mapping[int, bytes], time_s: float) -> Progress:
        fields = {rank: report_fields(content) for rank, content in reports.items()}
        for rank, said in fields.items():
            self._rate(rank, said)
        return Progress(time_s, tuple(self._items(fields, time_s)))

    def _rate(self, rank: int, said: Mapping[str, Any]) -> None:
        """Adds a node's rate. The report carries the node's own time, so that delays in transit do not matter."""
        progress = said.get("progress", {})
        now = (float(said.get("time_s", 0)), int(progress.get("bytes_built", 0)), int(progress.get("meps_built", 0)))
        last = self._last.get(rank, (0.0, 0, 0))
        seconds = now[0] - last[0]
        if seconds > 0:
            self._rates[rank] = ((now[1] - last[1]) * 8e-9 / seconds, (now[2] - last[2]) / seconds)
            self._last[rank] = now

    def _items(self, fields: Mapping[int, Mapping[str, Any]], time_s: float) -> Iterator[Item]:
        progress = [said.get("progress", {}) for said in fields.values()]
        total, meps_per_s = (sum(rates) for rates in zip(*(self._rates.values() or [(0.0, 0.0)]), strict=True))
        yield Item("time", f"{time_s:.1f} s")
        yield Item(
            "built",
            f"{total:.2f} Gb/s, {sum(int(one.get('meps_built', 0)) for one in progress):,} packets, "
            f"now {meps_per_s:,.0f} /s",
        )
        yield Item("nodes, Gb/s", self._by_node())
        free = [int(one["credits_free"]) for one in progress if "credits_free" in one]
        if free:
            yield Item("credits free", f"{min(free)} to {max(free)}")
        incomplete = sum(int(one.get("meps_incomplete", 0)) for one in progress)
        if incomplete:
            yield Item("incomplete", f"{incomplete:,} packets", bad=True)
        yield Item("nodes", f"{len(fields)} of {self._n_nodes} heard")
        for rank, why in sorted(self._gone.items()):
            yield Item("gone", f"node {rank}: {why}", bad=True)
        for name, words in sorted(self._broken(fields).items()):
            yield Item("connections", f"{name} {words}", bad=True)

    def _broken(self, fields: Mapping[int, Mapping[str, Any]]) -> dict[str, str]:
        """Nodes that others have lost contact with: name -> the reason that one of them gives. The transport notices
        this long before the rendezvous calls a node gone; or only the link of two living nodes is broken."""
        broken: dict[str, str] = {}
        for rank, said in sorted(fields.items()):
            for name, state in said.get("states", {}).items():
                if name not in {f"node{gone}" for gone in self._gone}:
                    broken.setdefault(printable(name), printable(f"for node{rank}: {state}"))
        return broken

    def _by_node(self) -> str:
        rates = [self._rates[rank][0] for rank in sorted(self._rates)]
        if len(rates) > MAX_SHOWN_NODES:
            return f"{min(rates):.2f} to {max(rates):.2f}"
        return "  ".join(f"{rate:.2f}" for rate in rates)


def report_fields(content: bytes) -> dict[str, Any]:
    """A node's report about itself; empty if it is invalid."""
    try:
        fields = decode(content, MAX_FRAME_BYTES)
    except MalformedError:
        return {}
    if not isinstance(fields.get("progress"), dict):
        return {}
    numbers = [fields.get("time_s", 0), *fields["progress"].values()]
    states = fields.setdefault("states", {})
    are_numbers = all(type(number) in (int, float) and math.isfinite(number) for number in numbers)
    are_words = isinstance(states, dict) and all(isinstance(state, str) for state in states.values())
    return fields if are_numbers and are_words else {}
