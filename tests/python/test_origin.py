# SPDX-License-Identifier: Apache-2.0
"""What a run comes from, and what its nodes know of this."""

import json
import os
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from anello import registry
from anello.configuration import origin
from anello.configuration.load import load
from anello.configuration.origin import Origin, commit, digest, iso, node_values, write_beside
from anello.report import html, summary


@pytest.mark.parametrize("chain", registry.names())
def test_the_configuration_of_each_chain_can_be_read_back(chain: str, tmp_path: Path) -> None:
    settings = [f"chain={chain}", "run.name=another", "run.duration_s=3.5"]
    first = Origin.of(load(None, settings))
    (tmp_path / "config.toml").write_text(first.configuration)
    again = Origin.of(load(tmp_path / "config.toml"))
    assert (again.values, again.config_digest) == (first.values, first.config_digest)
    assert first.chain == chain
    assert first.name == "another"


def test_one_value_makes_another_digest() -> None:
    assert Origin.of(load(None)).config_digest != Origin.of(load(None, ["run.seed=2"])).config_digest


def test_a_farm_s_digest_has_the_chain_before_the_exchange(tmp_path: Path) -> None:
    (tmp_path / "chain.toml").write_text('chain = "camera"\n')
    farm = 'chain = "exchange"\n[input]\nfrom = "camera"\nconfig = "chain.toml"\n'
    (tmp_path / "farm.toml").write_text(farm)
    first = Origin.of(load(tmp_path / "farm.toml"))
    (tmp_path / "chain.toml").write_text('chain = "camera"\n[camera]\nsamples = 21\n')
    second = Origin.of(load(tmp_path / "farm.toml"))
    assert first.config_digest != second.config_digest
    assert second.values["input.config.camera.samples"] == 21


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans() | st.lists(st.integers()), min_size=2))
def test_the_order_of_values_is_nothing_to_the_digest(values: dict[str, object]) -> None:
    assert digest(values) == digest(dict(reversed(values.items())))  # type: ignore[arg-type]


def test_times_are_utc() -> None:
    assert iso(1_800_000_000_999_999_999) == "2027-01-15T08:00:00.999Z"
    assert iso(0) == "1970-01-01T00:00:00.000Z"


def test_a_node_learns_which_run_it_is_of() -> None:
    config = load(None, ["run.name=shift"])
    made = Origin.of(config, started_ns=0, command=["/usr/bin/anello", "run", "a b.toml"])
    values = node_values(replace(made, number=41))
    assert (values["run_number"], values["run_name"], values["chain"]) == (41, "shift", config.chain)
    assert (values["started"], values["counter_page"]) == ("1970-01-01T00:00:00.000Z", f"/anello.node.{os.getpid()}")
    assert values["config_digest"] == made.config_digest
    assert values["configuration"] == made.configuration
    assert made.command == "anello run 'a b.toml'"
    assert node_values(made)["run_number"] == 0
    assert node_values(None) == {"counter_page": values["counter_page"]}


# --- The program --------------------------------------------------------------------------------------------------
def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_the_commit_of_a_checkout_and_whether_it_was_changed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("as committed")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "v1")
    clean = commit(tmp_path)
    assert len(clean) == 40
    (tmp_path / "file").write_text("changed")
    commit.cache_clear()
    assert commit(tmp_path) == f"{clean}+changes"


def test_a_package_inside_somebody_s_checkout_has_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "site-packages").mkdir()
    assert commit(tmp_path / "site-packages") == ""


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert commit(tmp_path) == ""


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_name() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(origin.getpass, "getuser", no_name)
    assert origin.user() == str(os.getuid())


def test_the_version_is_one() -> None:
    assert origin.version()[0].isdigit()
    assert origin._version_of_checkout()[0].isdigit()


def test_summary_and_report_say_where_a_run_comes_from() -> None:
    made = Origin.of(load(None, ["run.name=shift"]), started_ns=0, command=["anello", "run", "<b>.toml"])
    record = replace(synthetic.record(), origin=replace(made, number=41))
    values = summary.summary(record)["origin"]
    assert (values["number"], values["started"], values["command"]) == (41, "1970-01-01T00:00:00.000Z", made.command)
    assert values.keys() == set(made.as_dict())
    shown = html.page(record)
    assert f"run 41, 1970-01-01T00:00:00.000Z, {made.user} on {made.host}, Anello {made.program}" in shown
    assert "anello run &#x27;&lt;b&gt;.toml&#x27;" in shown
    assert summary.summary(synthetic.record())["origin"] is None


def test_a_raw_file_has_beside_it_what_others_have_in_their_attributes(tmp_path: Path) -> None:
    origin = replace(Origin.of(load(None, ["run.name=night"])), number=7)
    write_beside(tmp_path, ["events-node{node}.raw"], origin, node=3)
    values = json.loads((tmp_path / "events-node3.raw.json").read_text())
    assert (values["file"], values["run_number"], values["run_name"]) == ("events-node3.raw", 7, "night")
    assert tomllib.loads(values["configuration"])["run"]["name"] == "night"
    with pytest.raises(FileExistsError):
        write_beside(tmp_path, ["events-node{node}.raw"], origin, node=3)
