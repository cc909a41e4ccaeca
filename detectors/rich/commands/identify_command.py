# SPDX-License-Identifier: Apache-2.0
"""`anello identify` compares what a trigger can find out about an event from its rings with the simulated truth."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.system import output
from rich.table import Table

from ..analysis import physics
from ..analysis.finding import find_rings
from ..analysis.particles import PARTICLES, confusion, electron_like, identify, per_event
from ..analysis.simulation import SimulatedEvents, simulate
from ..configuration.config import RichConfig
from ..configuration.of_config import detector, finder_params, load_rich

MOST_RINGS, MOST_ELECTRONS = 4, 3  # the last class has this number and more


@dataclass(frozen=True)
class Options:
    config_file: Path | None
    settings: tuple[str, ...]
    n_events: int
    seed: int
    max_pull: float
    as_json: bool


@dataclass(frozen=True)
class Matrix:
    """Confusion matrix of counts: rows are true classes, columns are found classes."""

    about: str
    classes: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def purity(self) -> list[float]:
        """For each found class, the fraction that truly belongs to it; NaN if it was never found."""
        return _shares(self.counts, self.counts.sum(axis=0))

    @property
    def efficiency(self) -> list[float]:
        """For each true class, the fraction that was found as this class."""
        return _shares(self.counts, self.counts.sum(axis=1))

    def as_dict(self) -> dict[str, Any]:
        return {
            "about": self.about,
            "classes": self.classes,
            "counts": self.counts.tolist(),
            "efficiency": _none_for_nan(self.efficiency),
            "purity": _none_for_nan(self.purity),
        }


def run(order: Options) -> None:
    """Runs the command. Raises ConfigError."""
    config = load_rich(order.config_file, order.settings)
    matrices = matrices_of(config, order.n_events, order.seed, order.max_pull)
    if order.as_json:
        print(
            json.dumps({"events": order.n_events, "seed": order.seed, "matrices": [one.as_dict() for one in matrices]})
        )
        return
    for matrix in matrices:
        output.console().print(_table(matrix))


def matrices_of(config: RichConfig, n_events: int, seed: int, max_pull: float) -> list[Matrix]:
    """Returns matrices for the number of rings, the number of electron-like rings, and the particles by momentum."""
    simulated = detector(config)
    radius_mm = simulated["electron_ring_radius_mm"]
    events = simulate(n_events, seed=seed, **simulated)
    hits = events.chosen_hits(events.within(config.trigger.in_time_window_ns))
    rings = find_rings(*hits, params=finder_params(config), quality=True)
    is_electron = events.ring_in_time & (events.ring_particle == PARTICLES.index("electron"))
    return [
        _by_number("rings", MOST_RINGS, per_event(events.rings, events.ring_in_time), rings.n_rings),
        _by_number(
            "electron-like rings",
            MOST_ELECTRONS,
            per_event(events.rings, is_electron),
            per_event(rings, electron_like(rings, electron_ring_radius_mm=radius_mm, max_pull=max_pull)),
        ),
        _particles(events, rings, radius_mm),
    ]


def _by_number(what: str, most: int, true: NDArray[np.int64], found: NDArray[np.int64]) -> Matrix:
    classes = (*(str(n) for n in range(most)), f"{most} and more")
    counts = confusion(np.minimum(true, most).astype(np.int64), np.minimum(found, most).astype(np.int64), most + 1)
    return Matrix(f"{what} of an event", classes, counts)


def _particles(events: SimulatedEvents, rings: Any, electron_ring_radius_mm: float) -> Matrix:
    """Matrix of particles for found rings that match a true one, with the momentum of the true track."""
    pairs = physics.match(events.rings, rings)
    known = events.ring_particle[pairs.true_ring] < len(PARTICLES)
    true, found = pairs.true_ring[known], pairs.found_ring[known]
    identity = identify(
        rings.radius_mm[found],
        rings.quality.covariance_mm2[found, 2, 2],
        events.ring_momentum_gev[true],
        electron_ring_radius_mm=electron_ring_radius_mm,
    )
    counts = confusion(events.ring_particle[true].astype(np.int64), identity.particle, len(PARTICLES))
    return Matrix("particles, by the radius of their rings and the momentum of their tracks", PARTICLES, counts)


def _shares(counts: NDArray[np.int64], of: NDArray[np.int64]) -> list[float]:
    return [float(one / all_) if all_ else float("nan") for one, all_ in zip(counts.diagonal(), of, strict=True)]


def _none_for_nan(shares: Sequence[float]) -> list[float | None]:
    return [None if np.isnan(share) else share for share in shares]


def _table(matrix: Matrix) -> Table:
    table = Table(title=f"{matrix.about}: true (rows) and found (columns)")
    for head in ("", *matrix.classes, "found as such"):
        table.add_column(head, justify="right" if head else "left")
    for name, row, share in zip(matrix.classes, matrix.counts, matrix.efficiency, strict=True):
        table.add_row(name, *(f"{count:,}" for count in row), _percent(share))
    table.add_row("are such", *(_percent(share) for share in matrix.purity), "")
    return table


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{share:.1%}"
