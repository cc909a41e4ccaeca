# SPDX-License-Identifier: Apache-2.0
"""Particles from radius and momentum, compared with Cherenkov's law written out here and with the simulated truth."""

import math
from typing import Any

import numpy as np
import pytest

import anello.rich
from anello.rich.analysis import physics
from anello.rich.analysis.particles import ELECTRON_RING_RADIUS_MM


@pytest.fixture(autouse=True)
def engine() -> Any:
    return pytest.importorskip("anello._engine", reason="the engine is not built: pip install .", exc_type=ImportError)


MASS_GEV = {"electron": 0.000511, "muon": 0.10566, "pion": 0.13957, "kaon": 0.49368}
FOCAL_LENGTH_MM = 17020


def radius_mm(particle: str, momentum_gev: float) -> float:
    n = 1 / math.cos(ELECTRON_RING_RADIUS_MM / FOCAL_LENGTH_MM)
    cosine = math.hypot(1, MASS_GEV[particle] / momentum_gev) / n
    return FOCAL_LENGTH_MM * math.acos(cosine) if cosine < 1 else 0.0


@pytest.mark.parametrize("momentum_gev", [5.0, 15.0, 35.0, 60.0])
def test_expected_radii_follow_cherenkovs_law(momentum_gev: float) -> None:
    identity = anello.rich.identify([150.0], [4.0], [momentum_gev])
    expected = [radius_mm(particle, momentum_gev) for particle in anello.rich.PARTICLES]
    np.testing.assert_allclose(identity.expected_radius_mm[0], expected, atol=0.05)
    miss = 150.0 - np.array(expected)
    density = np.where(np.array(expected) > 0, -(miss**2) / 8 - math.log(2 * math.pi * 4) / 2, -np.inf)
    np.testing.assert_allclose(identity.log_likelihood[0], density, atol=1, rtol=2e-3)


def test_each_particle_is_the_likeliest_where_its_ring_is() -> None:
    radii = [radius_mm(particle, 25.0) for particle in anello.rich.PARTICLES[:3]]
    assert anello.rich.identify(radii, [1.0] * 3, [25.0] * 3).particle.tolist() == [0, 1, 2]
    assert anello.rich.identify([150.0], [np.inf], [25.0]).particle.tolist() == [-1]


def test_uncertain_momentum_brings_particles_closer() -> None:
    sharp, blurred = (anello.rich.identify([185.0], [1.0], [20.0], momentum_resolution=spread) for spread in (0.0, 0.1))
    assert np.ptp(blurred.log_likelihood[0, :3]) < np.ptp(sharp.log_likelihood[0, :3])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1.0, 2.0], [1.0], [1.0]), {}, r"radius_mm has shape \(2,\), radius_variance_mm2 \(1,\)"),
        (([[1.0]], [1.0], [1.0]), {}, r"radius_mm has shape \(1, 1\): it must be \(R,\)"),
        (([1.0], [0.0], [1.0]), {}, r"radius_variance_mm2\[0\] is 0.0: it must be above 0"),
        (([1.0], [1.0], [np.nan]), {}, r"momentum_gev\[0\] is nan"),
        (([np.inf], [1.0], [1.0]), {}, "must be finite"),
        (([1.0], [1.0], [1.0]), {"electron_ring_radius_mm": 4000}, "must be 50 to 400, not 4000"),
        (([1.0], [1.0], [1.0]), {"momentum_resolution": 1}, "must be 0 to below 0.5, not 1"),
    ],
)
def test_wrong_values_are_explained(arguments: Any, options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        anello.rich.identify(*arguments, **options)


def test_electrons_and_pions_of_the_simulation_are_told_apart() -> None:
    shares = {
        "pion_share": 0.5,
        "muon_share": 0.0,
        "electron_share": 0.5,
        "momentum_max_gev": 32,
        "momentum_mean_gev": 25,
    }
    events = anello.simulate.rich(
        2000,
        seed=31,
        out_of_time_rings=0.0,
        ring_shares=[0, 1],
        **shares,
    )
    found = anello.rich.find_rings(events.hit_x_mm, events.hit_y_mm, events.event_offset, quality=True)
    assert found.quality is not None
    pairs = physics.match(events.rings, found)
    particle = anello.rich.identify(
        found.radius_mm[pairs.found_ring],
        found.quality.covariance_mm2[pairs.found_ring, 2, 2],
        events.ring_momentum_gev[pairs.true_ring],
    )
    is_electron = particle.log_likelihood[:, 0] > particle.log_likelihood[:, 2]
    right = is_electron == (events.ring_particle[pairs.true_ring] == anello.rich.PARTICLES.index("electron"))
    print(f"{right.mean():.4f} of {len(right)} rings")
    assert right.mean() > 0.95
    assert anello.rich.electron_like(found).mean() > 0.3


def test_electron_like_needs_quality() -> None:
    found = anello.rich.find_rings([], [], [0])
    with pytest.raises(ValueError, match=r"find_rings\(..., quality=True\)"):
        anello.rich.electron_like(found)


def test_confusion_counts_events_by_class() -> None:
    matrix = anello.rich.confusion(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2]), 3)
    assert matrix.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    with pytest.raises(ValueError, match="classes must be 0 to 1"):
        anello.rich.confusion(np.array([2]), np.array([0]), 2)
