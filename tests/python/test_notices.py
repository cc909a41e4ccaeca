# SPDX-License-Identifier: Apache-2.0
"""Notices have times, are printed at once, an equal one at most once a second, and are kept in the log."""

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from anello.account.notices import MOST_KEPT, Line, Notice, Notices, each_once
from anello.run.log import RunLog

BEGAN_NS = 1_800_000_000_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> int:
        return BEGAN_NS + round(self.now_s * 1e9)


class Operator:
    """Records each notice, and when it was printed."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.heard: list[tuple[float, str, int]] = []
        self.notices = Notices(self.hear, clock=self.clock)

    def hear(self, notice: Notice) -> None:
        self.heard.append((self.clock.now_s, notice.text, notice.times))

    def report(self, at_s: float, text: str) -> None:
        self.clock.now_s = at_s
        self.notices.look()
        self.notices.report(text)


def test_a_notice_is_reported_at_once_and_the_same_once_a_second() -> None:
    operator = Operator()
    for at_s in (0.0, 0.25, 0.5, 0.75, 1.25, 5.0):
        operator.report(at_s, "board 3 is silent")
    assert operator.heard == [
        (0.0, "board 3 is silent", 1),
        (1.25, "board 3 is silent", 3),
        (5.0, "board 3 is silent", 1),
    ]
    operator.notices.close()
    assert sum(times for _, _, times in operator.heard) == 6, "none is lost"


def test_the_same_with_other_numbers_is_the_same_and_another_board_is_not() -> None:
    operator = Operator()
    operator.report(0.0, "board 3: 12 datagrams of strangers so far")
    operator.report(0.1, "board 3: 1,500 datagrams of strangers so far")
    operator.report(0.1, "board 4: 12 datagrams of strangers so far")
    assert [text for _, text, _ in operator.heard] == [
        "board 3: 12 datagrams of strangers so far", "board 4: 12 datagrams of strangers so far",
    ]  # fmt: skip
    operator.notices.close()
    assert operator.heard[-1] == (0.1, "board 3: 1,500 datagrams of strangers so far", 1)


def test_what_waits_is_reported_though_nothing_else_happens() -> None:
    operator = Operator()
    operator.report(0.0, "late")
    operator.report(0.9, "late")
    operator.clock.now_s = 1.0
    operator.notices.look()
    assert [at_s for at_s, _, _ in operator.heard] == [0.0, 1.0]
    (first, second) = operator.notices.kept()
    assert (first.time_ns, second.time_ns) == (BEGAN_NS, BEGAN_NS + 900_000_000), "the time it happened"


def test_a_clock_that_is_set_back_silences_nothing() -> None:
    operator = Operator()
    operator.report(1000.0, "late")
    operator.report(0.0, "late")
    assert len(operator.heard) == 2


def test_what_is_kept_is_bounded_and_says_so() -> None:
    operator = Operator()
    for number in range(MOST_KEPT + 7):
        operator.notices.report(f"board {number} is silent")
    kept = operator.notices.kept()
    assert len(kept) == MOST_KEPT + 1
    assert kept[-1].text == "and 7 more, which the log has"
    assert len(operator.heard) == MOST_KEPT + 7


def test_details_are_for_the_log_alone() -> None:
    operator = Operator()
    operator.notices.report("time: 10 s", "detail")
    assert operator.heard == [(0.0, "time: 10 s", 1)]
    assert operator.notices.kept() == ()


def test_the_engines_lines_say_how_grave_they_are() -> None:
    operator = Operator()
    lines: list[Line] = [
        ("board 3 was silent and sends again", "info"),
        "nobody sends",
        ("cannot write /data: disk full", "bad"),
    ]
    operator.notices.report_all(lines)
    assert [notice.severity for notice in operator.notices.kept()] == ["info", "warning", "bad"]
    assert [notice.words for notice in operator.notices.kept()][1:] == [
        "warning: nobody sends", "bad: cannot write /data: disk full",
    ]  # fmt: skip


def test_of_several_nodes_each_is_kept_once_in_time() -> None:
    notices = [Notice(3, "node 2 is down"), Notice(1, "node 2 is down"), Notice(2, "node 1 is down")]
    assert each_once(notices) == (Notice(1, "node 2 is down"), Notice(2, "node 1 is down"))


def test_a_notice_reads_back_and_is_readable() -> None:
    notice = Notice(BEGAN_NS, "board 3 is silent", "bad", 4)
    values = json.loads(json.dumps(notice.as_dict()))
    assert Notice.of(values) == notice
    assert datetime.fromisoformat(values["time"]).timestamp() == BEGAN_NS * 1e-9
    assert notice.line == f"{notice.when:%H:%M:%S} bad: board 3 is silent (4 times)"


@pytest.mark.parametrize("wrong", [{"severity": "fatal"}, {"times": "x"}, {"time_ns": None}])
def test_what_is_no_notice_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Notice.of(Notice(1, "late").as_dict() | wrong)


# --- The log ------------------------------------------------------------------------------------------------------
def test_the_log_has_time_severity_and_text_and_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    for text in ("board 3 is silent", "board 4 is\x1b[2J silent\n"):
        notices = Notices(clock=lambda: BEGAN_NS)
        with RunLog(path) as log:
            notices.listeners.append(log.write)
            notices.report(text)
            assert text[:10] in path.read_text(), "at once, not at the end"
    first, second = path.read_text().splitlines()
    when, severity, text = first.split(maxsplit=2)
    assert datetime.fromisoformat(when).timestamp() == BEGAN_NS * 1e-9
    assert (severity, text) == ("warning", "board 3 is silent")
    assert second.endswith("board 4 is?[2J silent?")


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """Limits the size of files, in place of a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_costs_the_log_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    with RunLog(path) as log:
        with files_of_at_most(200):
            for number in range(10):
                log.write(Notice(BEGAN_NS + number, f"board {number} is silent"))
        assert "run.log could not be written" in log.problem
    assert path.stat().st_size <= 200
