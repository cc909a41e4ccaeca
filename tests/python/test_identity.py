# SPDX-License-Identifier: Apache-2.0
"""Sets of numbers, compared with Python's own sets; and the outcome of each number of a board."""

import random
from itertools import pairwise

import pytest

from anello.account.identity import (
    CAUSES,
    EPOCH_SHIFT,
    Ranges,
    ReceivedNumbers,
    SentNumbers,
    difference,
    ends_of_epochs,
    in_words,
    intersection,
    matched,
    size,
    union,
)


def numbers(ranges: Ranges) -> set[int]:
    return {number for begin, end in ranges for number in range(begin, end)}


def some_ranges(rng: random.Random) -> Ranges:
    return union((begin, begin + rng.randrange(6)) for begin in (rng.randrange(60) for _ in range(rng.randrange(9))))


@pytest.mark.parametrize("seed", range(200))
def test_sets_agree_with_pythons_own(seed: int) -> None:
    rng = random.Random(seed)
    left, right = some_ranges(rng), some_ranges(rng)
    assert numbers(intersection(left, right)) == numbers(left) & numbers(right)
    assert numbers(difference(left, right)) == numbers(left) - numbers(right)
    assert numbers(union([*left, *right])) == numbers(left) | numbers(right)
    for result in (intersection(left, right), difference(left, right), union([*left, *right])):
        assert size(result) == len(numbers(result))
        assert all(begin < end for begin, end in result)
        assert all(one[1] <= two[0] for one, two in pairwise(result))


@pytest.mark.parametrize("seed", range(100))
def test_each_number_that_was_made_is_in_one_place(seed: int) -> None:
    rng = random.Random(seed)
    made, cause = [[0, 0, 80, 0], [1, 0, 50, 0]], {}
    withheld = []
    for epoch, end in ((0, 80), (1, 50)):
        for number in range(end):
            if rng.random() < 0.2:
                cause[(epoch, number)] = rng.randrange(len(CAUSES))
                withheld.append([epoch, number, number + 1, cause[(epoch, number)]])
    lost = {key for key in ((e, n) for e, end in ((0, 80), (1, 50)) for n in range(end)) if rng.random() < 0.1}
    missing = [[epoch, number, number + 1, 0] for epoch, number in sorted({*lost, *cause})]
    result = matched(
        SentNumbers.of({"made": made, "withheld": withheld, "not_listed": 0}),
        ReceivedNumbers.of({"expected": made, "missing": missing, "not_listed": 0}),
    )
    assert result is not None
    assert result.made == 130
    assert result.came == 130 - len(missing)
    for index, words in enumerate(CAUSES):
        assert result.n(words) == sum(why == index for why in cause.values())
    assert numbers(result.never_came) == {(epoch << EPOCH_SHIFT) + number for epoch, number in lost - set(cause)}
    assert (result.never_made, result.never_sent) == ((), ())


def board(
    made: int, expected: int, missing: list[list[int]], not_listed: int = 0
) -> tuple[SentNumbers, ReceivedNumbers]:
    return (
        SentNumbers.of({"made": [[0, 0, made, 0]], "withheld": [], "not_listed": 0}),
        ReceivedNumbers.of({"expected": [[0, 0, expected, 0]], "missing": missing, "not_listed": not_listed}),
    )


def test_what_was_made_after_the_last_that_came_is_lost_too() -> None:
    result = matched(*board(100, 90, []))
    assert result is not None
    assert result.never_came == ((90, 100),)


def test_what_was_never_made_is_not_counted_as_come() -> None:
    result = matched(*board(100, 103, []))
    assert result is not None
    assert (result.came, result.never_made) == (100, ((100, 103),))


def test_an_end_of_burst_has_a_number_that_nobody_made() -> None:
    made, came = board(100, 101, [])
    result = matched(made, came, ends_of_epochs(made))
    assert result is not None
    assert result.never_made == ()


def test_a_list_that_is_not_whole_is_not_used() -> None:
    assert matched(*board(100, 100, [], not_listed=1)) is None


def test_a_restart_that_never_was_does_not_matter_where_numbers_never_begin_anew() -> None:
    came = ReceivedNumbers.of({"expected": [[0, 0, 60, 0], [1, 0, 100, 0]], "missing": [[0, 5, 6, 0], [1, 0, 60, 0]],
                    "not_listed": 0})  # fmt: skip
    result = matched(board(100, 0, [])[0], came.in_one_epoch())
    assert result is not None
    assert result.never_came == ((5, 6),)


def test_ranges_in_words_are_short() -> None:
    assert in_words(union([(3, 4), (7, 10)])) == "3, 7-9"
    assert in_words(union((10 * i, 10 * i + 1) for i in range(9)), most=2) == "0, 10 and 7 more ranges"
    assert in_words(((5, 6), ((1 << EPOCH_SHIFT) + 5, (1 << EPOCH_SHIFT) + 6))) == "5 of epoch 0, 5 of epoch 1"
