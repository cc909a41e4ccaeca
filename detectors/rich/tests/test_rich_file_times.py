# SPDX-License-Identifier: Apache-2.0
"""Times of hits whose file has only a flag for hits in time."""

import numpy as np

from anello.configuration.load import load
from anello.rich.analysis.events_csv import HitEvents
from anello.rich.analysis.file_times import hit_times_fine
from anello.rich.analysis.simulation import FINE_TIME_NS
from anello.rich.configuration.config import RichConfig


def events(in_time: list[list[int]]) -> HitEvents:
    flags = np.array([flag for event in in_time for flag in event], bool)
    offset = np.cumsum([0, *(len(event) for event in in_time)]).astype(np.uint32)
    nowhere = np.zeros(len(flags), np.float32)
    numbers = np.arange(len(in_time))[:, None]
    return HitEvents(("event",), numbers, offset, nowhere, nowhere, nowhere.astype(np.uint16), None, flags)


def times_ns(given: HitEvents, *settings: str, seed: int = 1) -> np.ndarray:
    config = load(None, ["chain=rich", *settings])
    assert isinstance(config, RichConfig)
    return hit_times_fine(given, config.source, seed) * FINE_TIME_NS


def n_particles(times: np.ndarray) -> int:
    """Number of different times, for hits without spread in time."""
    return len(np.unique(times))


def test_hits_in_time_are_at_zero_with_the_resolution_of_a_hit() -> None:
    times = times_ns(events([[1] * 2000]))
    assert abs(times.mean()) < 0.03
    assert 0.25 < times.std() < 0.31


def test_hits_out_of_time_are_in_particles_as_large_as_those_in_time() -> None:
    given = events([[1] * 10 + [0] * 25, [0], [1] * 20])  # on average 10 in time
    times = times_ns(given, "source.simulation.hit_time_sd_ns=0")
    assert n_particles(times[10:35]) == 3
    assert sorted(np.unique(times[10:35], return_counts=True)[1].tolist()) == [8, 8, 9]
    assert times[35] not in times[10:35]
    assert not times[:10].any()
    assert not times[36:].any()


def test_particles_out_of_time_are_anywhere_in_what_is_read_out() -> None:
    times = times_ns(events([[1, 0]] * 4000), "source.simulation.hit_time_sd_ns=0")[1::2]
    assert 7.9 < np.abs(times).min() < 9
    assert 211 < np.abs(times).max() < 212.1
    assert abs((times > 0).mean() - 0.5) < 0.03
    assert abs(np.abs(times).mean() - 110) < 3


def test_same_seed_same_times() -> None:
    given = events([[1, 0, 0], [0, 1]])
    assert times_ns(given).tolist() == times_ns(given).tolist()
    assert times_ns(given).tolist() != times_ns(given, seed=2).tolist()


def test_events_all_in_time_or_never() -> None:
    assert len(times_ns(events([[1, 1], []]))) == 2
    assert (np.abs(times_ns(events([[0, 0, 0]]))) > 6).all()
