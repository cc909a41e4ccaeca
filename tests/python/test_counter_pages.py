# SPDX-License-Identifier: Apache-2.0
"""Which counter pages are of processes that run; reading them: tests/unit/core."""

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anello import counter_pages

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

MAGIC = b"ANLCTNR2"


def left_by(process: int, start_ticks: int) -> str:
    """A page's first bytes."""
    name = f"anello.test-page-{os.getpid()}-{process}-{start_ticks}"
    number_space = Path("/proc/self/ns/pid").stat().st_ino
    (counter_pages.FOLDER / name).write_bytes(struct.pack("<8sqQQ", MAGIC, process, start_ticks, number_space))
    return name


@pytest.fixture
def pages() -> Iterator[tuple[str, str, str]]:
    """Of this process, of one that has ended, of one whose number is ours now."""
    own_start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    names = (left_by(os.getpid(), own_start), left_by(ended.pid, own_start), left_by(os.getpid(), own_start - 1))
    yield names
    for name in names:
        (counter_pages.FOLDER / name).unlink()


def test_only_processes_that_run_are_listed_as_running(pages: tuple[str, str, str]) -> None:
    found = {page.name: page.runs for page in counter_pages.of_this_machine()}
    assert [found[name] for name in pages] == [True, False, False]


def test_what_is_no_page_is_left_out() -> None:
    path = counter_pages.FOLDER / f"anello.test-none-{os.getpid()}"
    path.write_bytes(b"another program's")
    try:
        assert path.name not in {page.name for page in counter_pages.of_this_machine()}
    finally:
        path.unlink()


def test_the_command_tells_of_the_dead_apart(pages: tuple[str, str, str]) -> None:
    (counter_pages.FOLDER / pages[0]).rename(counter_pages.FOLDER / f"not-{pages[0]}")
    done = subprocess.run([sys.executable, "-m", "anello", "counters"], capture_output=True, text=True, check=False)
    (counter_pages.FOLDER / f"not-{pages[0]}").rename(counter_pages.FOLDER / pages[0])
    for name in pages[1:]:
        assert f"{name}: its process" in done.stderr
        assert f"[{name}]" not in done.stdout
