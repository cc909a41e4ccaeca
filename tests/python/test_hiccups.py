# SPDX-License-Identifier: Apache-2.0
import pytest

from anello.system.hiccups import delay_of_share, measure, share_later_than


def test_share_counts_the_time_in_which_an_arrival_waits_too_long() -> None:
    late = [0.003, 0.0005, 0.002]  # in 1 s: 2 ms + 1 ms of it an arrival waits longer than 1 ms
    assert share_later_than(late, 1.0, 0.001) == pytest.approx(0.003)
    assert share_later_than([], 1.0, 0.001) == 0


def test_delay_is_the_inverse_of_the_share() -> None:
    late = [0.004] * 3 + [1e-5] * 1000
    delay = delay_of_share(late, 2.0, 0.001)
    assert share_later_than(late, 2.0, delay) == pytest.approx(0.001, rel=1e-6)


def test_a_measurement_naps_until_its_time_is_over() -> None:
    now_s = 5.0

    def sleep(nap_s: float) -> None:
        nonlocal now_s
        now_s += nap_s + 0.0625

    late = measure(1.0, lambda: now_s, sleep)
    assert late == pytest.approx([0.0625] * 16)
