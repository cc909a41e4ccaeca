# SPDX-License-Identifier: Apache-2.0
"""The ledger during a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anello.account.ledger import Ledger, Reader
from anello.control.balance import PATIENCE_S, Balance, LiveLedger


def ledger(came: int, *arrived: int) -> Ledger:
    read = Reader({})
    return Ledger((read.row("events", "built", came, [(f"part {n}", value) for n, value in enumerate(arrived)]),))


def looks(*sums: tuple[int, int], step_s: float = 0.5) -> list[Balance]:
    live = LiveLedger()
    return [live.look(ledger(*one), 100 + n * step_s) for n, one in enumerate(sums)]


def test_all_has_arrived() -> None:
    balance = looks((0, 0), (50, 50))[-1]
    assert (balance.closed_s, balance.on_the_way, balance.off) == (0, 0, ())


def test_what_is_on_its_way_has_arrived_at_the_next_look() -> None:
    balance = looks((0, 0), (50, 40), (100, 90))[-1]
    assert (balance.closed_s, balance.on_the_way) == (0.5, 10)


def test_the_sides_are_read_one_after_the_other_so_either_may_be_ahead() -> None:
    balance = looks((0, 0), (50, 52), (100, 102))[-1]
    assert (balance.closed_s, balance.on_the_way) == (0.5, 2)


@pytest.mark.parametrize("lost", [1, -1])
def test_what_has_gone_without_a_cause_is_off_once_patience_is_over(lost: int) -> None:
    n = int(PATIENCE_S / 0.5)
    found = looks(*((100 * k, 100 * k) for k in range(5)), *((500, 500 - lost) for _ in range(n + 2)))
    assert [len(balance.off) for balance in found].index(1) == 5 + n
    assert found[-1].closed_s is None


def test_a_run_that_began_a_moment_ago_has_patience() -> None:
    assert not looks((1000, 0), (2000, 0))[-1].off


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=60), st.integers(0, 5))
def test_what_arrives_within_patience_is_never_off(gains: list[int], delay: int) -> None:
    """A pipe of constant delay: whatever flows through it, nothing is missing."""
    came = [sum(gains[: n + 1]) for n in range(len(gains))]
    arrived = [came[n - delay] if n >= delay else 0 for n in range(len(gains))]
    for balance in looks(*zip(came, arrived, strict=True)):
        assert not balance.off
        assert balance.closed_s is not None
        assert balance.closed_s <= 0.5 * delay + 1e-9


def test_a_row_without_its_counters_is_left_out() -> None:
    row = Reader({}).row("events", "built", Reader({})("build", "events"), [])
    missing = Reader({})
    missing("build", "events")
    assert len(LiveLedger().look(Ledger((row, missing.row("events", "x", 0, []))), 0).rows) == 1
