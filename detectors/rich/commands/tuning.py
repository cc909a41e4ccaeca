# SPDX-License-Identifier: Apache-2.0
"""Fits parameters of the ring finder to a detector with simulated events of one seed, and judges them with
another's."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.errors import ConfigError

from ..analysis import physics
from ..analysis.finding import find_rings
from ..analysis.physics import Score
from ..analysis.rings import Rings
from ..analysis.simulation import simulate

# Parameters of multiring that decide which rings are found; those that only affect the time are left out.
# fmt: off
TUNED = (
    "yield_hits", "noise_hits", "smear_mm", "radius_mean_mm", "radius_sd_mm", "ring_prior", "ring_cost_hits",
    "score_window_mm", "min_strength", "min_own_hits", "retry_strength", "doubt_share", "doubt_rest_hits",
    "seed_window_mm", "refine_window_mm", "distinct_mm", "refit_stride", "refit_widening",
)
# fmt: on
STEPS = (0.3, 0.15, 0.07)  # relative steps; one round of the fit with each
SECTION = "multiring"


@dataclass(frozen=True)
class HitSample:
    """Simulated events with their hits in time. hit_x_mm, hit_y_mm: float32[N]; event_offset: uint32[E + 1]. own_hits:
    mean number of hits of a true ring in time; noise_hits: mean number of noise hits of an event."""

    hit_x_mm: NDArray[np.float32]
    hit_y_mm: NDArray[np.float32]
    event_offset: NDArray[np.uint32]
    true: Rings
    ring_in_time: NDArray[np.bool_]
    own_hits: float
    noise_hits: float

    def found(self, params: Mapping[str, float]) -> Rings:
        """Finds the rings. params: keys below [trigger], as in find_rings()."""
        return find_rings(self.hit_x_mm, self.hit_y_mm, self.event_offset, params=params)

    def score(self, found: Rings) -> Score:
        return physics.score(self.true, found, self.ring_in_time).all_events


def sample(n_events: int, seed: int, in_time_window_ns: float, detector: Mapping[str, Any]) -> HitSample:
    """Simulates events. detector: keys of [source.simulation]. in_time_window_ns: like trigger.in_time_window_ns; 0:
    all hits. Raises ConfigError."""
    events = simulate(n_events, seed=seed, **detector)
    used = events.within(in_time_window_ns)
    n_noise = np.count_nonzero(used & (events.hit_ring < 0))
    return HitSample(
        *events.chosen_hits(used),
        events.rings,
        events.ring_in_time,
        float(events.rings.n_hits[events.ring_in_time].mean()),
        n_noise / max(n_events, 1),
    )


@dataclass(frozen=True)
class Side:
    """Result of one set of parameters on the events that were not used in the fit. ns_per_event: wall-clock time of
    find_rings() with all its threads."""

    params: dict[str, float]
    score: Score
    ns_per_event: float


@dataclass(frozen=True)
class Tuned:
    """before: the given parameters; after: the fitted ones. n_tried: number of sets of parameters that were tried."""

    before: Side
    after: Side
    n_tried: int
    fit_seed: int
    judge_seed: int

    @property
    def changed(self) -> dict[str, float]:
        return {key: value for key, value in self.after.params.items() if value != self.before.params[key]}


Heard = Callable[[int, int, float], None]  # called with sets tried, sets in all, and the best value so far


def tune(
    params: Mapping[str, float],
    detector: Mapping[str, Any],
    *,
    n_events: int = 20_000,
    seed: int = 1,
    ghost_weight: float = 1.0,
    in_time_window_ns: float = 8.0,
    keys: Sequence[str] = TUNED,
    heard: Heard | None = None,
) -> Tuned:
    """Fits parameters of `multiring` to a detector.

    params: start values, keys below [trigger], e.g. {"multiring.ring_prior": 14}; others have their defaults.
        detector: keys of [source.simulation]. n_events: of each of the two samples, whose seeds are `seed` and
        seed + 1. keys: the parameters to fit. heard: called after each set that was tried.

    The fit maximises (fraction of true rings in time found within 5 mm) - ghost_weight x (fraction of found rings that
    are ghosts). It starts with yield and noise of the sample's truth, then makes each parameter in turn larger and
    smaller by 30, 15 and 7 %, and keeps what is better. Raises ConfigError, ValueError.
    """
    if ghost_weight < 0:
        raise ValueError(f"ghost_weight must not be negative, as {ghost_weight} is")
    known, bounds = _known()
    for key in keys:
        if key not in bounds:
            raise ConfigError("--parameters", f"must be of {', '.join(bounds)}", key, "Leave it out for the usual ones")
    fit = sample(n_events, seed, in_time_window_ns, detector)
    before = known | dict(params)
    search = _Search(fit, before, ghost_weight, heard or (lambda *_: None), 2 + 2 * len(keys) * len(STEPS))
    search.offer(before | _described(_light(fit), keys))
    search.offer(search.best | _described(_radii(fit), keys))
    for step in STEPS:
        for key in keys:
            for value in _neighbours(search.best[f"{SECTION}.{key}"], step, *bounds[key]):
                search.offer(search.best | {f"{SECTION}.{key}": value})
    other = sample(n_events, seed + 1, in_time_window_ns, detector)
    return Tuned(_judged(other, before), _judged(other, search.best), search.n_tried, seed, seed + 1)


class _Search:
    def __init__(self, fit: HitSample, begin: dict[str, float], ghost_weight: float, heard: Heard, n_all: int) -> None:
        self._fit, self._ghost_weight, self._heard, self._n_all = fit, ghost_weight, heard, n_all
        self.best, self.n_tried = begin, 0
        self._worth = self._worth_of(begin)

    def offer(self, params: dict[str, float]) -> None:
        self.n_tried += 1
        worth = self._worth_of(params)
        if worth > self._worth:
            self.best, self._worth = params, worth
        self._heard(self.n_tried, self._n_all, self._worth)

    def _worth_of(self, params: Mapping[str, float]) -> float:
        score = self._fit.score(self._fit.found(params))
        ghosts = score.ghosts.value
        return score.efficiency_5mm.value - self._ghost_weight * (0.0 if math.isnan(ghosts) else ghosts)


def _light(fit: HitSample) -> dict[str, float]:
    return {"yield_hits": fit.own_hits, "noise_hits": max(fit.noise_hits, 0.01)}


def _radii(fit: HitSample) -> dict[str, float]:
    """Mean and spread of the true radii. The fit keeps them only if they help: not every detector has similar radii."""
    radius_mm = fit.true.radius_mm[fit.ring_in_time]
    return {"radius_mean_mm": float(radius_mm.mean()), "radius_sd_mm": float(radius_mm.std())}


def _described(truth: Mapping[str, float], keys: Sequence[str]) -> dict[str, float]:
    return {f"{SECTION}.{key}": round(value, 2) for key, value in truth.items() if key in keys}


def _neighbours(value: float, step: float, least: float, most: float) -> Iterator[float]:
    for factor in (1 + step, 1 / (1 + step)):
        near = float(f"{min(max(value * factor, least), most):.3g}")
        if near != value:
            yield near


def _judged(other: HitSample, params: dict[str, float]) -> Side:
    began_s = time.perf_counter()
    found = other.found(params)
    return Side(params, other.score(found), (time.perf_counter() - began_s) * 1e9 / max(other.true.n_events, 1))


def _known() -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Returns the defaults of multiring's parameters that are not whole numbers, with the names of find_rings(), and
    their bounds by key."""
    from anello.engine import _engine

    keys = next(table["keys"] for table in _engine.key_tables().values() if table["section"] == f"trigger.{SECTION}")
    real = {key: about for key, about in keys.items() if isinstance(about["default"], float)}
    return (
        {f"{SECTION}.{key}": about["default"] for key, about in real.items()},
        {key: (about["least"], about["most"]) for key, about in real.items()},
    )
