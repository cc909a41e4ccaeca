# SPDX-License-Identifier: Apache-2.0
"""How system benchmarks order and show their trials."""

from trials import interleaved, numbers, powers_of_two, table


def test_each_case_comes_once_per_repeat_and_begins_elsewhere() -> None:
    order = list(interleaved("abcdef", 3))
    rounds = [order[first : first + 6] for first in (0, 6, 12)]
    assert [sorted(one) for one in rounds] == [list("abcdef")] * 3
    assert [one[0] for one in rounds] == ["a", "c", "e"]


def test_table_has_a_text_column_and_columns_of_numbers() -> None:
    lines = table(["what", "n"], [["a", "1"], ["longer", "1000"]]).split("\n")
    assert lines == ["what       n", "------  ----", "a          1", "longer  1000"]


def test_options_with_lists() -> None:
    assert numbers("0.25,1") == [0.25, 1.0]
    assert powers_of_two(16, 100) == [16, 32, 64]
