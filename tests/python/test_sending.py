# SPDX-License-Identifier: Apache-2.0
"""What front ends that are started alone print about themselves."""

import synthetic

from anello.run.display import line
from anello.run.sending import OTHERWISE, SendingMeter, summary


def test_progress_is_of_the_time_since_the_last_look() -> None:
    now_s = 0.0
    meter = SendingMeter(clock=lambda: now_s)
    counters = {f"source.board{board}": {"datagrams_sent": 500, "bytes_sent": 62_500_000} for board in range(2)}
    now_s = 1.0
    assert line(meter.look(counters)) == "time: 1.0 s;  datagrams: 1,000, now 1,000 /s;  out: 1 Gb/s"
    counters = {**counters, "source": {"time_forgone_ns": 300_000_000}}
    now_s = 2.0
    assert line(meter.look(counters)) == "time: 2.0 s;  datagrams: 1,000, now 0 /s;  out: 0 Gb/s;  forgone: 0.3 s"


def test_the_summary_names_what_was_made_and_what_did_not_go_out_so() -> None:
    counters = synthetic.source_counters() | {"source": {"events": 1000, "time_forgone_ns": 2_000_000}}
    first, made, forgone = summary(counters, 4.0)
    assert first.startswith("448 datagrams sent by 4 boards in 4 s: 112 /s")
    assert made == "made: 1,000 events, 400 packets, 4,000 fragments, 20,000 hits"
    assert "by 0.002 s" in forgone
    counters["source.board2"] |= {"packets_lost_injected": 3, "send_refused": 1}
    assert "not all as made: 3 packets lost on purpose, 1 datagrams refused by the system" in list(
        summary(counters, 4.0)
    )


def test_words_are_of_counters_that_there_are() -> None:
    assert set(OTHERWISE) - {"packets_reordered_injected"} <= set(synthetic.source_counters()["source.board0"])
