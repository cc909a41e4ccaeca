# SPDX-License-Identifier: Apache-2.0
"""Scores do what their definitions say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from anello.report import share as shares
from anello.rich.analysis import physics
from anello.rich.analysis.rings import Rings


def rings(*events: list[tuple[float, float, float]], n_hits: int = 10) -> Rings:
    """Rings of events, each a list of (x, y, radius)."""
    flat = np.array([ring for event in events for ring in event], np.float32).reshape(-1, 3)
    offset = np.concatenate(([0], np.cumsum([len(event) for event in events]))).astype(np.uint32)
    return Rings(flat[:, 0], flat[:, 1], flat[:, 2], np.full(len(flat), n_hits, np.uint16), offset)


def test_exact_rings_are_all_found() -> None:
    true = rings([(0, 0, 100)], [(10, 0, 150), (-90, 0, 180)], [])
    score = physics.score(true, true).all_events
    assert (score.efficiency_5mm.n, score.efficiency_5mm.total) == (3, 3)
    assert score.ghosts.n == 0
    assert score.centre_resolution_mm == score.radius_bias_mm == 0


@pytest.mark.parametrize(
    ("found", "n_5mm", "n_10mm", "n_ghosts"),
    [
        ((4.9, 0, 100), 1, 1, 0),
        ((5.0, 0, 100), 0, 1, 0),
        ((0, 0, 104.9), 1, 1, 0),
        ((0, 0, 94.9), 0, 1, 0),
        ((3.6, 3.6, 100), 0, 1, 0),
        ((10.1, 0, 100), 0, 0, 0),
        ((20.1, 0, 100), 0, 0, 1),
        ((0, 0, 120.1), 0, 0, 1),
    ],
)
def test_distances_of_the_definitions(
    found: tuple[float, float, float], n_5mm: int, n_10mm: int, n_ghosts: int
) -> None:
    score = physics.score(rings([(0, 0, 100)]), rings([found])).all_events
    assert (score.efficiency_5mm.n, score.efficiency_10mm.n, score.ghosts.n) == (n_5mm, n_10mm, n_ghosts)


def test_ring_found_twice_is_found_once_and_ghost_once() -> None:
    score = physics.score(rings([(0, 0, 100)]), rings([(1, 0, 100), (2, 0, 100)])).all_events
    assert (score.efficiency_5mm.n, score.ghosts.n, score.ghosts.total) == (1, 1, 2)
    assert score.centre_resolution_mm == 1


def test_rings_of_other_events_do_not_match() -> None:
    score = physics.score(rings([(0, 0, 100)], []), rings([], [(0, 0, 100)])).all_events
    assert (score.efficiency_5mm.n, score.ghosts.n) == (0, 1)


def test_rings_with_few_hits_are_not_asked_for_and_finding_them_is_no_ghost() -> None:
    score = physics.score(rings([(0, 0, 100)], n_hits=5), rings([(0, 0, 100)])).all_events
    assert (score.efficiency_5mm.total, score.ghosts.n) == (0, 0)
    assert math.isnan(score.efficiency_5mm.value)


def test_rings_out_of_time_are_not_asked_for_and_finding_them_is_no_ghost() -> None:
    true = rings([(0, 0, 100), (50, 0, 180)])
    scores = physics.score(true, true, in_time=np.array([True, False]))
    assert scores.all_events.efficiency_5mm.total == 1
    assert scores.all_events.ghosts.n == 0
    assert list(scores.by_n_rings) == [1]


def test_multiplicities_stand_apart() -> None:
    true = rings([], [(0, 0, 100)], [(0, 0, 100), (50, 0, 180)], [(0, 0, 100), (50, 0, 180)])
    found = rings([(0, 0, 150)], [], [(0, 0, 100)], [(0, 0, 100), (50, 0, 180)])
    by_n = physics.score(true, found).by_n_rings
    assert {n: (s.n_events, s.efficiency_5mm.n, s.efficiency_5mm.total, s.ghosts.n) for n, s in by_n.items()} == {
        0: (1, 0, 0, 1), 1: (1, 0, 1, 0), 2: (2, 3, 4, 0),
    }  # fmt: skip


def slow_match(true: Rings, found: Rings) -> list[tuple[int, int]]:
    """The definition, word for word: nearest pair first, each ring once."""
    pairs = []
    for t in range(len(true)):
        for f in range(len(found)):
            centre = math.hypot(float(found.x_mm[f]) - float(true.x_mm[t]), float(found.y_mm[f]) - float(true.y_mm[t]))
            radius = float(found.radius_mm[f]) - float(true.radius_mm[t])
            if true.event_index[t] == found.event_index[f] and centre < 20 and abs(radius) < 20:
                pairs.append((centre**2 + radius**2, t, f))
    result: list[tuple[int, int]] = []
    for _, t, f in sorted(pairs):
        if all(t != other[0] and f != other[1] for other in result):
            result.append((t, f))
    return result


ring = some.tuples(*(some.floats(0, 40, width=16) for _ in range(2)), some.floats(100, 140, width=16))
event = some.lists(ring, max_size=4)


@given(some.lists(some.tuples(event, event), max_size=5))
def test_match_is_the_slow_match(events: list[tuple[list[tuple[float, float, float]], ...]]) -> None:
    true, found = rings(*(one[0] for one in events)), rings(*(one[1] for one in events))
    matches = physics.match(true, found)
    ours = sorted(zip(matches.true_ring.tolist(), matches.found_ring.tolist(), strict=True))
    assert ours == sorted(slow_match(true, found))


@given(some.integers(0, 10_000), some.integers(0, 10_000))
def test_interval_holds_the_share(n: int, more: int) -> None:
    share = shares.share(n, n + more)
    assert 0 <= share.low <= share.high <= 1
    assert not share.total or share.low <= share.value <= share.high


def test_interval_is_wilsons() -> None:
    # Wilson, J. Am. Stat. Assoc. 22 (1927) 209, with z = 1: (p + z2/2n +- z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n)
    share = shares.share(9, 10)
    assert share.low == pytest.approx((0.95 - math.sqrt(0.009 + 0.0025)) / 1.1)
    assert share.high == pytest.approx((0.95 + math.sqrt(0.009 + 0.0025)) / 1.1)


@pytest.mark.parametrize(
    ("found", "n_near"),
    [((15, 0, 100), 1), ((15.1, 0, 100), 0), ((0, 0, 106), 1), ((0, 0, 106.1), 0), ((0, 0, 94), 1)],
)
def test_agreement_is_15_mm_and_6_mm(found: tuple[float, float, float], n_near: int) -> None:
    assert physics.agreement(rings([(0, 0, 100)]), rings([(300, 0, 100), found])).near.n == n_near


def test_numbers_of_events_must_agree() -> None:
    with pytest.raises(ValueError, match="true rings of 1 events cannot be compared with found ones of 2"):
        physics.match(rings([]), rings([], []))


def test_rings_of_chosen_events() -> None:
    many = rings([(1, 0, 100)], [], [(2, 0, 100), (3, 0, 100)], [(4, 0, 100)])
    chosen = many.of_events(np.array([2, 0, 1, 2]))
    assert chosen.x_mm.tolist() == [2, 3, 1, 2, 3]
    assert chosen.event_offset.tolist() == [0, 2, 3, 3, 5]


def test_rings_from_rows_in_any_order() -> None:
    columns = [np.array([1.0, 2.0, 3.0])] * 3 + [np.array([7, 8, 9])]
    made = physics.rings_from_columns(np.array([2, 0, 2]), columns, 4)
    assert made.x_mm.tolist() == [2, 1, 3]
    assert made.event_offset.tolist() == [0, 1, 1, 3, 3]


def test_the_same_event_again_makes_no_error_bar_smaller() -> None:
    """4 rings of which 3 are found, sent 25 times over."""
    once = physics.score(rings([(0, 0, 100)], [(0, 0, 120)], [(0, 0, 130)], [(0, 0, 140)]),
                         rings([(0, 0, 100)], [(0, 0, 120)], [(0, 0, 130)], [])).all_events  # fmt: skip
    true = rings(*[[(0, 0, 100)], [(0, 0, 120)], [(0, 0, 130)], [(0, 0, 140)]] * 25)
    found = rings(*[[(0, 0, 100)], [(0, 0, 120)], [(0, 0, 130)], []] * 25)
    again = physics.score(true, found, repeats=np.tile(np.arange(4), 25)).all_events
    naive = physics.score(true, found).all_events
    assert (again.n_events, again.n_independent) == (100, 4)
    for share, other in ((again.efficiency_5mm, once.efficiency_5mm), (again.ghosts, once.ghosts)):
        assert (share.value, share.low, share.high) == pytest.approx((other.value, other.low, other.high))
    assert naive.efficiency_5mm.high - naive.efficiency_5mm.low < 0.3 * (
        again.efficiency_5mm.high - again.efficiency_5mm.low
    )


def test_error_bars_hold_the_spread_of_repeated_experiments() -> None:
    """200 experiments of 500 events with 1 to 4 trials that share the event's luck, each event used 4 times."""
    rng = np.random.default_rng(7)
    values, widths = [], []
    for _ in range(200):
        n_trials = rng.integers(1, 5, 500)
        luck = np.repeat(rng.beta(4, 2, 500), n_trials)
        event = np.tile(np.repeat(np.arange(500), n_trials), 4)
        is_so = np.tile(rng.random(len(luck)) < luck, 4)
        share = shares.share_by_event(is_so, event)
        values.append(share.value)
        widths.append(0.5 * (share.high - share.low))
    assert np.mean(widths) == pytest.approx(np.std(values), rel=0.12)


def test_independent_trials_are_counted_one_by_one() -> None:
    is_so = np.arange(1000) % 4 == 0
    assert shares.share_by_event(is_so, np.arange(1000)).independent == pytest.approx(1000, rel=0.01)
    assert shares.share_by_event(np.ones(30, bool), np.arange(30) // 3).independent == 10


def test_trials_without_an_event_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        shares.share_by_event(np.ones(3, bool), np.arange(4))
