# SPDX-License-Identifier: Apache-2.0
"""Measures the quality of found rings, compared with the simulation's truth or with another reconstruction.

Definitions. Within an event, true and found rings are matched one to one, nearest first, if centre and radius both
differ by less than 20 mm. Efficiency at t mm is the fraction of true rings in time, with at least 6 hits of their own,
whose partner differs by less than t mm in centre and in radius. Ghosts are the fraction of found rings without a
partner; a ring that is found twice counts once as ghost.

Error bars count independent events. Front ends repeat the events of a pool, and the rings of one event share its hits,
so all rings of an event and of its repeats count together (share_by_event).
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.report.share import Share, share_by_event

from .rings import Rings

MATCH_MM = 20.0
MIN_HITS = 6
NEAR_CENTRE_MM = 15.0
NEAR_RADIUS_MM = 6.0


@dataclass(frozen=True)
class Matches:
    """Pairs of matched rings: indices of the true and the found rings, and their differences."""

    true_ring: NDArray[np.int64]
    found_ring: NDArray[np.int64]
    centre_mm: NDArray[np.float64]  # distance of the centres
    radius_mm: NDArray[np.float64]  # found minus true


def match(true: Rings, found: Rings, limit_mm: float = MATCH_MM) -> Matches:
    """Matches rings one to one within each event, nearest first. Raises ValueError when the numbers of events
    differ."""
    true_ring, found_ring = _pairs(true, found)
    dx = found.x_mm[found_ring].astype(float) - true.x_mm[true_ring]
    dy = found.y_mm[found_ring].astype(float) - true.y_mm[true_ring]
    radius = found.radius_mm[found_ring].astype(np.float64) - true.radius_mm[true_ring].astype(np.float64)
    centre = np.hypot(dx, dy)
    near = np.flatnonzero((centre < limit_mm) & (np.abs(radius) < limit_mm))
    near = near[np.argsort(centre[near] ** 2 + radius[near] ** 2, kind="stable")]
    kept = near[_first_uses(true_ring[near], found_ring[near])]
    return Matches(true_ring[kept], found_ring[kept], centre[kept], radius[kept])


def _pairs(true: Rings, found: Rings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of a true and a found ring of the same event."""
    if true.n_events != found.n_events:
        raise ValueError(f"true rings of {true.n_events} events cannot be compared with found ones of {found.n_events}")
    n_partners = found.n_rings[true.event_index]
    true_ring = np.repeat(np.arange(len(true)), n_partners)
    first_pair = np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
    first_found = np.repeat(found.event_offset[:-1].astype(np.int64)[true.event_index], n_partners)
    return true_ring, first_found + np.arange(len(true_ring)) - first_pair


