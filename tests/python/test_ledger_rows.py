# SPDX-License-Identifier: Apache-2.0
"""The text of a ledger's row, and how a loss is recorded."""

import pytest

from anello.account.identity import EPOCH_SHIFT
from anello.account.ledger import (
    MAX_SEGMENTS,
    MOST_RANGES,
    Ledger,
    Loss,
    Part,
    Reader,
    Row,
    dropped_datagrams,
    possible_causes,
)


@pytest.mark.parametrize(
    ("total", "parts", "before", "problem"),
    [
        (7, [("a", 3), ("b", 4)], "", ""),
        (7, [("a", 3), ("b", 4)], "odd", "odd"),
        (9, [("a", 3), ("b", 4)], "", "9 is not the sum of its parts, 7: 2 unaccounted for"),
        (5, [("a", 3), ("b", 4)], "", "5 is not the sum of its parts, 7: 2 unaccounted for"),
        (9, [("a", 3)], "odd", "odd; 9 is not the sum of its parts, 3: 6 unaccounted for"),
        (2, [("a", 3), ("b", -1)], "", "more than there was went to: b"),
        (0, [("a", 3), ("b", -1), ("c", -2)], "", "more than there was went to: b, c"),
    ],
)
def test_a_row_says_what_is_wrong_with_it(total: int, parts: list[Part], before: str, problem: str) -> None:
    row = Reader({}).row("packets", "sent", total, parts, before)
    assert (row.level, row.name, row.total, row.problem) == ("packets", "sent", total, problem)
    assert row.balanced is not bool(problem)


def test_a_row_shows_its_first_part_and_those_that_are_something() -> None:
    assert Reader({}).row("hits", "in", 4, [("a", 0), ("b", 0), ("c", 4)]).parts == (("a", 0), ("c", 4))


def test_missing_counters_are_a_problem_of_the_row_that_asks() -> None:
    reader = Reader({"block": {"here": 4}})
    assert (reader("block", "here"), reader("block", "gone"), reader("nowhere", "here")) == (4, 0, 0)
    first, second = (reader.row("hits", "in", 4, [("a", 4)]) for _ in range(2))
    assert first.problem == "there is no counter block.gone, nowhere.here"
    assert second.balanced


def test_a_ledger_tells_a_problem_once() -> None:
    good, bad = Row("hits", "in", 1, (("a", 1),)), Row("hits", "out", 1, (("a", 2),), "off")
    assert Ledger((good,), (good,)).balanced
    for ledger in (Ledger((good, bad), (bad,)), Ledger((good,), (bad,))):
        assert not ledger.balanced
        assert ledger.problems == ["ledger: hits: out: off"]
    values = Ledger((good,), (bad,), (Loss("hits", "lost", 2),)).as_dict()
    assert (values["balanced"], [row["name"] for row in values["rows"]], [row["name"] for row in values["boards"]]) == (
        False, ["in"], ["out"]
    )  # fmt: skip
    assert [loss["n"] for loss in values["losses"]] == [2]


def test_a_loss_lists_first_and_last_numbers_of_each_epoch() -> None:
    epoch = 2 << EPOCH_SHIFT
    loss = Loss("packets", "lost on purpose", 1012, True, "board 1", ((7, 8), (epoch + 5, epoch + 16)))
    assert loss.as_dict() == {
        "level": "packets", "cause": "lost on purpose", "n": 1012, "ordered": True, "where": "board 1",
        "ranges": [[0, 7, 7], [2, 5, 15]], "not_listed": 1000,
    }  # fmt: skip
    assert Loss("packets", "lost", 1012, where="board 1").line == "board 1: 1,012 packets lost"
    assert Loss("packets", "lost", 3, where="board 1", numbers=((7, 8), (9, 11))).line == (
        "board 1: 3 packets lost: 7, 9-10"
    )


def test_a_loss_lists_only_so_many_ranges() -> None:
    numbers = tuple((10 * i, 10 * i + 2) for i in range(MOST_RANGES + 3))
    values = Loss("packets", "lost", 2 * len(numbers), numbers=numbers).as_dict()
    assert len(values["ranges"]) == MOST_RANGES
    assert values["not_listed"] == 6


@pytest.mark.parametrize(
    ("n_lost", "counted", "rest", "causes"),
    [
        (3, [("a", 3), ("b", 0)], False, "a"),
        (3, [("a", 1), ("b", 2)], False, "a or b"),
        (4, [("a", 1), ("b", 2)], False, "a or b or other"),
        (3, [("a", 1), ("b", 2)], True, "a or b or other"),
        (3, [], False, "other"),
    ],
)
def test_causes_are_named_as_far_as_they_reach(n_lost: int, counted: list[Part], rest: bool, causes: str) -> None:
    assert possible_causes(n_lost, counted, "other", rest=rest) == causes


@pytest.mark.parametrize(
    ("counted", "gone", "joined", "dropped"),
    [
        (3, 5, False, 3),
        (3, 5, True, 5),
        (3, 3, True, 3),
        (5, 3, True, 5),
        (2, 2 * MAX_SEGMENTS, True, 2 * MAX_SEGMENTS),
        (2, 2 * MAX_SEGMENTS + 1, True, 2),
    ],
)
def test_a_joined_message_counts_as_what_was_in_it(counted: int, gone: int, joined: bool, dropped: int) -> None:
    assert dropped_datagrams(counted, gone, joined=joined) == dropped
