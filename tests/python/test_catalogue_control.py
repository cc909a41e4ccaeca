# SPDX-License-Identifier: Apache-2.0
"""Entries of a control room and of people in the catalogue: history, alarms, log book, marks; and who sees them."""

import sqlite3
from pathlib import Path

import pytest
from catalogue_synthetic import START_NS, Clock, origin
from hypothesis import given
from hypothesis import strategies as st

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.tables import history
from anello.catalogue.tables.database import NoSuchError
from anello.catalogue.tables.history import BIN_NS, FINE_NS, SECOND_NS
from anello.catalogue.tables.schema import MIGRATIONS, VERSION

BEGIN_NS = START_NS // BIN_NS * BIN_NS


# --- History ------------------------------------------------------------------------------------------------------
def test_history_is_read_back_in_steps(catalogue: Catalogue) -> None:
    for second in range(10):
        sample = {"built_hz": 100.0 + second, "p999_us": 900.0 if second == 7 else 200.0, "disk": float("nan")}
        catalogue.history.add(BEGIN_NS + second * SECOND_NS, 1, sample)
    assert catalogue.history.metrics() == ["built_hz", "p999_us"]
    assert catalogue.history.get("built_hz", BEGIN_NS, BEGIN_NS + 3 * SECOND_NS) == [
        (BEGIN_NS + second * SECOND_NS, 100.0 + second) for second in range(3)
    ]
    assert catalogue.history.get("built_hz", BEGIN_NS, BEGIN_NS + BIN_NS, 5.0) == [
        (BEGIN_NS, 102.0), (BEGIN_NS + BIN_NS // 2, 107.0),
    ]  # fmt: skip
    assert catalogue.history.get("p999_us", BEGIN_NS, BEGIN_NS + BIN_NS, 10.0, what="greatest") == [(BEGIN_NS, 900.0)]
    assert catalogue.history.get("unheard_of", 0, 2**62) == []


def test_what_is_older_than_a_day_is_thinned_and_nothing_younger(catalogue: Catalogue) -> None:
    n_old, n_new = 30, 10
    for second in [*range(n_old), *(FINE_NS // SECOND_NS + n_old + i for i in range(n_new))]:
        catalogue.history.add(BEGIN_NS + second * SECOND_NS, 1, {"built_hz": float(second)})
    for _ in range(30):  # each thins an hour at most
        catalogue.history.thin(BEGIN_NS + FINE_NS + n_old * SECOND_NS)
    rows = catalogue.database.rows("SELECT t_ns, value, greatest, n, run FROM history ORDER BY t_ns")
    assert [tuple(row.values()) for row in rows[:3]] == [
        (BEGIN_NS + i * BIN_NS, 10.0 * i + 4.5, 10.0 * i + 9, 10, 1) for i in range(3)
    ]
    assert [row["n"] for row in rows[3:]] == [1] * n_new
    mean = catalogue.history.get("built_hz", BEGIN_NS, BEGIN_NS + n_old * SECOND_NS, 30.0)
    assert mean == [(BEGIN_NS, 14.5)]


def test_history_thins_itself(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "FINE_NS", 60 * SECOND_NS)
    for second in range(200):
        catalogue.history.add(BEGIN_NS + second * SECOND_NS, None, {"built_hz": 1.0})
    (rows,) = catalogue.database.rows("SELECT count(*) AS n, sum(n) AS samples FROM history")
    assert rows["samples"] == 200
    assert rows["n"] < 200 - 9 * 6  # at least a minute's worth of bins of ten


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.integers(1, 50))
def test_thinning_keeps_the_sum_and_the_greatest(values: list[float], cuts: int) -> None:
    with Catalogue(Path(":memory:")) as catalogue:
        for second, value in enumerate(values):
            catalogue.history.add(BEGIN_NS + second * SECOND_NS, None, {"figure": value})
        before = (
            catalogue.history.get("figure", 0, 2**62, 1e6),
            catalogue.history.get("figure", 0, 2**62, 1e6, what="greatest"),
        )
        for cut in range(cuts):
            catalogue.history.thin(BEGIN_NS + FINE_NS + cut * SECOND_NS)
        after = (
            catalogue.history.get("figure", 0, 2**62, 1e6),
            catalogue.history.get("figure", 0, 2**62, 1e6, what="greatest"),
        )
    assert after[0] == [(t_ns, pytest.approx(mean, rel=1e-9, abs=1e-3)) for t_ns, mean in before[0]]
    assert after[1] == before[1]


# --- Alarms -------------------------------------------------------------------------------------------------------
def test_an_alarm_is_raised_once_acknowledged_and_cleared(catalogue: Catalogue, clock: Clock) -> None:
    first = catalogue.alarms.raise_alarm("lost_hz > 0", "3 packets/s are lost", run=1)
    assert catalogue.alarms.raise_alarm("lost_hz > 0", "4 packets/s are lost", run=1) == first
    other = catalogue.alarms.raise_alarm("disk_free_gb < 5", "the disk is nearly full", severity="warning")
    catalogue.alarms.acknowledge(first, "Ada")
    clock.now_ns += 1
    catalogue.alarms.acknowledge(first, "Bob")
    assert catalogue.alarms.clear_alarm("lost_hz > 0")
    assert not catalogue.alarms.clear_alarm("lost_hz > 0")
    raised, cleared = catalogue.alarms.newest()
    assert (raised["id"], raised["cleared_ns"], raised["severity"]) == (other, None, "warning")
    assert (cleared["text"], cleared["acked_by"], cleared["acked_ns"], cleared["cleared_ns"]) == (
        "4 packets/s are lost", "Ada", START_NS, START_NS + 1,
    )  # fmt: skip
    assert [alarm["id"] for alarm in catalogue.alarms.newest(raised_only=True)] == [other]
    assert [alarm["id"] for alarm in catalogue.alarms.newest(run=1)] == [first]
    assert catalogue.alarms.raise_alarm("lost_hz > 0", "again") > other


def test_no_such_alarm(catalogue: Catalogue) -> None:
    with pytest.raises(NoSuchError, match="there is no alarm 3"):
        catalogue.alarms.acknowledge(3, "Ada")


# --- People -------------------------------------------------------------------------------------------------------
def test_the_log_book_has_entries_of_runs_and_of_none(catalogue: Catalogue, tmp_path: Path) -> None:
    number = catalogue.runs.begin(origin(), tmp_path)
    catalogue.log.add("beam on", author="Ada")
    catalogue.log.add("board 2 swapped", author="Bob", run=number)
    assert [entry["text"] for entry in catalogue.log.newest()] == ["board 2 swapped", "beam on"]
    assert [entry["author"] for entry in catalogue.log.newest(run=number)] == ["Bob"]
    assert [entry["text"] for entry in catalogue.runs.get(number)["log"]] == ["board 2 swapped"]
    with pytest.raises(NoSuchError, match="there is no run 9"):
        catalogue.log.add("", author="Ada", run=9)


def test_a_mark_is_kept_with_who_made_it(catalogue: Catalogue, tmp_path: Path) -> None:
    number = catalogue.runs.begin(origin(), tmp_path)
    catalogue.log.mark(number, "bad", "board 2 was off", author="Ada")
    run = catalogue.runs.get(number)
    assert (run["quality"], run["comment"]) == ("bad", "board 2 was off")
    assert [(entry["author"], entry["text"]) for entry in run["log"]] == [("Ada", "marked bad: board 2 was off")]
    with pytest.raises(ValueError, match="excellent"):
        catalogue.log.mark(number, "excellent", author="Ada")
    with pytest.raises(NoSuchError):
        catalogue.log.mark(number + 1, "good", author="Ada")


def test_news_are_reported_once_whoever_made_them(catalogue: Catalogue, tmp_path: Path) -> None:
    number = catalogue.runs.begin(origin(), tmp_path)
    catalogue.notices.add(number, ["old"])
    assert catalogue.news.since_last_call() == {}
    with Catalogue(of_runs_in(tmp_path)) as other:
        other.notices.add(number, ["board 2 is silent"])
        alarm = other.alarms.raise_alarm("silent_boards > 0", "board 2 is silent", run=number)
    new = catalogue.news.since_last_call()
    assert [row["text"] for row in new["notice"]] == ["board 2 is silent"]
    assert [row["id"] for row in new["alarm"]] == [alarm]
    assert catalogue.news.since_last_call() == {}
    catalogue.alarms.acknowledge(alarm, "Ada")
    assert [(row["id"], row["acked_by"]) for row in catalogue.news.since_last_call()["alarm"]] == [(alarm, "Ada")]


# --- Versions -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", range(VERSION))
def test_a_catalogue_of_any_earlier_version_is_brought_here(tmp_path: Path, version: int) -> None:
    old = sqlite3.connect(of_runs_in(tmp_path), isolation_level=None)
    for script in MIGRATIONS[:version]:
        old.executescript(script)
    old.execute(f"PRAGMA user_version = {version}")
    if version:
        old.execute(f"PRAGMA application_id = {0x414E4C4F}")
        old.execute("INSERT INTO config VALUES ('c', 'made-up', '{}', '', NULL, 'Ada', 1)")
        old.execute(
            "INSERT INTO run(name, chain, state, started_ns, operator, host, version, commit_sha, command, config,"
            " directory, process, process_start, boot, number_space, page)"
            " VALUES ('old', 'made-up', 'ended', 1, '', '', '', '', '', 'c', '', 1, 1, '', 1, '')"
        )
    old.close()
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        assert [run["name"] for run in catalogue.runs.find()] == ["old"] * bool(version)
        catalogue.log.add("it works", author="Ada")
        catalogue.history.add(START_NS, None, {"figure": 1.0})
        assert catalogue.runs.begin(origin(), tmp_path) == 1 + bool(version)
    again = sqlite3.connect(of_runs_in(tmp_path))
    assert again.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert again.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again.close()
