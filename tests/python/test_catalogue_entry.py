# SPDX-License-Identifier: Apache-2.0
"""What a run writes about itself, whatever state the catalogue is in; and `anello runs`."""

import json
import sqlite3
import tomllib
from pathlib import Path
from typing import Any

import pytest
import synthetic
from catalogue_synthetic import START_NS, origin
from fake_control import RICH
from rich.console import Console
from typer.testing import CliRunner

from anello.account.notices import Notice
from anello.account.run_state import RunState
from anello.catalogue import entry as entries
from anello.catalogue import process
from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.cli import runs_app
from anello.catalogue.end import End
from anello.catalogue.entry import Entry
from anello.catalogue.from_record import end_of
from anello.catalogue.show import runs as show
from anello.catalogue.tables import files
from anello.configuration.load import Config, load
from anello.configuration.origin import Origin
from anello.errors import ConfigError


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load(None, [f"run.directory={tmp_path}", "run.name=shift"])


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BEGIN_S", "WHILE_RUNNING_S", "END_S"):
        monkeypatch.setattr(entries, name, 0.0)


def run_of(directory: Path, number: int = 1) -> dict[str, Any]:
    with Catalogue(of_runs_in(directory)) as catalogue:
        return catalogue.runs.get(number)


# --- A run --------------------------------------------------------------------------------------------------------
def test_a_run_enters_all_that_its_report_has(config: Config, tmp_path: Path) -> None:
    record, folder = synthetic.record(notices=(Notice(START_NS, "board 2 is silent"),)), tmp_path / "shift-1"
    folder.mkdir()
    (folder / "summary.json").write_text("{}")
    with Entry.begin(config, folder) as entry:
        entry.state("running")
        assert run_of(tmp_path)["state"] == "running"
        entry.hear(record.notices[0])
        entry.end(record, 0)
    run = run_of(tmp_path)
    end = end_of(record, 0)
    assert (run["state"], run["exit_code"], run["events"]) == ("ended", 0, 1000)
    assert (run["leg"], run["p999_ns"]) == (record.whole_way, record.latency[record.whole_way]["p999_ns"])
    assert run["counters"] == {"node": record.node, "source": record.source}
    assert sum(count for *_, count in run["latency"][run["leg"]]["bins"]) == run["latency"][run["leg"]]["count"]
    assert run["quality_found"] == json.loads(json.dumps(run["quality_found"]))
    assert end.bytes == sum(block["bytes"] for name, block in record.node.items() if "bytes" in block)
    assert [notice["text"] for notice in run["notices"]] == ["board 2 is silent"]
    assert [file["path"] for file in run["files"]] == ["summary.json"]
    assert (run["name"], run["directory"]) == ("shift", str(folder))


def test_losses_are_summed_up_without_those_that_were_ordered() -> None:
    node = synthetic.node_counters()
    node["receive.board0"] |= {"dropped_packets": 3, "packets": 97}
    end = end_of(synthetic.record(node=node), 5)
    assert end.state == "ended"
    assert end.lost == sum(loss.n for loss in end.losses if not loss.ordered) > 0


@pytest.mark.parametrize(
    ("error", "state", "code"),
    [
        (ConfigError("receive.ports", "must be free", "4001", "End the other program"), "failed", 2),
        (OSError("no space left"), "failed", 1),
        (KeyboardInterrupt(), "aborted", 130),
    ],
)
def test_what_ends_a_run_before_its_report_is_its_end(
    config: Config, tmp_path: Path, error: BaseException, state: str, code: int
) -> None:
    with pytest.raises(type(error)), Entry.begin(config, tmp_path):
        raise error
    run = run_of(tmp_path)
    assert (run["state"], run["exit_code"]) == (state, code)
    assert str(error) in run["verdict"]


def test_what_is_raised_after_the_end_does_not_change_it(config: Config, tmp_path: Path) -> None:
    (tmp_path / "shift").mkdir()
    entry = Entry.begin(config, tmp_path / "shift")
    entry.end(synthetic.record(), 0)
    with pytest.raises(KeyboardInterrupt), entry:
        raise KeyboardInterrupt
    assert run_of(tmp_path)["state"] == "ended"


