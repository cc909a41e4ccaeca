# SPDX-License-Identifier: Apache-2.0
"""Alarms, from a sample of the run to the catalogue and the command for mail or chat."""

from pathlib import Path

import pytest

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.configuration.base import FrontEndsConfig
from anello.configuration.load import load
from anello.control.alarms import RUN_LOST, Alarms
from anello.control.operator import Status
from anello.control.states import State

pytestmark = pytest.mark.process

RUNNING = Status(State.RUNNING, 0)


class Bench:
    """Alarms with a clock by hand and a command that writes into a file."""

    def __init__(self, directory: Path, rules: str) -> None:
        self.catalogue = Catalogue(of_runs_in(directory))
        self.now_s, self.notices = 0.0, list[str]()
        self.mail = directory / "mail"
        self.alarms = Alarms(self.catalogue.alarms, self.notices.append, lambda: self.now_s)
        self.alarms.follow(self.config(rules))

    def config(self, rules: str) -> FrontEndsConfig:
        hook = f'echo "$ANELLO_ALARM_STATE $ANELLO_ALARM" >> {self.mail}'
        config = load(None, [f"alarms.rules={rules}", f"alarms.hook={hook}"])
        assert isinstance(config, FrontEndsConfig)
        return config

    def look(self, now_s: float, status: Status = RUNNING, **sample: float) -> list[str]:
        """The rules with an alarm now."""
        self.now_s = now_s
        self.alarms.look(status, sample)
        self.alarms.wait()
        return [row["rule"] for row in self.catalogue.alarms.newest(raised_only=True)]


def test_an_alarm_is_raised_kept_acknowledged_and_cleared(tmp_path: Path) -> None:
    bench = Bench(tmp_path, '["silent_boards > 0"]')
    assert bench.look(0, silent_boards=0) == []
    assert bench.look(1, silent_boards=2) == ["silent_boards > 0"]
    (row,) = bench.catalogue.alarms.newest()
    assert row["text"] == "boards that are not waited for any more: 2 (silent_boards > 0)"
    bench.catalogue.alarms.acknowledge(row["id"], "anna")
    assert bench.look(2, silent_boards=0) == ["silent_boards > 0"]
    assert bench.look(4, silent_boards=0) == []
    (row,) = bench.catalogue.alarms.newest()
    assert row["cleared_ns"] is not None
    assert row["acked_by"] == "anna"
    assert bench.mail.read_text() == "raised silent_boards > 0\ncleared silent_boards > 0\n"
    assert bench.notices == []


def test_other_rules_leave_no_alarm_behind(tmp_path: Path) -> None:
    bench = Bench(tmp_path, '["lost_hz > 0", "p999_us > 1000"]')
    assert sorted(bench.look(0, lost_hz=1, p999_us=2000)) == ["lost_hz > 0", "p999_us > 1000"]
    bench.alarms.follow(bench.config('["lost_hz > 5"]'))
    assert bench.look(1, lost_hz=1, p999_us=2000) == []


def test_a_run_that_is_lost_is_an_alarm_until_somebody_resets(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "[]")
    lost = Status(State.ERROR, 0, cause="the run's process was killed by signal 9")
    assert bench.look(0, lost) == [RUN_LOST]
    assert bench.look(1, lost) == [RUN_LOST]
    (row,) = bench.catalogue.alarms.newest()
    assert row["text"] == lost.cause
    assert bench.look(2, Status(State.OFFLINE, 0)) == []
    assert bench.mail.read_text() == f"raised {RUN_LOST}\ncleared {RUN_LOST}\n"
