# SPDX-License-Identifier: Apache-2.0
"""The figures of a run for history, alarms and page."""

from typing import Any

import fake_control
import pytest
from fake_control import FakeOperator, FakePages

from anello.configuration.alarm_figures import FIGURES
from anello.control.run_sampler import RunSampler
from anello.control.states import State


def figures_after(state: State, *, seconds: float) -> dict[str, float]:
    operator, pages = FakeOperator(State.RUNNING), FakePages()
    sight = RunSampler(operator.status, copy=pages.copy, clock=pages.clock)
    assert sight.look().figures == {}, "there is no rate at the first look"
    pages.advance(seconds)
    operator.state = state
    return sight.look().figures


def test_every_figure_is_one_that_rules_know() -> None:
    figures = figures_after(State.RUNNING, seconds=1)
    assert figures.keys() <= FIGURES.keys()
    assert {"built_hz", "lost_hz", "p999_us", "heartbeat_age_s", "busy_share"} <= figures.keys()


@pytest.mark.parametrize("refusing", [0, 1])
def test_a_file_that_refuses_is_a_figure(monkeypatch: pytest.MonkeyPatch, refusing: int) -> None:
    counters = fake_control.node_counters

    def with_store(n: int, *others: Any) -> dict[str, dict[str, int]]:
        return counters(n, *others) | {"camera_store": {"events_seen": n, "refusing": refusing}}

    monkeypatch.setattr(fake_control, "node_counters", with_store)
    assert figures_after(State.RUNNING, seconds=1)["files_refusing"] == refusing


@pytest.mark.parametrize("state", [State.READY, State.DRAINING])
def test_a_node_that_starts_or_writes_its_report_is_not_held_for_dead(state: State) -> None:
    assert "heartbeat_age_s" not in figures_after(state, seconds=5)
