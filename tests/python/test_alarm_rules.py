# SPDX-License-Identifier: Apache-2.0
"""Rules for alarms: their form, and when they raise and clear."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anello.configuration.alarm_figures import FIGURES
from anello.configuration.alarm_rules import Rule, Watch, parse
from anello.configuration.load import load
from anello.errors import ConfigError

RULES = st.builds(
    Rule, st.sampled_from(sorted(FIGURES)), st.booleans(), st.integers(-1000, 1000).map(float),
    st.integers(0, 100).map(float), st.booleans(),
)  # fmt: skip


@given(RULES)
def test_a_rule_reads_as_it_is_written(rule: Rule) -> None:
    assert parse(rule.text) == rule


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must have the form"),
        ("p999_us", "must have the form"),
        ("p999_us > fast", "must have the form"),
        ("p999_us > 1.2.3", "must have the form"),
        ("p999_us > 1 for long", "must have the form"),
        ("p999_us > 1; rm -rf /", "must have the form"),
        ("p98_us > 1", "must begin with one of bytes_per_s"),
    ],
)
def test_what_is_no_rule_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(text)


def test_an_alarm_needs_its_time_and_keeps_it_while_it_flickers() -> None:
    rule = parse("p999_us > 1000 for 10 s")
    watch = Watch([rule])
    said = [(now_s, change.is_raised)
            for now_s, value in enumerate([2000] * 5 + [10] + [2000] * 11 + [10] * 9 + [2000] + [10] * 11)
            for change in watch.look({"p999_us": value}, float(now_s))]  # fmt: skip
    assert said == [(16, True), (37, False)]
    assert not watch.raised


def test_a_rule_without_time_is_raised_at_once() -> None:
    watch = Watch([parse("warning: silent_boards > 0")])
    (change,) = watch.look({"silent_boards": 1}, 5.0)
    assert change.is_raised
    assert change.words == "boards that are not waited for any more: 1 (warning: silent_boards > 0)"
    assert watch.look({}, 5.5) == []  # a figure that is not there: not met, and not long enough
    assert [change.is_raised for change in watch.look({}, 6.5)] == [False]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), max_size=60), st.integers(0, 10))
def test_raised_and_cleared_take_turns(steps: list[tuple[int, int]], seconds: int) -> None:
    watch = Watch([parse(f"lost_hz > 2 for {seconds} s")])
    now_s, said = 0.0, []
    for value, passed in steps:
        now_s += passed
        said += [change.is_raised for change in watch.look({"lost_hz": float(value)}, now_s)]
    assert said == [index % 2 == 0 for index in range(len(said))]
    assert bool(watch.raised) == bool(len(said) % 2)


def test_a_rule_that_cannot_be_read_is_named_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"alarms.rules\[1\]: must begin with one of"):
        load(None, ['alarms.rules=["lost_hz > 0", "cups_of_tea < 1"]'])