def _first_uses(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of the pairs that remain when pairs are taken in order and each ring is used once."""
    used_left: set[int] = set()
    used_right: set[int] = set()
    kept = []
    for position, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        if pair[0] not in used_left and pair[1] not in used_right:
            used_left.add(pair[0])
            used_right.add(pair[1])
            kept.append(position)
    return np.array(kept, dtype=np.int64)


@dataclass(frozen=True)
class Score:
    """Quality for one selection of events, of which n_independent are different (the others repeat them). Resolutions
    are
    68 % quantiles of matched rings, in mm."""

    n_events: int
    n_independent: int
    efficiency_5mm: Share
    efficiency_10mm: Share
    ghosts: Share
    centre_resolution_mm: float
    radius_resolution_mm: float
    radius_bias_mm: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Scores:
    """Quality for all events, and by the number of true rings in time (key 0, 1, 2, ...)."""

    all_events: Score
    by_n_rings: dict[int, Score]
    centre_mm: NDArray[np.float64]  # differences of matched rings, for plots
    radius_mm: NDArray[np.float64]

    def as_dict(self) -> dict[str, Any]:
        by_n_rings = {str(n): score.as_dict() for n, score in self.by_n_rings.items()}
        return {"all_events": self.all_events.as_dict(), "by_n_rings": by_n_rings}


def score(
    true: Rings,
    found: Rings,
    in_time: NDArray[np.bool_] | None = None,
    min_hits: int = MIN_HITS,
    *,
    repeats: NDArray[Any] | None = None,
) -> Scores:
    """Compares found rings with the truth. in_time: bool[R] for the true rings, None: all are in time. repeats: int[E],
    equal for events that repeat the same pool event, None: all are different.

    Rings out of time do not count for the efficiency, but a found ring that matches one is not a ghost.
    """
    wanted = np.ones(len(true), bool) if in_time is None else np.asarray(in_time, bool)
    if wanted.shape != (len(true),):
        raise ValueError(f"in_time has shape {wanted.shape}: there are {len(true)} true rings")
    same = np.arange(true.n_events) if repeats is None else np.asarray(repeats)
    if same.shape != (true.n_events,):
        raise ValueError(f"repeats has shape {same.shape}: there are {true.n_events} events")
    n_true = np.bincount(true.event_index[wanted], minlength=true.n_events)
    compared = _Compared(true, found, wanted & (true.n_hits >= min_hits), match(true, found), same)
    by_n_rings = {int(n): compared.score(n_true == n) for n in np.unique(n_true) if n <= found.n_events}
    matches = compared.matches
    ours = compared.asked[matches.true_ring]
    everything = compared.score(np.ones(true.n_events, bool))
    return Scores(everything, by_n_rings, matches.centre_mm[ours], matches.radius_mm[ours])


@dataclass(frozen=True)
class Missed:
    """Numbers by event, int64[E]: rings that should be found, those of them that were not found, and false rings."""

    n_wanted: NDArray[np.int64]
    n_missed: NDArray[np.int64]
    n_ghosts: NDArray[np.int64]


def missed(
    true: Rings,
    found: Rings,
    in_time: NDArray[np.bool_] | None = None,
    limit_mm: float = 10.0,
    min_hits: int = MIN_HITS,
) -> Missed:
    """Applies the rules of score() event by event: a ring is found if centre and radius agree within limit_mm."""
    matches = match(true, found)
    asked = (true.n_hits >= min_hits) & (np.ones(len(true), bool) if in_time is None else np.asarray(in_time, bool))
    is_found, is_ghost = np.zeros(len(true), bool), np.ones(len(found), bool)
    is_found[matches.true_ring[(matches.centre_mm < limit_mm) & (np.abs(matches.radius_mm) < limit_mm)]] = True
    is_ghost[matches.found_ring] = False

    def counted(rings: Rings, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(rings.event_index[chosen], minlength=rings.n_events)

    return Missed(counted(true, asked), counted(true, asked & ~is_found), counted(found, is_ghost))


@dataclass(frozen=True)
class _Compared:
    """asked: bool[R], true rings that should be found. same: int[E], equal for repeated events."""

    true: Rings
    found: Rings
    asked: NDArray[np.bool_]
    matches: Matches
    same: NDArray[Any]

    def score(self, events: NDArray[np.bool_]) -> Score:
        """Score of the selected events, bool[E]."""
        asked = self.asked & events[self.true.event_index]
        ours = asked[self.matches.true_ring]
        centre, radius = self.matches.centre_mm[ours], self.matches.radius_mm[ours]
        return Score(
            n_events=int(events.sum()),
            n_independent=len(np.unique(self.same[events])),
            efficiency_5mm=self._efficiency(asked, 5.0),
            efficiency_10mm=self._efficiency(asked, 10.0),
            ghosts=self._ghosts(events),
            centre_resolution_mm=_quantile(centre),
            radius_resolution_mm=_quantile(np.abs(radius)),
            radius_bias_mm=float(radius.mean()) if len(radius) else math.nan,
        )

    def _efficiency(self, asked: NDArray[np.bool_], limit_mm: float) -> Share:
        near = (self.matches.centre_mm < limit_mm) & (np.abs(self.matches.radius_mm) < limit_mm)
        is_found = np.zeros(len(self.true), bool)
        is_found[self.matches.true_ring[near]] = True
        return share_by_event(is_found[asked], self.same[self.true.event_index][asked])

    def _ghosts(self, events: NDArray[np.bool_]) -> Share:
        is_ghost = np.ones(len(self.found), bool)
        is_ghost[self.matches.found_ring] = False
        of_these = events[self.found.event_index]
        return share_by_event(is_ghost[of_these], self.same[self.found.event_index][of_these])


def _quantile(values: NDArray[np.float64], part: float = 0.68) -> float:
    return float(np.quantile(values, part)) if len(values) else math.nan


@dataclass(frozen=True)
class Agreement:
    """Number of reference rings with a found ring near: within 15 mm in centre and 6 mm in radius."""

    near: Share
    event_index: NDArray[np.int64]  # of each reference ring
    is_near: NDArray[np.bool_]


def agreement(
    reference: Rings, found: Rings, centre_mm: float = NEAR_CENTRE_MM, radius_mm: float = NEAR_RADIUS_MM
) -> Agreement:
    """Compares reference rings with found rings of the same events."""
    reference_ring, found_ring = _pairs(reference, found)
    centre = np.hypot(
        found.x_mm[found_ring] - reference.x_mm[reference_ring], found.y_mm[found_ring] - reference.y_mm[reference_ring]
    )
    radius = np.abs(found.radius_mm[found_ring] - reference.radius_mm[reference_ring])
    is_near = np.zeros(len(reference), bool)
    is_near[reference_ring[(centre <= centre_mm) & (radius <= radius_mm)]] = True
    return Agreement(share_by_event(is_near, reference.event_index), reference.event_index, is_near)


def rings_from_columns(event: NDArray[Any], columns: Sequence[NDArray[Any]], n_events: int) -> Rings:
    """Makes rings from rows: event: int[R], columns: x_mm, y_mm, radius_mm, n_hits. Rows may be in any order."""
    order = np.argsort(event, kind="stable")
    x_mm, y_mm, radius_mm, n_hits = (column[order] for column in columns)
    counts = np.bincount(event.astype(np.int64), minlength=n_events)
    if len(counts) > n_events:
        raise ValueError(f"a ring names event {len(counts) - 1}, but there are {n_events} events")
    offset = np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)
    as_float = (x_mm.astype(np.float32), y_mm.astype(np.float32), radius_mm.astype(np.float32))
    return Rings(*as_float, n_hits.astype(np.uint16), offset)
