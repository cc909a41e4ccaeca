# SPDX-License-Identifier: Apache-2.0
"""Files of an earlier run are replaced only with --overwrite."""

from pathlib import Path

import pytest

from anello.errors import InputError
from anello.system.run_directory import LEFT_BEHIND, claim, of_node, prepare, series


def filled(directory: Path, *names: str) -> list[Path]:
    paths = [directory / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    return paths


@pytest.mark.parametrize("name", ["summary.json", "search.json", "plan.html", "decisions.h5", "decisions-0002.h5",
                                  "events-node7.raw", "events-node7.raw.json", "node3/record.json"])  # fmt: skip
def test_a_directory_that_holds_a_run_is_refused_and_left_as_it_was(tmp_path: Path, name: str) -> None:
    (path,) = filled(tmp_path, name)
    with pytest.raises(InputError, match="--overwrite") as refused:
        prepare(tmp_path, ["decisions.h5", "events-node{node}.raw"], overwrite=False)
    assert str(path) in str(refused.value)
    assert path.read_text() == path.name


def test_overwrite_takes_away_all_that_the_run_left_and_nothing_else(tmp_path: Path) -> None:
    run = filled(
        tmp_path,
        "summary.json",
        "decisions.h5",
        "decisions-0001.h5",
        "decisions-0002.h5",
        "node1/record.json",
        "decisions.h5.json",
    )
    others = filled(tmp_path, "notes.txt", "decisions-today.h5", "more-decisions.h5", "other.h5", "decisions-00001.h5")
    assert prepare(tmp_path, ["decisions.h5"], overwrite=True) == tmp_path
    assert not any(path.exists() for path in run)
    assert all(path.exists() for path in others)


def test_a_directory_with_other_things_or_none_is_made_ready(tmp_path: Path) -> None:
    filled(tmp_path, "settings.toml", "cards.json")
    prepare(tmp_path, ["decisions.h5"], overwrite=False)
    assert prepare(tmp_path / "a" / "b", overwrite=False).is_dir()


def test_a_node_of_a_farm_claims_its_own_files_only(tmp_path: Path) -> None:
    (other,) = filled(tmp_path, "events-node1.raw")
    own = [name.replace("{node}", "0") for name in (LEFT_BEHIND, "events-node{node}.raw")]
    claim(tmp_path, own, overwrite=True)
    assert other.exists()
    claim(tmp_path, own, overwrite=False)
    filled(tmp_path, "events-node0.raw")
    with pytest.raises(InputError):
        claim(tmp_path, own, overwrite=False)


def test_names_with_signs_that_have_a_meaning_in_patterns(tmp_path: Path) -> None:
    directory = tmp_path / "run [1]*"
    path, second = filled(directory, "d[0].h5", "d[0]-0001.h5")
    filled(directory, "d0.h5")
    assert series(path) == [path, second]
    with pytest.raises(InputError):
        prepare(directory, ["d[0].h5"], overwrite=False)


def test_a_series_is_in_order_and_keeps_its_folder(tmp_path: Path) -> None:
    paths = filled(tmp_path, "x.h5", "x-0001.h5", "x-0010.h5")
    assert series(tmp_path / "x.h5") == paths
    assert series(tmp_path / "y.h5") == []
    assert of_node("/data/x.h5", 3) == "/data/x-node3.h5"
