# SPDX-License-Identifier: Apache-2.0
"""A run against time: increments of counters between two looks, of a run of any length."""

from typing import Any

import numpy as np
import synthetic

from anello.account.history import MOST, History, quantiles_of

NS = 1000.0


def latency(values_us: list[float], leg: str = "way") -> dict[str, Any]:
    return {leg: synthetic.stage(np.array(values_us) * NS)}


def test_quantiles_are_of_the_events_since_the_look_before() -> None:
    history = History("way")
    early, late = [10.0] * 1000, [500.0] * 1000
    history.look(0.5, latency(early), {})
    history.look(1.0, latency(early + late), {"late": 3})
    first, second = history.moments()
    assert (first.n_events, second.n_events) == (1000, 1000)
    assert 9.5 < first.quantiles_ns["p99_ns"] / NS < 10.5
    assert 475 < second.quantiles_ns["p50_ns"] / NS < 525, "not of the whole run"
    assert "p999_ns" not in second.quantiles_ns, "a thousand events do not tell it"
    assert (first.lost, second.lost) == ({}, {"late": 3})


def test_the_first_leg_that_has_events_judges() -> None:
    history = History("event", "packet")
    history.look(0.5, latency([10.0] * 50, "packet") | {"event": {"count": 0}}, {})
    assert history.moments()[0].n_events == 50
    nobody = History()
    nobody.look(0.5, latency([10.0] * 50), {})
    assert nobody.moments()[0].n_events == 0


def test_a_long_run_keeps_its_span_in_bounded_memory() -> None:
    history = History("way")
    for look in range(1, 20_001):
        history.look(look * 0.5, {}, {"late": look})
    moments = history.moments()
    assert MOST / 2 - 1 <= len(moments) <= MOST
    times_s = [one.time_s for one in moments]
    assert times_s == sorted(times_s)
    assert times_s[0] < 100
    assert times_s[-1] > 9900
    steps = set(np.diff(times_s).round(6).tolist())
    assert len(steps) == 1, "evenly"


def test_a_quantile_is_the_upper_edge_of_its_bin() -> None:
    counts, edges = np.array([50, 49, 1]), np.array([0.0, 10.0, 20.0, 40.0])
    assert quantiles_of(counts, edges) == {"p50_ns": 10.0, "p90_ns": 20.0}
    assert quantiles_of(np.zeros(3, np.int64), edges) == {}
