# SPDX-License-Identifier: Apache-2.0
"""Runs in the catalogue: numbers, ends, crashes; several processes; a file that cannot be used."""

import multiprocessing
import os
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from catalogue_synthetic import START_NS, Clock, ended_process, origin
from fake_control import RICH, node_counters
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from anello.account.run_state import RunState
from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.end import End, Leg, LossCount
from anello.catalogue.process import Process
from anello.catalogue.tables import crashed
from anello.catalogue.tables.database import FILE, CatalogueError, NoSuchError
from anello.catalogue.tables.runs import Filter
from anello.catalogue.tables.schema import VERSION
from anello.configuration.load import load
from anello.configuration.origin import Origin
from anello.counters import pages as counter_pages


# --- Runs ---------------------------------------------------------------------------------------------------------
def test_numbers_rise_and_are_never_given_twice(catalogue: Catalogue, tmp_path: Path) -> None:
    numbers = [catalogue.runs.begin(origin(), tmp_path) for _ in range(3)]
    with sqlite3.connect(of_runs_in(tmp_path)) as other:  # somebody tidies up
        other.execute("DELETE FROM run WHERE number = 3")
    other.close()
    assert [*numbers, catalogue.runs.begin(origin(), tmp_path)] == [1, 2, 3, 4]


def test_a_run_is_kept_from_beginning_to_end(catalogue: Catalogue, clock: Clock, tmp_path: Path) -> None:
    number = catalogue.runs.begin(origin(commit="abc+changes"), tmp_path, page="/anello.node.7")
    catalogue.runs.set_state(number, "running")
    clock.now_ns += 3_000_000_000
    catalogue.notices.add(number, ["board 2 is silent", "board 2 is silent", "board 2 is back"])
    catalogue.runs.end(
        number,
        End(RunState.ENDED, exit_code=5, balanced=True, events=1000, lost=3, bytes=1 << 40, seconds=2.0, leg="a_to_b",
            p50_ns=1e5, p999_ns=9e5, verdict="problems: 3 packets lost", quality_found={"efficiency": float("nan")},
            losses=[LossCount("packets lost", 3), LossCount("packets lost", 7, ordered=True)],
            latency={"a_to_b": Leg(1000, [(1e5, 1.03e5, 999), (9e5, 9.3e5, 1)])},
            counters={"node": {"build": {"events": 1000, "all_ones": 2**64 - 1}}}),
    )  # fmt: skip
    run = catalogue.runs.get(number)
    assert (run["state"], run["quality"], run["started_ns"], run["ended_ns"]) == (
        "ended", "unknown", START_NS, START_NS + 3_000_000_000,
    )  # fmt: skip
    assert (run["operator"], run["commit_sha"], run["page"]) == ("shift", "abc+changes", "anello.node.7")
    assert (run["rate_hz"], run["balanced"], run["quality_found"]) == (500.0, True, {"efficiency": None})
    assert run["losses"] == [
        {"cause": "packets lost", "n": 7, "ordered": 1}, {"cause": "packets lost", "n": 3, "ordered": 0},
    ]  # fmt: skip
    assert run["latency"] == {"a_to_b": {"count": 1000, "bins": [[1e5, 1.03e5, 999], [9e5, 9.3e5, 1]]}}
    assert run["counters"] == {"node": {"build": {"events": 1000, "all_ones": 2**64 - 1}}}
    assert [(notice["text"], notice["times"]) for notice in run["notices"]] == [
        ("board 2 is silent", 2), ("board 2 is back", 1),
    ]  # fmt: skip
    assert run["configuration"]["values"] == {"run.name": "made", "source.rate_hz": 5e4}


def test_a_run_that_is_over_stays_so(catalogue: Catalogue, tmp_path: Path) -> None:
    number = catalogue.runs.begin(origin(), tmp_path)
    catalogue.runs.end(number, End(RunState.FAILED, verdict="a port is in use"))
    catalogue.runs.set_state(number, "running")
    assert not catalogue.runs.end(number, End(RunState.CRASHED), only_if_open=True)
    assert catalogue.runs.get(number)["state"] == "failed"


