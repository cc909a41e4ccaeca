# SPDX-License-Identifier: Apache-2.0
"""Checksums that a control room makes in the background: none is lost, and no order waits for them."""

import fcntl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic
from catalogue_synthetic import origin

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.entry import Entry
from anello.catalogue.tables.database import CatalogueError
from anello.configuration.load import load
from anello.control.checksums import Checksums
from anello.system.run_directory import CONTROL_LOCK, has_control_room

PATIENCE_S = 60.0


class CountedFiles:
    """The files of a catalogue; records when checksums were requested."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._files, self.done, self.fails = catalogue.files, threading.Semaphore(0), False

    def add_checksums(self, number: int | None = None, is_over: Callable[[], bool] = lambda: False) -> None:
        try:
            if self.fails:
                raise CatalogueError("it is locked")
            self._files.add_checksums(number, is_over)
        finally:
            self.done.release()


def run_with_a_file(catalogue: Catalogue, directory: Path) -> int:
    directory.mkdir()
    (directory / "decisions.h5").write_bytes(b"abc")
    number = catalogue.runs.begin(origin(), directory)
    catalogue.files.add(number, directory)
    return number


def checksum(catalogue: Catalogue, number: int) -> str | None:
    (file,) = catalogue.runs.get(number)["files"]
    sha256: str | None = file["sha256"]
    return sha256


def test_what_an_earlier_one_left_is_made_first_and_then_each_runs(tmp_path: Path) -> None:
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        files = CountedFiles(catalogue)
        left = run_with_a_file(catalogue, tmp_path / "left")
        with Checksums(files) as checksums:
            assert files.done.acquire(timeout=PATIENCE_S)
            assert checksum(catalogue, left)
            number = run_with_a_file(catalogue, tmp_path / "new")
            assert checksum(catalogue, number) is None
            checksums.ask()
            assert files.done.acquire(timeout=PATIENCE_S)
            assert checksum(catalogue, number) == checksum(catalogue, left)


def test_a_catalogue_that_fails_is_asked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        files = CountedFiles(catalogue)
        number = run_with_a_file(catalogue, tmp_path / "shift")
        files.fails = True
        with Checksums(files) as checksums:
            assert files.done.acquire(timeout=PATIENCE_S)
            files.fails = False
            checksums.ask()
            assert files.done.acquire(timeout=PATIENCE_S)
        assert checksum(catalogue, number)
        assert "it is locked. Checksums are made after the next run" in caplog.text


@pytest.mark.parametrize("is_led", [True, False])
def test_a_run_leaves_them_to_its_control_room(tmp_path: Path, is_led: bool) -> None:
    (tmp_path / "shift").mkdir()
    (tmp_path / "shift" / "decisions.h5").write_bytes(b"abc")
    (tmp_path / CONTROL_LOCK).touch()
    with (tmp_path / CONTROL_LOCK).open("rb") as lock:
        fcntl.flock(lock, (fcntl.LOCK_EX if is_led else fcntl.LOCK_UN))
        assert has_control_room(tmp_path) is is_led
        config = load(None, [f"run.directory={tmp_path}"])
        with Entry.begin(config, tmp_path / "shift", pytest.fail) as entry:
            entry.end(synthetic.record(notices=()), 0)
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        assert (checksum(catalogue, 1) is None) is is_led
    assert not has_control_room(tmp_path / "nowhere")