# --- A catalogue that cannot be used ------------------------------------------------------------------------------
def test_a_run_continues_without_a_number(config: Config, tmp_path: Path) -> None:
    of_runs_in(tmp_path).write_bytes(b"no database" * 1000)
    notices: list[str] = []
    with Entry.begin(config, tmp_path, notices.append) as entry:
        entry.state("running")
        entry.hear(Notice(START_NS, "board 2 is silent"))
        entry.end(synthetic.record(), 0)
    assert entry.origin.number is None
    assert len(notices) == 1
    assert notices[0].endswith("Move it away: the next run makes a new one. The run continues without a number")


def test_a_catalogue_that_is_held_for_a_while_is_reported_once_and_nothing_is_missing(
    config: Config, tmp_path: Path
) -> None:
    (tmp_path / "shift").mkdir()
    notices: list[str] = []
    with Entry.begin(config, tmp_path / "shift", notices.append) as entry:
        other = sqlite3.connect(of_runs_in(tmp_path), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        entry.state("running")
        entry.hear(Notice(START_NS, "first"))
        other.execute("ROLLBACK")
        other.close()
        entry.hear(Notice(START_NS + 1, "second"))
        assert run_of(tmp_path)["state"] == "running"
        entry.end(synthetic.record(notices=()), 0)
    assert len(notices) == 1
    assert "is locked" in notices[0]
    run = run_of(tmp_path)
    assert run["state"] == "ended"
    assert [notice["text"] for notice in run["notices"]] == ["first", "second"]


def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    notices: list[str] = []
    entry = Entry.begin(load(None, [f"run.directory={tmp_path / 'file'}"]), tmp_path, notices.append)
    assert entry.origin.number is None
    assert "continues without a number" in notices[0]


def test_a_system_that_hides_its_processes_is_reported(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    monkeypatch.setattr(process, "PROC", tmp_path / "none")
    entry = Entry.begin(config, tmp_path, notices.append)
    assert entry.origin.number is None
    assert "continues without a number" in notices[0]


def test_files_that_cannot_be_listed_are_reported(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    (tmp_path / "shift").mkdir()
    notices: list[str] = []
    monkeypatch.setattr(files, "_regular_below", fails)
    with Entry.begin(config, tmp_path / "shift", notices.append) as entry:
        entry.end(synthetic.record(notices=()), 0)
    assert "Input/output error" in notices[0]
    assert run_of(tmp_path)["state"] == "ended"


def test_a_name_that_is_no_text_is_kept(config: Config, tmp_path: Path) -> None:
    folder = tmp_path / "shift"
    folder.mkdir()
    (folder / "data\udcff").write_text("x")
    with Entry.begin(config, folder, pytest.fail) as entry:
        entry.end(synthetic.record(notices=()), 0)
    (file,) = run_of(tmp_path)["files"]
    assert (file["path"], file["bytes"]) == ("data\\udcff", 1)
    assert file["sha256"]


def test_a_run_of_a_search_is_in_no_catalogue(config: Config, tmp_path: Path) -> None:
    Entry.none(config, tmp_path).end(synthetic.record(), 0)
    assert list(tmp_path.iterdir()) == []


# --- anello runs --------------------------------------------------------------------------------------------------
@pytest.fixture
def three_runs(tmp_path: Path) -> Path:
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        for number in range(1, 4):
            catalogue.runs.begin(origin(name=f"run{number}", started_ns=START_NS + number * 86_400 * 10**9), tmp_path)
        catalogue.runs.end(
            2, End(RunState.ENDED, exit_code=0, events=1000, seconds=2.0, p999_ns=9.1e5, p50_ns=1e5, leg="x")
        )
    return tmp_path


def runs(directory: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(runs_app, [*arguments, "--in", str(directory)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ([], [3, 2, 1]), (["-n", "1"], [3]), (["--state", "ended"], [2]), (["--chain", "another"], []),
        (["--quality", "unknown", "--limit", "2"], [3, 2]),
        (["--since", "2027-01-17"], [3, 2]), (["--since", "2027-01-18T08:00:01+00:00"], []),
    ],
)  # fmt: skip
def test_runs_are_listed(three_runs: Path, options: list[str], numbers: list[int]) -> None:
    assert [run["number"] for run in runs(three_runs, "list", "--json", *options)] == numbers


def test_the_list_is_for_people_too(three_runs: Path) -> None:
    text = runs(three_runs, "list")
    assert [line.split()[0] for line in text.splitlines() if line.strip()[:1].isdigit()] == ["3", "2", "1"]
    assert "500" in text
    assert "0.91 ms" in text
    assert runs(three_runs, "list", "--quality", "bad") == "no such run\n"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_the_list_fits_the_terminal(three_runs: Path, width: int) -> None:
    with Catalogue(of_runs_in(three_runs)) as catalogue:
        console = Console(width=width)
        with console.capture() as printed:
            show.listed(catalogue.runs.find(), console)
    lines = printed.get().splitlines()
    assert len(lines) == 5  # none was broken
    assert max(map(len, lines)) <= width


def test_marks_and_log_entries(three_runs: Path) -> None:
    (entry,) = runs(three_runs, "mark", "2", "bad", "-m", "board 2 was off", "--json")
    assert entry["text"] == "marked bad: board 2 was off"
    runs(three_runs, "log", "-m", "beam on")
    assert [one["text"] for one in runs(three_runs, "log", "--json")] == ["beam on", "marked bad: board 2 was off"]
    assert [one["run"] for one in runs(three_runs, "log", "2", "--json")] == [2]
    assert runs(three_runs, "show", "2", "--json")["quality"] == "bad"


def test_a_run_is_shown(three_runs: Path) -> None:
    with Catalogue(of_runs_in(three_runs)) as catalogue:
        catalogue.notices.add(2, ["board [2] is silent"])
        catalogue.alarms.raise_alarm("silent_boards > 0", "board 2 is silent", run=2)
        catalogue.log.add("swapped it", author="Ada", run=2)
    text = runs(three_runs, "show", "2")
    for words in ("Run 2: run2", "ended, exit code 0", "p50 0.1 ms, p99.9 0.91 ms", "board [2] is silent",
                  "still raised", "Ada: swapped it", "anello run made.toml"):  # fmt: skip
        assert words in text


def test_a_run_that_crashed_is_shown_with_what_is_known(three_runs: Path) -> None:
    with Catalogue(of_runs_in(three_runs)) as catalogue:
        catalogue.runs.end(3, End(RunState.CRASHED, events=1234))
    lines = [line.split() for line in runs(three_runs, "show", "3").splitlines()]
    assert ["events", "1,234;", "bytes", "came", "in"] in lines
    assert not any(line[0] == "ledger" for line in lines if line), "nobody has balanced it"


def test_configurations_are_listed_shown_and_compared(tmp_path: Path) -> None:
    config, other = (Origin.of(load(RICH, settings)) for settings in ([], ["source.rate_hz=7000"]))
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        for each in (config, other, config):
            catalogue.runs.begin(each, tmp_path)
    listed = {one["digest"]: one for one in runs(tmp_path, "configs", "--json")}
    assert [listed[config.config_digest][key] for key in ("runs", "first_run", "last_run")] == [2, 1, 3]
    assert other.config_digest in runs(tmp_path, "configs")
    assert runs(tmp_path, "configs", "--chain", "another", "--json") == []
    shown = tomllib.loads(runs(tmp_path, "configs", "show", other.config_digest[:8]))
    assert shown["source"]["rate_hz"] == 7000
    (differing,) = runs(tmp_path, "configs", "diff", config.config_digest, other.config_digest, "--json")
    assert (differing["key"], differing["second"]) == ("source.rate_hz", 7000)
    assert "source.rate_hz" in runs(tmp_path, "configs", "diff", config.config_digest, other.config_digest)
    assert runs(tmp_path, "configs", "diff", config.config_digest, config.config_digest) == "they are the same\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "--state", "gone"], "--state: must be one of configured"),
        (["list", "--since", "yesterday"], "--since: must be a date"),
        (["mark", "2", "excellent"], "QUALITY: must be one of unknown"),
    ],
)
def test_wrong_use_is_reported(three_runs: Path, arguments: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        runs(three_runs, *arguments)
