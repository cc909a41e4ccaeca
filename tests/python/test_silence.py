# SPDX-License-Identifier: Apache-2.0
"""Front ends that send nothing any more are named, once, and so is their coming back."""

from datetime import datetime

from anello.account.record import CounterDict
from anello.run.silence import SilenceWatch


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def counters(n: int) -> CounterDict:
    return {"receive.board0": {"datagrams": n}, "receive.board1": {"datagrams": n}, "receive.board0.verdict": {"ok": n}}


def look(watch: SilenceWatch, clock: Clock, at_s: float, n: int) -> list[str]:
    clock.now_s = 100.0 + at_s
    return watch.look(counters(n))


def test_two_seconds_without_a_datagram_are_named_once() -> None:
    clock = Clock()
    watch = SilenceWatch(clock=clock)
    assert look(watch, clock, 0.1, 5) == []
    assert look(watch, clock, 2.0, 5) == []
    (line,) = look(watch, clock, 2.1, 5)
    assert line.startswith("no front end has sent for 2.0 s")
    assert look(watch, clock, 9.0, 5) == []
    assert look(watch, clock, 10.1, 6) == ["front ends send again, after 10.0 s"]
    assert look(watch, clock, 10.2, 7) == []
    assert len(look(watch, clock, 12.2, 7)) == 1


def test_silence_is_said_again_ever_less_often_with_the_time_it_began() -> None:
    clock, began_s = Clock(), datetime(2026, 3, 1, 14, 0, 5).astimezone().timestamp()
    watch = SilenceWatch(clock=clock, wall_clock=lambda: began_s + clock.now_s - 100.0)
    look(watch, clock, 0.0, 5)
    reported = [at_s for at_s in range(1, 1000) if look(watch, clock, at_s, 5)]
    assert reported == [2, 20, 200]
    (line,) = look(watch, clock, 2000.0, 5)
    assert "for 2000.0 s, since 14:00:05: check that they are running" in line
    assert "nothing more will come, and Ctrl-C ends the run" in line
    assert look(watch, clock, 2001.0, 6) == ["front ends send again, after 2001.0 s"]
    assert look(watch, clock, 2002.9, 6) == []
    assert len(look(watch, clock, 2003.0, 6)) == 1  # from the beginning


def test_front_ends_that_have_not_come_yet_are_waited_for() -> None:
    clock = Clock()
    watch = SilenceWatch(clock=clock)
    assert look(watch, clock, 1000.0, 0) == []


def test_a_pause_between_bursts_is_no_silence() -> None:
    clock = Clock()
    watch = SilenceWatch(longest_pause_s=5.0, clock=clock)
    look(watch, clock, 0.0, 5)
    assert look(watch, clock, 5.4, 5) == []
    assert len(look(watch, clock, 5.6, 5)) == 1


def test_ports_of_a_camera_count_too() -> None:
    clock = Clock()
    watch = SilenceWatch(clock=clock)
    assert watch.look({"receive.port0": {"datagrams": 3}}) == []
    clock.now_s += 2.0
    assert len(watch.look({"receive.port0": {"datagrams": 3}})) == 1
