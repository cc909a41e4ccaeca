# SPDX-License-Identifier: Apache-2.0
"""Time clusters of the hits of invented and real events."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from detector_data import ONE_EVENT, PMT_MAP, DetectorData
from numpy.typing import NDArray

import anello.rich

pytest.importorskip("anello._engine", reason="the compiled engine is not built")


def test_events_are_clustered_apart() -> None:
    found = anello.rich.time_clusters([0, 60, 1, 0.5, 0.7], [0, 3, 3, 5])
    assert found.hit_cluster.tolist() == [0, 1, 0, 2, 2]
    assert found.event_offset.tolist() == [0, 2, 2, 3]
    assert found.n_hits.tolist() == [2, 1, 2]
    np.testing.assert_allclose(found.time_ns, (0.5, 60, 0.6), rtol=1e-6)
    assert len(found) == 3


def test_the_window_decides_what_is_one() -> None:
    assert len(anello.rich.time_clusters([0, 4], [0, 2])) == 1
    assert len(anello.rich.time_clusters([0, 4], [0, 2], half_window_ns=1)) == 2


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.0, np.nan], [0, 2]), {}, r"hit_time_ns\[1\] is nan: it must be finite"),
        (([[0.0]], [0, 1]), {}, r"hit_time_ns has shape \(1, 1\): it must be \(N,\)"),
        (([0.0], [0, 2]), {}, r"with hit_time_ns of shape \(1,\) it must go from 0 to 1"),
        (([0.0], [0, 1]), {"half_window_ns": 0}, "half_window_ns: must be above 0"),
        (([0.0], [0, 1]), {"half_window_ns": float("nan")}, "half_window_ns: must be above 0"),
        (([0.0], [0, 1]), {"n_passes": -1}, "n_passes must be 0 to 100, not -1"),
        (([0.0], [0, 1]), {"n_passes": 101}, "n_passes: must be 0 to 100"),
    ],
)
def test_wrong_arguments_are_explained(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        anello.rich.time_clusters(*arguments, **options)


# --- An event of NA62, exactly ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Event:
    """Hits of one event of NA62, in the fit frame of 2016, with times relative to the event's time."""

    truth: dict[str, Any]

    x_mm: NDArray[np.float32]
    y_mm: NDArray[np.float32]
    time_ns: NDArray[np.float64]


@pytest.fixture(scope="module")
def event(detector_data: DetectorData) -> Event:
    """Reads an event. The file has positions of PMTs on their disk; the map of PMTs converts them to the fit frame."""
    from anello.rich.engine import engine

    path, truth = detector_data.file(ONE_EVENT)
    places = {_place(row): int(row["seq"]) for row in _rows(detector_data.file(PMT_MAP)[0])}
    rows = _rows(path)
    positions = engine().positions("run_2016")[[places[_place(row)] for row in rows]]
    times = [float(row["hit_time_ns"]) - float(row["reference_time_ns"]) for row in rows]
    return Event(truth, positions[:, 0], positions[:, 1], np.array(times))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def _place(row: dict[str, str]) -> tuple[int, int, int]:
    return int(float(row["disk"])), round(float(row["x_mm"])), round(float(row["y_mm"]))


def test_the_event_falls_into_its_three_groups(event: Event) -> None:
    found = anello.rich.time_clusters(event.time_ns, [0, len(event.time_ns)])
    np.testing.assert_allclose(found.time_ns, event.truth["times_ns"], atol=1.0)
    assert found.n_hits.tolist() == event.truth["n_hits"]
    nearest = np.argmin(np.abs(event.time_ns[:, None] - np.array(event.truth["times_ns"])), axis=1)
    assert np.array_equal(found.hit_cluster, nearest)


def test_each_group_of_the_event_has_its_own_ring(event: Event) -> None:
    clusters = anello.rich.time_clusters(event.time_ns, [0, len(event.time_ns)])
    order = np.argsort(clusters.hit_cluster, kind="stable")
    x_mm, y_mm = event.x_mm[order], event.y_mm[order]
    offset = np.concatenate(([0], np.cumsum(clusters.n_hits, dtype=np.int64)))
    rings = anello.rich.find_rings(x_mm, y_mm, offset)
    assert rings.n_rings.tolist() == event.truth["n_rings"]
    for ring, group in enumerate((0, 2)):
        hits = slice(offset[group], offset[group + 1])
        distance = np.hypot(x_mm[hits] - rings.x_mm[ring], y_mm[hits] - rings.y_mm[ring])
        assert np.sum(np.abs(distance - rings.radius_mm[ring]) < 8) >= 8
        assert 165 < rings.radius_mm[ring] < 195, "a muon or pion above 15 GeV/c"
    assert abs(rings.x_mm[0] - rings.x_mm[1]) > 20
    together = anello.rich.find_rings(event.x_mm, event.y_mm, [0, len(event.time_ns)])
    assert len(together) >= event.truth["n_together"], "without times, also rings of hits that do not belong together"
