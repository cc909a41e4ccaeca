# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of latency, demo and load: numbers read from a summary, limits of a run, the picture."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import demo_bench
import lateness
import load_bench
import pytest
from curve import Curve, write_svg
from lateness import Lateness

SVG = "{http://www.w3.org/2000/svg}"


def summary(**changes: Any) -> dict[str, Any]:
    leg = {
        "count": 1000,
        "p50_ns": 80e3,
        "p99_ns": 2e5,
        "p999_ns": 9e5,
        "p9999_ns": 1.2e6,
        "max_ns": 2e6,
        "above_1ms": 9,
    }
    values: dict[str, Any] = {
        "balanced": True, "losses": {}, "node_losses": {}, "verdict": {"line": "all data was delivered"},
        "latency": {"event_to_decided": leg, "sent_to_decided": leg | {"p50_ns": 40e3}},
        "machine": {"floor_p999_ns": 2e5, "late": {"leg": "event_to_decided", "n": 10, "explained": 10}},
        "counters": {
            "node": {"trigger": {"events": 1000, "events_cheaper": 3, "events_passed": 2}},
            "source": {"source": {"time_forgone_ns": 0}},
        },
    }  # fmt: skip
    return values | changes


@pytest.fixture
def kept() -> Lateness:
    return lateness.of_summary(summary())


def test_a_summary_is_read(kept: Lateness) -> None:
    assert (kept.event_us["p50"], kept.sent_us["p50"], kept.floor_us) == (80.0, 40.0, 200.0)
    assert (kept.n_late, kept.n_explained, kept.n_unexplained) == (10, 10, 0)
    assert kept.degraded == pytest.approx(0.005)
    assert kept.is_lossless
    assert not lateness.of_summary(summary(losses={"never came": 1})).is_lossless
    assert not lateness.of_summary(summary(balanced=False)).is_lossless


def test_a_machine_that_was_not_watched_explains_nothing() -> None:
    one = lateness.of_summary(summary(machine=None))
    assert (one.floor_us, one.n_explained, one.n_late, one.n_unexplained) == (None, None, 9, 9)
    assert one.limit_us == 1000.0


def test_the_limit_is_what_the_machine_lets_one_keep(kept: Lateness) -> None:
    assert kept.limit_us == 1000.0
    slow = replace(kept, floor_us=700.0, event_us=dict(kept.event_us) | {"p99.9": 1390.0})
    assert slow.limit_us == 1400.0
    assert slow.keeps_limit
    assert not replace(slow, floor_us=600.0).keeps_limit


@pytest.mark.parametrize(
    ("change", "word"),
    [({"p50": 101.0}, "p50"), ({"p99.9": 1001.0}, "p99.9"), ({}, "unexplained")],
)
def test_a_run_misses_by_each_of_the_three(kept: Lateness, change: dict[str, float], word: str) -> None:
    assert demo_bench.misses(kept) == []
    worse = replace(kept, event_us=dict(kept.event_us) | change, n_explained=10 if change else 9)
    assert [word in miss for miss in demo_bench.misses(worse)] == [True]


def test_eight_runs_of_ten_must_keep(kept: Lateness) -> None:
    late = replace(kept, n_explained=0)
    assert demo_bench.verdict([kept] * 8 + [late] * 2)[0].endswith(": kept")
    assert demo_bench.verdict([kept] * 7 + [late] * 3)[0].endswith(": MISSED")


def test_from_the_packet_a_run_may_keep_what_it_misses_from_the_event(kept: Lateness) -> None:
    slow = replace(kept, event_us=dict(kept.event_us) | {"p50": 150.0})
    event, packet = demo_bench.verdict([slow])
    assert event.endswith("MISSED")
    assert packet.endswith("kept")


def test_a_row_of_the_load_curve_says_what_qualifies_it(kept: Lateness) -> None:
    runs = [kept, replace(kept, is_lossless=False, forgone_s=0.25)]
    cells = dict(zip(load_bench.HEAD, load_bench.row("single", 0.5, runs), strict=True))
    assert cells["lossless"] == "1/2"
    assert cells["at rate"] == "0.25 s behind"
    assert (cells["> 1 ms"], cells["explained"], cells["degraded %"]) == ("20", "20", "0.50")


def test_the_picture_is_drawn_with_hollow_points_for_runs_that_lost(kept: Lateness, tmp_path: Path) -> None:
    cases = [("single", 0.1), ("single", 0.5), ("multiring", 0.1), ("multiring", 0.5)]
    repeats = {case: [kept] for case in cases} | {("multiring", 0.5): [replace(kept, is_lossless=False)]}
    picture = ElementTree.parse(load_bench.draw(tmp_path / "load.svg", cases, repeats)).getroot()
    words = [text.text for text in picture.iter(f"{SVG}text")]
    assert "multiring p99.9" in words
    assert "machine's own p99.9" in words
    hollow = [one for one in picture.iter(f"{SVG}circle") if one.get("fill") == "white"]
    assert len(hollow) == len(load_bench.DRAWN)
    assert "○ lost data, or not at rate" in words


def test_points_that_are_not_known_are_left_out() -> None:
    curve = Curve("one & other", "#000", "", [(0.1, 10.0, True), (0.2, None, True), (0.3, 1e4, True)])
    picture = ElementTree.fromstring(write_svg([curve], x="rate", y="time", limit=(1000.0, "1 ms"), hollow="lost"))
    (line,) = picture.iter(f"{SVG}polyline")
    places = [tuple(map(float, point.split(","))) for point in str(line.get("points")).split()]
    assert len(places) == 2
    assert places[0][1] > places[1][1], "up is later"
