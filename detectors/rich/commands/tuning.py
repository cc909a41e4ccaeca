# SPDX-License-Identifier: Apache-2.0
"""Parameters of the ring finder for a detector: fitted to simulated events of some seeds, and judged by others."""

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

# Of multiring, those that decide which rings are found, and not how long that takes.
# fmt: off
TUNED = (
    "yield_hits", "noise_hits", "smear_mm", "radius_mean_mm", "radius_sd_mm", "ring_prior", "ring_cost_hits",
    "score_window_mm", "min_strength", "min_own_hits", "retry_strength", "doubt_share", "doubt_rest_hits",
    "seed_window_mm", "refine_window_mm", "distinct_mm", "refit_stride", "refit_widening",
)
# fmt: on
STEPS = (0.3, 0.15, 0.07)  # relative, one round each
SECTION = "multiring"


@dataclass(frozen=True)
class HitSample:
    """Simulated events with their hits in time. hit_x_mm, hit_y_mm: float32[N]; event_offset: uint32[E + 1]. own_hits,
    noise_hits: means, of a true ring in time and of an event."""

    hit_x_mm: NDArray[np.float32]
    hit_y_mm: NDArray[np.float32]
    event_offset: NDArray[np.uint32]
    true: Rings
    ring_in_time: NDArray[np.bool_]
    own_hits: float
    noise_hits: float

    def found(self, params: Mapping[str, float]) -> Rings:
        """params: below [trigger], as find_rings() takes them."""
        return find_rings(self.hit_x_mm, self.hit_y_mm, self.event_offset, params=params)

    def score(self, found: Rings) -> Score:
        return physics.score(self.true, found, self.ring_in_time).all_events


def sample(n_events: int, seed: int, in_time_window_ns: float, detector: Mapping[str, Any]) -> HitSample:
    """detector: keys of [source.simulation]. in_time_window_ns: as trigger.in_time_window_ns; 0: all hits. Raises
    ConfigError."""
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
    """One set of parameters, by the events of the seeds that nothing was fitted to. ns_per_event: wall clock, by all
    threads of find_rings()."""

    params: dict[str, float]
    score: Score
    ns_per_event: float


@dataclass(frozen=True)
class Tuned:
    """before: the parameters that were given; after: those that were fitted. n_tried: sets of parameters."""

    before: Side
    after: Side
    n_tried: int
    fit_seed: int
    judge_seed: int

    @property
    def changed(self) -> dict[str, float]:
        return {key: value for key, value in self.after.params.items() if value != self.before.params[key]}


Heard = Callable[[int, int, float], None]  # sets tried, of so many, and what the best is worth


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

    params: where to begin, keys below [trigger], e.g. {"multiring.ring_prior": 14}; those that are not given are the
        defaults. detector: keys of [source.simulation]. n_events: of each of the two samples, whose seeds are `seed`
        and seed + 1. keys: which are fitted. heard: told of each set that was tried.

    Greatest is (share of true rings in time found within 5 mm) - ghost_weight x (share of found rings that are
    ghosts). It begins with the yield and noise of the sample's truth, then each parameter in turn is made larger and
    smaller, by 30, 15 and 7 %, and what is better stays. Raises ConfigError, ValueError.
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
    """Better known or not: that radii are all alike is not so of every detector."""
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
    """Parameters of multiring that are not whole numbers, as find_rings() names them, with their defaults; and by key
    their bounds."""
    from anello.engine import _engine

    keys = next(table["keys"] for table in _engine.key_tables().values() if table["section"] == f"trigger.{SECTION}")
    real = {key: about for key, about in keys.items() if isinstance(about["default"], float)}
    return (
        {f"{SECTION}.{key}": about["default"] for key, about in real.items()},
        {key: (about["least"], about["most"]) for key, about in real.items()},
    )
