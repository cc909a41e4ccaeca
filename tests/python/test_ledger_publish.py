# SPDX-License-Identifier: Apache-2.0
"""Published records are accounted for: all of them together, and for each program that subscribed."""

import pytest

from anello.account.ledger import PUBLISHED, SUBSCRIBED, Reader, Row, publish_rows


def counters() -> dict[str, dict[str, int]]:
    """100 results, with some of every outcome; two subscribers, and a place without one."""
    published = {key: 0 for _, key in PUBLISHED} | {"records_in": 100}
    published[PUBLISHED[0][1]], published[PUBLISHED[-1][1]] = 90, 10
    subscriber = {key: 0 for _, key in SUBSCRIBED} | {"subscriptions": 1, "records_offered": 90}
    subscriber[SUBSCRIBED[0][1]], subscriber[SUBSCRIBED[-1][1]] = 80, 10
    nobody = dict.fromkeys(subscriber, 0) | {"records_offered": 7}
    return {
        "publish": published, "publish.subscriber0": subscriber, "publish.subscriber1": dict(subscriber),
        "publish.subscriber2": nobody,
    }  # fmt: skip


def rows(of: dict[str, dict[str, int]], total: int = 100) -> dict[str, Row]:
    return {row.name: row for row in publish_rows(Reader(of), "decided", total)}


def test_every_subscriber_has_a_row_and_no_empty_place_has() -> None:
    found = rows(counters())
    assert list(found) == ["decided", "to be published", "offered to subscriber 0", "offered to subscriber 1"]
    assert [row.problem for row in found.values()] == ["", "", "", ""]


@pytest.mark.parametrize(
    ("block", "counter", "row"),
    [
        ("publish", "records_in", "decided"), ("publish", PUBLISHED[0][1], "to be published"),
        ("publish.subscriber1", "records_offered", "offered to subscriber 1"),
        ("publish.subscriber0", SUBSCRIBED[0][1], "offered to subscriber 0"),
    ],
)  # fmt: skip
def test_one_record_off_is_found_where_it_is(block: str, counter: str, row: str) -> None:
    off = counters()
    off[block][counter] -= 1
    assert "1 unaccounted for" in rows(off)[row].problem


def test_nothing_is_said_where_nothing_is_published() -> None:
    assert rows({}, total=5) == {}