def test_runs_are_chosen_and_newest_first(catalogue: Catalogue, tmp_path: Path) -> None:
    for second, chain in enumerate(("one", "two", "one")):
        number = catalogue.runs.begin(origin(chain=chain, started_ns=START_NS + second), tmp_path)
        if second != 1:
            catalogue.runs.end(number, End(RunState.ENDED))

    def numbers(wanted: Filter) -> list[int]:
        return [run["number"] for run in catalogue.runs.find(wanted)]

    assert numbers(Filter()) == [3, 2, 1]
    assert numbers(Filter(chain="one")) == [3, 1]
    assert numbers(Filter(state="configured")) == [2]
    assert numbers(Filter(since_ns=START_NS + 1, limit=1)) == [3]
    assert numbers(Filter(quality="good")) == []


def test_a_configuration_is_kept_once_with_what_was_before_it(catalogue: Catalogue, tmp_path: Path) -> None:
    first, second = origin(values={"a": 1}), origin(values={"a": 2}, started_ns=START_NS + 1)
    for each in (first, second, second, first):
        catalogue.runs.begin(each, tmp_path)
    known = catalogue.configurations.find("made-up")
    assert [(one["digest"], one["parent"], one["runs"]) for one in known] == [
        (second.config_digest, first.config_digest, 2), (first.config_digest, None, 2),
    ]  # fmt: skip
    assert [(one["first_run"], one["last_run"], one["name"]) for one in known] == [(2, 3, None), (1, 4, None)]
    assert catalogue.configurations.find("another") == []


def test_the_beginning_of_a_digest_is_enough_where_it_is_one(catalogue: Catalogue, tmp_path: Path) -> None:
    for digest in ("aa11", "aa22", "aa2"):
        catalogue.runs.begin(origin(config_digest=digest), tmp_path)
    assert catalogue.configurations.get("aa1")["digest"] == "aa11"
    assert catalogue.configurations.get("aa2")["digest"] == "aa2", "its own, though another one begins so"
    with pytest.raises(NoSuchError, match="these begin so: aa11, aa2, aa22"):
        catalogue.configurations.get("aa")
    with pytest.raises(NoSuchError, match=r"no configuration 'b%' in .*: none begins so"):
        catalogue.configurations.get("b%")


def test_one_that_was_saved_and_not_run_is_listed(catalogue: Catalogue) -> None:
    catalogue.configurations.add(origin())
    (known,) = catalogue.configurations.find()
    assert (known["name"], known["runs"], known["first_run"], known["last_run"]) == ("made", 0, None, None)


def test_no_such_run_names_the_newest(catalogue: Catalogue, tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"there is no run 7 in .*: there are none yet$"):
        catalogue.runs.get(7)
    catalogue.runs.begin(origin(), tmp_path)
    with pytest.raises(CatalogueError, match=r"there is no run 7 in .*: the newest is 1$"):
        catalogue.runs.get(7)


