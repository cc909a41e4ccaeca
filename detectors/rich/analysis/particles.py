# SPDX-License-Identifier: Apache-2.0
"""Identifies the particle that made a ring, and counts the rings of each kind in an event."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import engine
from ..engine_keys import RichSimulationKeys
from .rings import Rings

PARTICLES = ("electron", "muon", "pion", "kaon")
ELECTRON_RING_RADIUS_MM: float = RichSimulationKeys.model_fields["electron_ring_radius_mm"].default


@dataclass(frozen=True)
class Identity:
    """Particle hypotheses of R rings, for the particles of PARTICLES in this order.

    expected_radius_mm: float64[R, 4], 0 below threshold. log_likelihood: float64[R, 4], natural logarithm of the
    density of the radius in 1/mm; -inf if the particle makes no ring.
    """

    expected_radius_mm: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]

    @property
    def particle(self) -> NDArray[np.int64]:
        """int64[R]: the most likely particle as index into PARTICLES; -1 if none is possible."""
        possible = np.isfinite(self.log_likelihood).any(axis=1)
        return np.where(possible, self.log_likelihood.argmax(axis=1), -1)


def identify(
    radius_mm: ArrayLike,
    radius_variance_mm2: ArrayLike,
    momentum_gev: ArrayLike,
    *,
    electron_ring_radius_mm: float = ELECTRON_RING_RADIUS_MM,
    momentum_resolution: float = 0.0,
) -> Identity:
    """Computes likelihoods of electron, muon, pion and kaon for rings of tracks with known momentum.

    radius_mm, radius_variance_mm2: of R rings, from find_rings(quality=True) (covariance_mm2[:, 2, 2]).
    momentum_gev: of their tracks, in GeV/c, above 0. electron_ring_radius_mm: ring radius of a particle at the speed of
    light, which gives the refractive index; the focal length of the mirrors is NA62's, 17.02 m. momentum_resolution:
    relative standard deviation; its effect on the expected radius is added to the variance.

    The radius has a Gaussian distribution around the particle's expected one. Raises ValueError for wrong shapes or
    values.
    """
    radius = _column("radius_mm", radius_mm)
    variance = _column("radius_variance_mm2", radius_variance_mm2)
    momentum = _column("momentum_gev", momentum_gev)
    if not radius.shape == variance.shape == momentum.shape:
        raise ValueError(
            f"radius_mm has shape {radius.shape}, radius_variance_mm2 {variance.shape} and momentum_gev "
            f"{momentum.shape}: they must be equal"
        )
    _require_positive("radius_variance_mm2", variance)
    _require_positive("momentum_gev", momentum)
    if not np.isfinite(momentum).all() or not np.isfinite(radius).all():
        raise ValueError("radius_mm and momentum_gev must be finite")
    if not 50 <= electron_ring_radius_mm <= 400:
        raise ValueError(f"electron_ring_radius_mm must be 50 to 400, not {electron_ring_radius_mm}")
    if not 0 <= momentum_resolution < 0.5:
        raise ValueError(f"momentum_resolution must be 0 to below 0.5, not {momentum_resolution}")

    expected = engine().ring_radii(momentum, electron_ring_radius_mm)
    low, high = (
        engine().ring_radii(momentum * (1 + sign * momentum_resolution), electron_ring_radius_mm) for sign in (-1, 1)
    )
    spread = variance[:, None] + ((high - low) / 2) ** 2
    miss = radius[:, None] - expected
    density = -0.5 * (miss**2 / spread + np.log(2 * np.pi * spread))
    return Identity(expected, np.where((expected > 0) & np.isfinite(spread), density, -np.inf))


def electron_like(
    rings: Rings, *, electron_ring_radius_mm: float = ELECTRON_RING_RADIUS_MM, max_pull: float = 2.5
) -> NDArray[np.bool_]:
    """bool[R]: rings whose radius is an electron's within max_pull standard deviations; this needs no momentum.

    rings: from find_rings(quality=True). Raises ValueError without quality.
    """
    if rings.quality is None:
        raise ValueError("these rings have no quality: find them with find_rings(..., quality=True)")
    variance = rings.quality.covariance_mm2[:, 2, 2].astype(np.float64)
    miss = np.abs(rings.radius_mm.astype(np.float64) - electron_ring_radius_mm)
    return np.isfinite(variance) & (miss < max_pull * np.sqrt(variance))


def per_event(rings: Rings, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[E]: number of chosen rings in each event; chosen: bool[R]."""
    return np.bincount(rings.event_index[chosen], minlength=rings.n_events)


def confusion(true: NDArray[np.int64], found: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """int64[n_classes, n_classes]: number of events by true class (row) and found class (column). Raises ValueError."""
    if true.shape != found.shape:
        raise ValueError(f"true has shape {true.shape} and found {found.shape}: they must be equal")
    if len(true) and (min(true.min(), found.min()) < 0 or max(true.max(), found.max()) >= n_classes):
        raise ValueError(f"classes must be 0 to {n_classes - 1}")
    return np.bincount(true * n_classes + found, minlength=n_classes**2).reshape(n_classes, n_classes)


def _column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: it must be (R,)")
    return array


def _require_positive(name: str, values: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(~(values > 0))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {values[bad[0]]}: it must be above 0")
