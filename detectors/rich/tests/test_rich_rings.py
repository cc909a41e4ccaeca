# SPDX-License-Identifier: Apache-2.0
"""find_rings checks its arguments; with the engine it finds rings."""

import re
from typing import Any

import numpy as np
import of_others
import pytest
from detector_data import RUN_8548, DetectorData
from typer.testing import CliRunner

import anello.rich
from anello.cli import app
from anello.rich.analysis import events_csv, physics, plot
from anello.rich.analysis.simulation import SimulatedEvents

X, Y, OFFSET = np.zeros(3, np.float32), np.zeros(3, np.float32), np.array([0, 1, 3], np.uint32)


@pytest.mark.parametrize(
    ("x", "y", "offset", "message"),
    [
        (X, Y[:2], OFFSET, r"hit_x_mm has shape \(3,\) and hit_y_mm \(2,\)"),
        (X.reshape(1, 3), Y, OFFSET, r"hit_x_mm has shape \(1, 3\): it must be \(N,\)"),
        (np.array([0, np.nan, 0]), Y, OFFSET, r"hit_x_mm\[1\] is nan: it must be finite"),
        (X, np.array([0, 0, np.inf]), OFFSET, r"hit_y_mm\[2\] is inf"),
        (np.array(["a", "b", "c"]), Y, OFFSET, r"hit_x_mm has dtype <U1"),
        (X, Y, np.array([], np.uint32), r"event_offset has shape \(0,\): it must be \(E \+ 1,\)"),
        (X, Y, np.array([0.0, 3.0]), r"event_offset has dtype float64"),
        (X, Y, np.array([1, 3]), r"goes from 1 to 3: with hit_x_mm of shape \(3,\) it must go from 0 to 3"),
        (X, Y, np.array([0, 2]), r"goes from 0 to 2: .* it must go from 0 to 3"),
        (X, Y, np.array([0, 2, 1, 3]), r"event_offset\[2\] = 1 is below event_offset\[1\] = 2"),
    ],
)
def test_wrong_arrays_are_explained(x: Any, y: Any, offset: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        anello.rich.find_rings(x, y, offset)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "hough"}, "algorithm must be one of crawford, .*, not 'hough'"),
        ({"backend": "fpga"}, "backend must be one of auto, cpu, cuda, not 'fpga'"),
        ({"threads": 0}, "threads must be at least 1, not 0"),
    ],
)
def test_wrong_options_are_explained(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        anello.rich.find_rings(X, Y, OFFSET, **options)


def test_event_picture_refuses_other_shapes() -> None:
    with pytest.raises(ValueError, match=r"hit_x_mm \(3,\), hit_y_mm \(2,\) and in_time \(3,\)"):
        plot.event(X, Y[:2])


def test_event_picture_shows_hits_and_rings() -> None:
    rings = anello.Rings(X[:1], Y[:1], X[:1] + 100, np.ones(1, np.uint16), np.array([0, 1], np.uint32))
    figure = plot.event(X, Y, true=rings, found=rings, in_time=np.array([True, True, False]))
    assert [trace.name for trace in figure.data] == ["hit out of time", "hit", "true ring", "found ring"]


# --- With the engine ----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def engine() -> Any:
    return pytest.importorskip("anello._engine", reason="the compiled engine is not built")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("algorithm", ["crawford", "taubin", "histogram", "almagest", "single", "multiring"])
def test_one_clean_ring_is_found(algorithm: str) -> None:
    phi = np.arange(16) * 2 * np.pi / 16
    found = anello.rich.find_rings(30 + 170 * np.cos(phi), -20 + 170 * np.sin(phi), [0, 16], algorithm=algorithm)
    assert len(found) == 1
    ring = np.array([found.x_mm[0], found.y_mm[0], found.radius_mm[0]])
    np.testing.assert_allclose(ring, (30, -20, 170), atol=2)
    assert found.n_hits[0] == 16


def test_cuda_finds_the_rings_or_says_why_not(engine: Any) -> None:
    events = anello.simulate.rich(300, seed=6)
    hits = (events.hit_x_mm, events.hit_y_mm, events.event_offset)
    reason = engine.rich.cuda_unavailable_reason()
    cpu, auto = anello.rich.find_rings(*hits), anello.rich.find_rings(*hits, backend="auto")
    if reason:
        with pytest.raises(ValueError, match=f"^trigger.backend: must be one .*cuda: {re.escape(reason)}"):
            anello.rich.find_rings(*hits, backend="cuda")
        assert np.array_equal(auto.radius_mm, cpu.radius_mm)
    else:
        assert len(anello.rich.find_rings(*hits, backend="cuda")) == pytest.approx(len(cpu), rel=0.02)


@pytest.mark.usefixtures("engine")
def test_no_hits_no_rings() -> None:
    found = anello.rich.find_rings([], [], [0, 0, 0])
    assert (len(found), found.n_events) == (0, 2)


@pytest.mark.usefixtures("engine")
def test_a_large_sample_is_found_in_parts_by_all_cores_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The rings are the same, event by event, as those of one thread in one part."""
    pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    events = anello.simulate.rich(1000, seed=5)
    n_times = 140  # three parts, the last one smaller
    x_mm, y_mm = np.tile(events.hit_x_mm, n_times), np.tile(events.hit_y_mm, n_times)
    n_hits = np.tile(np.diff(events.event_offset.astype(np.int64)), n_times)
    offset = np.concatenate(([0], np.cumsum(n_hits)))
    found = anello.rich.find_rings(x_mm, y_mm, offset, algorithm="single", progress=True, quality=True)
    assert "of 140,000 events" in capsys.readouterr().err
    one = anello.rich.find_rings(x_mm, y_mm, offset, algorithm="single", threads=1, quality=True)
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(found.as_structured(), one.as_structured())
    np.testing.assert_array_equal(found.event_offset, one.event_offset)
    assert found.quality is not None
    assert one.quality is not None
    for name in ("n_assigned", "log_likelihood_ratio", "covariance_mm2", "hit_ring"):
        np.testing.assert_array_equal(getattr(found.quality, name), getattr(one.quality, name), name)


def test_rings_as_rows_have_their_events() -> None:
    rings = anello.Rings(X + 1, X + 2, X + 3, np.array([4, 5, 6], np.uint16), np.array([0, 2, 2, 3], np.uint32))
    assert rings.as_structured().tolist() == [(0, 1.0, 2.0, 3.0, 4), (0, 1.0, 2.0, 3.0, 5), (2, 1.0, 2.0, 3.0, 6)]
    twice = anello.Rings.joined([rings, rings])
    assert twice.event_offset.tolist() == [0, 2, 2, 3, 5, 5, 6]
    assert twice.as_structured()["event"].tolist() == [0, 0, 2, 3, 3, 5]


def test_threads_do_not_change_the_result() -> None:
    events = anello.simulate.rich(300, seed=5)
    one, two = (
        anello.rich.find_rings(events.hit_x_mm, events.hit_y_mm, events.event_offset, threads=n) for n in (1, 2)
    )
    assert np.array_equal(one.event_offset, two.event_offset)
    assert np.array_equal(one.radius_mm, two.radius_mm)


@pytest.mark.usefixtures("engine")
def test_simulation_repeats_by_its_seed() -> None:
    first, again, other = (anello.simulate.rich(50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.hit_pmt, again.hit_pmt)
    assert not np.array_equal(first.hit_pmt, other.hit_pmt)


@pytest.mark.usefixtures("engine")
def test_simulated_rings_are_mostly_found() -> None:
    events = anello.simulate.rich(2000, seed=11, out_of_time_rings=0.0)
    found = anello.rich.find_rings(events.hit_x_mm, events.hit_y_mm, events.event_offset)
    score = physics.score(events.rings, found, events.ring_in_time).all_events
    assert score.efficiency_5mm.value > 0.6
    assert score.ghosts.value < 0.1


@pytest.mark.usefixtures("engine")
def test_wrong_simulation_parameter_is_a_config_error() -> None:
    with pytest.raises(ValueError, match=r"source.simulation.noise_hits: must be at least 0"):
        anello.simulate.rich(1, noise_hits=-1)


@pytest.mark.usefixtures("engine")
def test_na62_s_rings_are_mostly_found(detector_data: DetectorData) -> None:
    path, truth = detector_data.file(RUN_8548)
    events = events_csv.read_hits(path).only_in_time()
    beside = events_csv.rings_beside(path)
    assert beside is not None
    reference = events_csv.read_rings(beside, events)
    found = anello.rich.find_rings(events.x_mm, events.y_mm, events.event_offset)
    near = physics.agreement(reference, found).near
    print(f"{near.n} of {near.total} rings of NA62, {events.n_events} events")
    assert near.n >= truth["n_found_as_usual"]


@pytest.mark.usefixtures("engine")
def test_na62_s_rings_by_the_configuration_of_the_command(detector_data: DetectorData) -> None:
    (path, truth), config = detector_data.file(RUN_8548), "detectors/rich/na62-rich.toml"
    as_usual, described = (
        CliRunner().invoke(app, ["rings", str(path), *more]).output for more in ([], ["--config", config])
    )
    n_found = re.search(rf"(\d+) of {truth['n_rings']} reference rings found", described)
    assert n_found is not None, described
    assert int(n_found[1]) >= truth["n_found"]
    assert described != as_usual


NA62_YIELD = {"multiring.yield_hits": 11.6}


def found_with_quality(n_rings: int, n_events: int, seed: int) -> tuple[SimulatedEvents, anello.Rings]:
    shares = [0.0] * n_rings + [1.0]
    events = anello.simulate.rich(n_events, seed=seed, out_of_time_rings=0.0, ring_shares=shares)
    hits = (events.hit_x_mm, events.hit_y_mm, events.event_offset)
    plain = anello.rich.find_rings(*hits, params=NA62_YIELD)
    found = anello.rich.find_rings(*hits, params=NA62_YIELD, quality=True)
    assert plain.quality is None
    assert np.array_equal(plain.radius_mm, found.radius_mm)
    return events, found


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("n_rings", "most"), [(1, 1.1), (2, 1.2), (3, 1.3)])
def test_covariance_is_the_spread_of_found_rings(n_rings: int, most: float) -> None:
    """Several rings share hits; the covariance of a single ring does not include this."""
    events, found = found_with_quality(n_rings, 3000, seed=21)
    assert found.quality is not None
    pairs = physics.match(events.rings, found)
    variances = np.diagonal(found.quality.covariance_mm2, axis1=1, axis2=2)[pairs.found_ring]
    misses = [
        getattr(found, of)[pairs.found_ring] - getattr(events.rings, of)[pairs.true_ring]
        for of in ("x_mm", "y_mm", "radius_mm")
    ]
    pulls = np.stack(misses, axis=1) / np.sqrt(variances)
    width = 1.4826 * np.median(np.abs(pulls), axis=0)  # standard deviation of a Gaussian core, independent of the tails
    print(f"{n_rings} rings: pulls of x, y, radius {width.round(3)}")
    assert (width > 0.9).all()
    assert (width < most).all()


@pytest.mark.usefixtures("engine")
def test_quality_tells_rings_from_ghosts_and_goes_with_a_selection() -> None:
    events, found = found_with_quality(3, 2000, seed=22)
    quality = found.quality
    assert quality is not None
    assert quality.hit_ring is not None
    assert len(quality.hit_ring) == len(events.hit_x_mm)
    true = np.isin(np.arange(len(found)), physics.match(events.rings, found).found_ring)
    ratio = quality.log_likelihood_ratio
    assert np.median(ratio[true]) > np.median(ratio[~true]) + 5
    some = found.of_events(np.array([7, 3]))
    assert some.quality is not None
    assert np.array_equal(some.quality.n_assigned, quality.n_assigned[found.ring_index(np.array([7, 3]))])


# --- Wrong input ----------------------------------------------------------------------------------------------------
ALL = ("crawford", "taubin", "histogram8x8", "histogram", "almagest", "single", "multiring")


def circle(n: int) -> tuple[Any, Any]:
    phi = 2 * np.pi * np.arange(n) / max(n, 1) + 0.3
    return 20 + 160 * np.cos(phi), -10 + 160 * np.sin(phi)


def assert_valid(found: anello.Rings, n_events: int) -> None:
    assert found.n_events == n_events
    assert found.event_offset[0] == 0
    assert found.event_offset[-1] == len(found) == len(found.n_hits)
    for column in (found.x_mm, found.y_mm, found.radius_mm):
        assert np.isfinite(column).all()
    assert (found.radius_mm > 0).all()
    assert (found.n_rings <= 8).all()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("algorithm", ALL)
def test_events_of_0_to_70_hits(algorithm: str) -> None:
    """All numbers of hits in one batch, and each alone: the result of an event does not depend on its neighbours."""
    events = [circle(n) for n in range(71)]
    x_mm, y_mm = (np.concatenate([event[axis] for event in events]) for axis in (0, 1))
    found = anello.rich.find_rings(x_mm, y_mm, np.concatenate(([0], np.cumsum(np.arange(71)))), algorithm=algorithm)
    assert_valid(found, 71)
    assert found.n_rings[:3].tolist() == [0, 0, 0]
    for n in (6, 20, 63, 64, 65, 70):
        alone = anello.rich.find_rings(*events[n], [0, n], algorithm=algorithm)
        assert len(alone) == found.n_rings[n]
        if algorithm not in ("histogram8x8", "histogram"):  # coarse bins may lose a single circle
            assert len(alone) >= 1
            assert alone.radius_mm[0] == pytest.approx(160, abs=6)
        assert (alone.n_hits <= 64).all()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("algorithm", ALL)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 16, 64, 100])
def test_hits_that_are_no_ring(algorithm: str, n: int) -> None:
    along = np.linspace(-300, 300, n)
    zero = np.zeros(n)
    no_rings = {
        "one PMT": (zero + 30, zero - 20),
        "on a line": (along, zero),
        "on a slanted line": (along, 0.5 * along + 7),
        "two PMTs": (np.where(np.arange(n) % 2, 100.0, -100.0), zero),
        "far away": (zero + 1e30, zero - 1e30),
        "beyond": (along + 20_000, along - 20_000),
        "the smallest": (along * 1e-40, along * 1e-40),
    }
    for what, (x_mm, y_mm) in no_rings.items():
        found = anello.rich.find_rings(x_mm, y_mm, [0, n], algorithm=algorithm)
        assert_valid(found, 1)
        if what != "two PMTs":
            assert len(found) == 0, what


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_values_that_are_no_position_are_refused(value: float) -> None:
    x_mm, y_mm = circle(16)
    x_mm[7] = value
    with pytest.raises(ValueError, match=r"hit_x_mm"):
        anello.rich.find_rings(x_mm, y_mm, [0, 16])


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("algorithm", ALL)
def test_an_absurd_hit_does_not_spoil_the_ring(algorithm: str) -> None:
    """Hits beyond 10 m are left out."""
    x_mm, y_mm = circle(16)
    clean = anello.rich.find_rings(x_mm, y_mm, [0, 16], algorithm=algorithm)
    spoilt = anello.rich.find_rings(np.append(x_mm, 1e20), np.append(y_mm, 0), [0, 17], algorithm=algorithm)
    assert_valid(spoilt, 1)
    assert len(spoilt) == len(clean)
    np.testing.assert_allclose(spoilt.radius_mm, clean.radius_mm, atol=0.1)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_a_parameter_that_is_no_length_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"acceptance.radius_min_mm"):
        anello.rich.find_rings(*circle(16), [0, 16], params={"acceptance.radius_min_mm": value})


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("algorithm", ALL)
def test_empty_batches(algorithm: str) -> None:
    assert_valid(anello.rich.find_rings([], [], [0], algorithm=algorithm), 0)
    assert_valid(anello.rich.find_rings([], [], np.zeros(1001, int), algorithm=algorithm, threads=4), 1000)


@pytest.mark.usefixtures("engine")
def test_a_million_events() -> None:
    """The first and the last of one hundred different events give the same rings as in a small batch."""
    sample = anello.simulate.rich(100, seed=3)
    repeats = 10_000
    counts = np.tile(np.diff(sample.event_offset.astype(np.int64)), repeats)
    x_mm, y_mm = np.tile(sample.hit_x_mm, repeats), np.tile(sample.hit_y_mm, repeats)
    offset = np.concatenate(([0], np.cumsum(counts)))
    found = anello.rich.find_rings(x_mm, y_mm, offset, algorithm="single", threads=2)
    assert_valid(found, 1_000_000)
    alone = anello.rich.find_rings(sample.hit_x_mm, sample.hit_y_mm, sample.event_offset, algorithm="single")
    assert len(found) == repeats * len(alone)
    # Events share SIMD lanes with their neighbours, which changes the last bits.
    np.testing.assert_allclose(found.radius_mm, np.tile(alone.radius_mm, repeats), atol=0.01)


# --- Jagged arrays ------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("engine")
@pytest.mark.long
def test_a_list_of_hits_for_each_event_does_as_well() -> None:
    ak = of_others.package("awkward")
    simulated = anello.simulate.rich(300, seed=2)
    n_hits = np.diff(simulated.event_offset.astype(np.int64))
    x, y = (ak.unflatten(hits, n_hits) for hits in (simulated.hit_x_mm, simulated.hit_y_mm))
    wanted = anello.rich.find_rings(simulated.hit_x_mm, simulated.hit_y_mm, simulated.event_offset)
    found = anello.rich.find_rings(x, y)
    np.testing.assert_array_equal(found.as_structured(), wanted.as_structured())
    jagged = found.as_awkward()
    assert ak.num(jagged).tolist() == wanted.n_rings.tolist()
    assert ak.flatten(jagged.radius_mm).tolist() == wanted.radius_mm.tolist()


@pytest.mark.long
def test_jagged_arrays_that_do_not_fit_are_explained() -> None:
    ak = of_others.package("awkward")
    with pytest.raises(ValueError, match="differ in their numbers of hits"):
        anello.rich.find_rings(ak.Array([[1.0, 2.0], [3.0]]), ak.Array([[1.0], [2.0, 3.0]]))
    with pytest.raises(ValueError, match="hit_x_mm must be a list of hits for each event"):
        anello.rich.find_rings(X, Y)
    with pytest.raises(ValueError, match="hit_y_mm must be a list"):
        anello.rich.find_rings(ak.Array([[1.0, 2.0]]), ak.Array([1.0, 2.0]))