def test_files_have_size_and_checksum(catalogue: Catalogue, tmp_path: Path) -> None:
    folder = tmp_path / "made-1"
    (folder / "node1").mkdir(parents=True)
    (folder / "node1" / "events").write_bytes(b"abc")
    (folder / "link").symlink_to(folder / "node1" / "events")
    number = catalogue.runs.begin(origin(), folder)
    catalogue.files.add(number, folder)
    (file,) = catalogue.runs.get(number)["files"]
    assert (file["path"], file["bytes"], file["sha256"]) == ("node1/events", 3, None)
    catalogue.files.add_checksums(is_over=lambda: True)
    assert catalogue.runs.get(number)["files"] == [file], "there was no time"
    catalogue.files.add_checksums()
    (file,) = catalogue.runs.get(number)["files"]
    assert file["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_what_is_another_file_by_now_gets_no_checksum(catalogue: Catalogue, tmp_path: Path) -> None:
    folder = tmp_path / "shift"
    folder.mkdir()
    for name in ("changed", "gone", "link", "pipe", "same"):
        (folder / name).write_bytes(b"abc")
    number = catalogue.runs.begin(origin(), folder)
    catalogue.files.add(number, folder)
    (folder / "changed").write_bytes(b"abcd")
    for name in ("gone", "link", "pipe"):
        (folder / name).unlink()
    (folder / "link").symlink_to(folder / "same")
    os.mkfifo(folder / "pipe")
    catalogue.files.add_checksums()
    assert [file["path"] for file in catalogue.runs.get(number)["files"] if file["sha256"]] == ["same"]


def test_the_catalogue_is_no_file_of_a_run_beside_it(catalogue: Catalogue, tmp_path: Path) -> None:
    number = catalogue.runs.begin(origin(), tmp_path)
    catalogue.files.add(number, tmp_path)
    assert catalogue.runs.get(number)["files"] == []


def test_what_is_no_text_is_kept_readable(catalogue: Catalogue, tmp_path: Path) -> None:
    number = catalogue.runs.begin(origin(command="anello run \udcff"), tmp_path / "\udcfe")
    catalogue.notices.add(number, ["\udcfd"])
    run = catalogue.runs.get(number)
    assert (run["command"], run["directory"], run["notices"][0]["text"]) == (
        "anello run \\udcff", str(tmp_path / "\\udcfe"), "\\udcfd",
    )  # fmt: skip


# --- What crashed -------------------------------------------------------------------------------------------------
@pytest.mark.process
def test_a_run_whose_process_is_gone_has_crashed(catalogue: Catalogue, clock: Clock, tmp_path: Path) -> None:
    gone, mine = (catalogue.runs.begin(origin(), tmp_path, process=one) for one in (ended_process(), Process.this()))
    clock.now_ns += 1
    with Catalogue(of_runs_in(tmp_path), clock=clock):  # the next program that opens it
        assert [run["state"] for run in catalogue.runs.find()] == ["configured", "crashed"]
    assert catalogue.runs.get(gone)["ended_ns"] == clock.now_ns
    assert "ended without a word" in catalogue.runs.get(gone)["verdict"]
    assert catalogue.runs.get(mine)["ended_ns"] is None


def test_a_process_that_has_the_number_now_is_another(catalogue: Catalogue, tmp_path: Path) -> None:
    this = Process.this()
    catalogue.runs.begin(origin(), tmp_path, process=replace(this, start_ticks=this.start_ticks - 1))
    catalogue.runs.begin(origin(), tmp_path, process=replace(this, boot="before the machine's last start"))
    assert catalogue.close_crashed() == [1, 2]


@pytest.mark.process
def test_nobody_judges_a_process_elsewhere(catalogue: Catalogue, tmp_path: Path) -> None:
    gone = ended_process()
    catalogue.runs.begin(origin(), tmp_path, process=replace(gone, host="elsewhere"))
    catalogue.runs.begin(origin(), tmp_path, process=replace(gone, number_space=gone.number_space + 1))
    assert catalogue.close_crashed() == []


class LeftPage:
    """A page of counters whose process has ended, or not."""

    name = "anello.node.1"

    def __init__(self, process: int, *, runs: bool = False) -> None:
        self.process, self.runs = process, runs
        self.header = SimpleNamespace(heartbeat_ns=START_NS + 9)
        self.is_removed = False

    def counters(self) -> dict[str, dict[str, int]]:
        return {"build": {"events": 41}, "receive.port0": {"bytes": 4100}}

    def latency(self) -> dict[str, dict[str, Any]]:
        stage = {"count": 3, "p50_ns": 2e5, "p999_ns": 3e5, "bins_ns": [0.0, 1e5, 2e5, 3e5], "bin_counts": [0, 1, 2]}
        return {"sent_to_decided": {"run": stage, "1s": {}}}

    def remove(self) -> None:
        self.is_removed = True


@pytest.mark.process
def test_what_the_page_last_said_is_kept_and_the_page_goes(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = ended_process()
    page = LeftPage(gone.number)
    monkeypatch.setattr(counter_pages, "look_at", lambda name: page)
    keys = SimpleNamespace(search=SimpleNamespace(whole_way="sent_to_decided"), live="")
    monkeypatch.setattr(crashed.registry, "names", lambda: ("made-up",))
    monkeypatch.setattr(crashed.registry, "registration", lambda chain: keys)
    number = catalogue.runs.begin(origin(), tmp_path, page="/anello.node.1", process=gone)
    assert catalogue.close_crashed() == [number]
    run = catalogue.runs.get(number)
    assert run["counters"] == {"node": page.counters()}
    assert (run["ended_ns"], run["bytes"], run["leg"]) == (START_NS + 9, 4100, "sent_to_decided")
    assert (run["p50_ns"], run["p999_ns"]) == (2e5, 3e5)
    assert run["latency"]["sent_to_decided"]["bins"] == [[1e5, 2e5, 1], [2e5, 3e5, 2]]
    assert "what its counters last said is here" in run["verdict"]
    assert page.is_removed
    assert catalogue.close_crashed() == []


@pytest.mark.process
def test_its_events_are_those_that_its_chain_counts(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = LeftPage(ended_process().number)
    monkeypatch.setattr(counter_pages, "look_at", lambda name: page)
    monkeypatch.setattr(page, "counters", lambda: node_counters(77))
    made = Origin.of(load(RICH)), origin(configuration="chain = 'unknown'"), origin(configuration="no [TOML")
    gone = replace(ended_process(), number=page.process)
    for number, each in enumerate(made):
        catalogue.runs.begin(replace(each, config_digest=str(number)), tmp_path, page="anello.node.1", process=gone)
    catalogue.close_crashed()
    assert [catalogue.runs.get(number)["events"] for number in (1, 2, 3)] == [77, None, None]


@pytest.mark.process
def test_the_page_of_another_process_stays(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = LeftPage(1, runs=True)
    monkeypatch.setattr(counter_pages, "look_at", lambda name: page)
    catalogue.runs.begin(origin(), tmp_path, page="anello.node.1", process=ended_process())
    assert catalogue.close_crashed() == [1]
    assert catalogue.runs.get(1)["counters"] == {}
    assert not page.is_removed


# --- Several at once ----------------------------------------------------------------------------------------------
def _begin_many(directory: Path, n: int, numbers: "multiprocessing.Queue[list[int]]") -> None:
    with Catalogue(of_runs_in(directory), busy_s=60) as own:
        mine = [own.runs.begin(origin(), directory) for _ in range(n)]
        for number in mine:
            own.notices.add(number, ["ready"])
            own.runs.end(number, End(RunState.ENDED, counters={"node": {"build": {"events": number}}}))
    numbers.put(mine)


@pytest.mark.process
def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    numbers: multiprocessing.Queue[list[int]] = context.Queue()
    writers = [context.Process(target=_begin_many, args=(tmp_path, 10, numbers)) for _ in range(4)]
    for writer in writers:
        writer.start()
    given = [numbers.get(timeout=120) for _ in writers]
    for writer in writers:
        writer.join()
    assert all(mine == sorted(mine) for mine in given)
    assert sorted(number for mine in given for number in mine) == list(range(1, 41))
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        assert {run["state"] for run in catalogue.runs.find()} == {"ended"}
        assert all(run["notices"] == 1 for run in catalogue.runs.find())


def test_threads_may_share_one(catalogue: Catalogue, tmp_path: Path) -> None:
    threads = [threading.Thread(target=catalogue.runs.begin, args=(origin(), tmp_path)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(catalogue.runs.find()) == 8


# --- A file that cannot be used -----------------------------------------------------------------------------------
def test_a_locked_catalogue_is_reported_in_words(catalogue: Catalogue, tmp_path: Path) -> None:
    other = sqlite3.connect(of_runs_in(tmp_path), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    catalogue.database.wait_at_most(0.0)
    with pytest.raises(CatalogueError, match=r"cannot be used: database is locked\. Another program holds it"):
        catalogue.runs.begin(origin(), tmp_path)
    other.execute("ROLLBACK")
    other.close()
    assert catalogue.runs.begin(origin(), tmp_path) == 1


@pytest.mark.parametrize("content", [b"x" * 5000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_catalogue_is_reported_in_words(tmp_path: Path, content: bytes) -> None:
    of_runs_in(tmp_path).write_bytes(content)
    with pytest.raises(CatalogueError, match=r"cannot be used: .*Move it away"):
        Catalogue(of_runs_in(tmp_path))
    assert of_runs_in(tmp_path).read_bytes() == content


def test_a_full_disk_leaves_what_was_there(catalogue: Catalogue, tmp_path: Path) -> None:
    number = catalogue.runs.begin(origin(), tmp_path)
    (pages,) = catalogue.database.rows("PRAGMA page_count")
    catalogue.database.rows(f"PRAGMA max_page_count = {pages['page_count']}")
    blocks = {f"block{i}": {f"counter{k}": k for k in range(100)} for i in range(100)}
    with pytest.raises(CatalogueError, match=r"is full\. Make room"):
        catalogue.runs.end(number, End(RunState.ENDED, counters={"node": blocks}))
    assert catalogue.runs.get(number)["state"] == "configured"
    catalogue.database.rows("PRAGMA max_page_count = 1000000")
    catalogue.runs.end(number, End(RunState.ENDED, counters={"node": blocks}))
    assert catalogue.runs.get(number)["counters"] == {"node": blocks}


def test_one_that_a_newer_program_made_is_left_alone(catalogue: Catalogue, tmp_path: Path) -> None:
    catalogue.close()
    with sqlite3.connect(of_runs_in(tmp_path)) as other:
        other.execute(f"PRAGMA user_version = {VERSION + 1}")
    other.close()
    with pytest.raises(CatalogueError, match=f"it has version {VERSION + 1}, and this program knows {VERSION}. Use"):
        Catalogue(of_runs_in(tmp_path))


def test_one_that_may_only_be_read_is_read(catalogue: Catalogue, tmp_path: Path) -> None:
    catalogue.runs.begin(origin(), tmp_path)
    catalogue.close()
    with Catalogue(of_runs_in(tmp_path), read_only=True) as read:
        assert [run["number"] for run in read.runs.find()] == [1]
        with pytest.raises(CatalogueError, match="readonly"):
            read.runs.begin(origin(), tmp_path)


def test_where_there_is_none_none_is_made_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="no run was made there"):
        Catalogue.to_look_at(of_runs_in(tmp_path))
    assert not (tmp_path / FILE).exists()


# --- Round trips --------------------------------------------------------------------------------------------------
texts: SearchStrategy[str] = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
counts = st.integers(0, 2**63 - 1)
times = st.floats(0, 1e18, allow_nan=False)
ends = st.builds(
    End, state=st.sampled_from(RunState), exit_code=st.none() | st.integers(0, 255), balanced=st.none() | st.booleans(),
    events=st.none() | counts, lost=st.none() | counts, bytes=st.none() | counts, seconds=st.none() | times,
    leg=st.none() | texts, p50_ns=st.none() | times, p999_ns=st.none() | times, verdict=st.none() | texts,
    quality_found=st.none() | st.dictionaries(texts, times | texts, max_size=3), comment=texts,
    losses=st.lists(st.builds(LossCount, texts, counts, st.booleans()), max_size=4, unique_by=lambda one: one.cause),
    latency=st.dictionaries(texts, st.builds(Leg, counts, st.lists(st.tuples(times, times, counts), max_size=4))),
    counters=st.dictionaries(texts, st.dictionaries(texts, st.dictionaries(
        texts, st.integers(-(2**64), 2**65), min_size=1, max_size=3), min_size=1, max_size=3), max_size=2),
)  # fmt: skip


@given(end=ends)
def test_whatever_an_end_has_is_read_back(end: End) -> None:
    with Catalogue(Path(":memory:")) as catalogue:
        number = catalogue.runs.begin(origin(), Path())
        catalogue.runs.end(number, end)
        run = catalogue.runs.get(number)
    for name in ("state", "exit_code", "balanced", "events", "lost", "bytes", "seconds", "leg", "p50_ns", "p999_ns",
                 "verdict", "quality_found", "comment", "counters"):  # fmt: skip
        assert run[name] == getattr(end, name), name
    assert {(loss["cause"], loss["n"], bool(loss["ordered"])) for loss in run["losses"]} == {
        (loss.cause, loss.n, loss.ordered) for loss in end.losses
    }
    assert {leg: (one["count"], [tuple(bin_) for bin_ in one["bins"]]) for leg, one in run["latency"].items()} == {
        leg: (one.count, list(one.bins)) for leg, one in end.latency.items()
    }
