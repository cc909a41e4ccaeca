# SPDX-License-Identifier: Apache-2.0
"""How system benchmarks order and judge their trials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trials import highest_passing, interleaved, numbers, powers_of_two, spread, table


@given(limit=st.integers(0, 60), n_steps=st.integers(0, 60))
def test_search_finds_the_last_that_passes_and_asks_seldom(limit: int, n_steps: int) -> None:
    asked: list[float] = []

    def passes(value: float) -> bool:
        asked.append(value)
        return value <= 10 + limit * 5

    assert highest_passing(10, 10 + n_steps * 5, 5, passes) == 10 + min(limit, n_steps) * 5
    assert len(asked) == len(set(asked)) <= 8


def test_search_says_when_even_the_lowest_fails() -> None:
    assert highest_passing(1.0, 3.0, 0.5, lambda _: False) is None


def test_search_reaches_the_highest_in_spite_of_rounding() -> None:
    assert highest_passing(0.1, 0.3, 0.1, lambda _: True) == pytest.approx(0.3)


def test_each_case_comes_once_per_repeat_and_begins_elsewhere() -> None:
    order = list(interleaved("abcdef", 3))
    rounds = [order[first : first + 6] for first in (0, 6, 12)]
    assert [sorted(one) for one in rounds] == [list("abcdef")] * 3
    assert [one[0] for one in rounds] == ["a", "c", "e"]


def test_spread_is_relative_and_needs_two() -> None:
    assert spread([100.0]) == 0.0
    assert spread([90.0, 110.0]) == pytest.approx(0.1414, abs=1e-4)


def test_table_has_a_text_column_and_columns_of_numbers() -> None:
    lines = table(["what", "n"], [["a", "1"], ["longer", "1000"]]).split("\n")
    assert lines == ["what       n", "------  ----", "a          1", "longer  1000"]


def test_options_with_lists() -> None:
    assert numbers("0.25,1") == [0.25, 1.0]
    assert powers_of_two(16, 100) == [16, 32, 64]
