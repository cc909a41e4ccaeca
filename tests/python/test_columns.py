# SPDX-License-Identifier: Apache-2.0
"""Columns of files that follow each other, and of files whose writer was killed between two columns."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from anello import columns
from anello.rich import decisions

N_RINGS = np.array([2, 0, 1, 3], np.uint8)


def stored(path: Path, first_key: int, *, n_events: int = 4, n_rings: int = 6) -> None:
    """Four events with six rings, of which some did not reach the file."""
    with h5py.File(path, "w") as file:
        file["event_key"] = np.arange(first_key, first_key + 4, dtype=np.uint64)
        file["n_rings"] = N_RINGS[:n_events]
        file["ring_offset"] = (np.cumsum(N_RINGS) - N_RINGS).astype(np.uint64)
        for number, name in enumerate(decisions.RING_COLUMNS):
            file[name] = np.arange(n_rings + number, dtype=np.float32)


def test_files_of_a_series_are_read_as_one(tmp_path: Path) -> None:
    stored(tmp_path / "decisions.h5", 0)
    stored(tmp_path / "decisions-0001.h5", 4)
    stored(tmp_path / "decisions-node1.h5", 90)  # of another node
    found = decisions.read(tmp_path / "decisions.h5")
    assert found["event_key"].tolist() == list(range(8))
    assert found["ring_offset"].tolist() == [0, 2, 2, 3, 6, 8, 8, 9, 12]
    assert found["ring_x_mm"].tolist() == [*range(6), *range(6)]


@pytest.mark.parametrize(("n_events", "n_rings", "left"), [(4, 6, 4), (3, 6, 3), (4, 5, 3), (4, 2, 2), (0, 6, 0)])
def test_events_of_which_columns_lack_a_part_are_left_out(
    tmp_path: Path, n_events: int, n_rings: int, left: int
) -> None:
    stored(tmp_path / "decisions.h5", 0, n_events=n_events, n_rings=n_rings)
    found = decisions.read(tmp_path / "decisions.h5")
    assert found["event_key"].tolist() == list(range(left))
    assert len(found["ring_x_mm"]) == N_RINGS[:left].sum()


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"nothing\.h5"):
        list(columns.files(tmp_path / "nothing.h5"))
    stored(tmp_path / "decisions.h5", 0)
    (file,) = columns.files(tmp_path / "decisions.h5")
    with pytest.raises((KeyError, ValueError)):
        columns.cut(file, ["ring_colour"])


def test_a_file_that_grows_while_it_is_opened_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "decisions.h5"
    stored(path, 0)
    whole, opened = path.read_bytes(), h5py.File
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match="truncated"):
        decisions.read(path)

    def opened_too_soon(*arguments: Any) -> h5py.File:
        try:
            return opened(*arguments)
        finally:
            path.write_bytes(whole)

    monkeypatch.setattr(h5py, "File", opened_too_soon)
    assert len(decisions.read(path)["event_key"]) == 4
