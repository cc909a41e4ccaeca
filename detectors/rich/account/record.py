# SPDX-License-Identifier: Apache-2.0
"""A record holds the results of a run of the RICH chain as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.account.ledger import Ledger
from anello.account.leg import LegLatency
from anello.account.record import Arrays, Record
from anello.account.verdict import Flaw

from ..analysis.physics import Agreement, Missed, Scores, agreement, missed, score
from ..analysis.rings import Rings
from ..configuration.config import RichConfig
from .board_ledger import Sequences
from .ledger import build_ledger
from .losses import bursts_ended, flaws

LEGS = {
    "sent_to_kernel": "sent → kernel",
    "kernel_to_placed": "kernel → placed",
    "placed_to_built": "placed → built",
    "built_to_decided": "built → decided",
    "decided_to_emitted": "decided → emitted",
    "sent_to_decided": "sent → decided",
    "sent_to_emitted": "sent → emitted",
    "event_to_sent": "event → sent",
    "event_to_decided": "event → decided",
    "event_to_emitted": "event → emitted",
}


def whole_leg(latency: Mapping[str, LegLatency]) -> str:
    """The latency to which a deadline applies: it begins at the event or, if front ends do not announce when their
    bursts began, at the sending of the packet."""
    return "event_to_decided" if latency.get("event_to_decided", {}).get("count") else "sent_to_decided"


@dataclass(frozen=True)
class RichRecord(Record):
    """Results of one run of the RICH chain."""

    config: RichConfig
    execution: Arrays = field(default_factory=dict)
    events: Arrays = field(default_factory=dict)  # from Node.events: some events with hits and found rings
    decisions: Arrays | None = None  # from decisions.read: more events, without hits, if the run stored them
    truth: Arrays | None = None  # Source.truth
    reference: Rings | None = None  # rings of another reconstruction, one set per pool event
    positions: NDArray[np.float32] | None = None  # [1952, 2] fit frame, mm

    @cached_property
    def _ledger(self) -> Ledger:
        by_events = self.config.source.format == "mep"
        return build_ledger(
            self.node,
            self.whole_source,
            one_host=self.one_host,
            by_events=by_events,
            sequences=Sequences(self.made, self.came),
        )

    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def whole_way(self) -> str:
        return whole_leg(self.latency)

    def flaws(self) -> list[Flaw]:
        return flaws(self.node, self.source, self.config, self.ledger())

    @property
    def n_events(self) -> int:
        return self.node.get("trigger", {}).get("events", 0)

    @property
    def beam_s(self) -> float:
        """Time with beam on in s: bursts that ended, without the gaps between them, including the time that slow front
        ends added."""
        forgone_s = (self.source or {}).get("source", {}).get("time_forgone_ns", 0) * 1e-9
        return bursts_ended(self.node) * self.config.source.burst_ms * 1e-3 + forgone_s

    def kept_events(self) -> "KeptEvents | None":
        """Events with hits, for displays."""
        return KeptEvents.of(self, self.events)

    def judged_events(self) -> "KeptEvents | None":
        """Events for the scores: the stored decisions or, without them, the events kept for displays."""
        return KeptEvents.of(self, self.events if self.decisions is None else self.decisions)

    def scores(self) -> Scores | None:
        """Compares found rings with the simulation's truth; None when it is not known."""
        return self._scores

    @cached_property
    def _scores(self) -> Scores | None:
        kept = self.judged_events()
        if kept is None or kept.true is None:
            return None
        return score(kept.true, kept.found, kept.true_in_time, repeats=kept.pool_index)

    def agreement(self) -> Agreement | None:
        """Compares found rings with those of the reference, each pool event once."""
        kept = self.judged_events()
        if kept is None or self.reference is None:
            return None
        pool, first = np.unique(kept.pool_index, return_index=True)
        return agreement(self.reference.of_events(pool), kept.found.of_events(first))


@dataclass(frozen=True)
class KeptEvents:
    """Decided events whose pool event the source knows: found rings with true rings or those of the reference."""

    index: NDArray[np.int64]  # index among the decided events
    pool_index: NDArray[np.int64]
    found: Rings
    true: Rings | None
    true_in_time: NDArray[np.bool_] | None
    reference: Rings | None

    @classmethod
    def of(cls, record: RichRecord, events: Arrays) -> "KeptEvents | None":
        truth = record.truth
        if truth is None or not len(events.get("event_key", ())) or not len(truth["event_key"]):
            return None
        index, at = _joined(events["event_key"], truth["event_key"])
        pool = truth["pool_index"][at].astype(np.int64)
        found = found_rings(events).of_events(index)
        reference = None if record.reference is None else record.reference.of_events(pool)
        true, in_time = _true_rings(truth, pool) if record.reference is None else (None, None)
        return cls(index, pool, found, true, in_time, reference)

    def missed(self) -> Missed | None:
        """Rings that should have been found and were not, by event; None when the true rings are not known."""
        if self.reference is not None:
            return missed(self.reference, self.found, min_hits=0)
        return None if self.true is None else missed(self.true, self.found, self.true_in_time)

    def known_rings(self, row: int) -> Rings | None:
        """Rings that should be found in this event: the reference's rings, or the true rings in time."""
        if self.reference is not None:
            return self.reference.of_event(row)
        if self.true is None or self.true_in_time is None:
            return None
        wanted = self.true.ring_index(np.array([row]))
        wanted = wanted[self.true_in_time[wanted]]
        x_mm, y_mm, radius_mm = self.true.x_mm[wanted], self.true.y_mm[wanted], self.true.radius_mm[wanted]
        return Rings(x_mm, y_mm, radius_mm, self.true.n_hits[wanted], np.array([0, len(wanted)], np.uint32))


def _joined(keys: NDArray[Any], known: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions, in `keys` and in `known`, of the keys that are in both. Keys are unique in a run."""
    _, left, right = np.intersect1d(keys, known, return_indices=True)
    return left, right


def found_rings(events: Arrays) -> Rings:
    """Converts the found rings of Node.events."""
    columns = (events["ring_x_mm"], events["ring_y_mm"], events["ring_radius_mm"], events["ring_n_hits"])
    return Rings(*columns, events["ring_offset"])


def _true_rings(truth: Arrays, pool: NDArray[np.int64]) -> tuple[Rings | None, NDArray[np.bool_] | None]:
    """The true rings of these pool events, and which are in time. None when the pool holds real events."""
    if "ring_event" not in truth or not len(truth["ring_event"]):
        return None, None
    offset = np.searchsorted(truth["ring_event"], np.arange(len(truth["event_offset"]))).astype(np.uint32)
    columns = (truth["ring_x_mm"], truth["ring_y_mm"], truth["ring_radius_mm"], truth["ring_n_hits"])
    rings = Rings(*columns, offset)
    return rings.of_events(pool), truth["ring_in_time"][rings.ring_index(pool)].astype(bool)
