# SPDX-License-Identifier: Apache-2.0
"""Which counter pages belong to running processes, and their content; tests/unit/core tests reading them."""

import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anello.catalogue.entry import Entry
from anello.configuration.load import load
from anello.counters import pages as counter_pages
from anello.errors import ConfigError

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

MAGIC, VERSION = b"ANCTPAGE", 4
HEAD = struct.Struct("<8sQ qQQ q Q 64s 32s 72s Q q QQQQ")
LONG_AGO_NS = 10**9


def left_by(process: int, start_ticks: int, heartbeat_ns: int = LONG_AGO_NS, run: int = 0) -> str:
    """A page without counters."""
    name = f"anello.test-page-{os.getpid()}-{process}-{start_ticks}"
    number_space = Path("/proc/self/ns/pid").stat().st_ino
    head = HEAD.pack(MAGIC, VERSION, process, start_ticks, number_space, 5, run, b"night", b"rich", b"d" * 64, 3,
                     heartbeat_ns, 0, 0, 0, 0)  # fmt: skip
    (counter_pages.FOLDER / name).write_bytes(head)
    return name


def own_start() -> int:
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])


def ended_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    return ended.pid


@pytest.fixture
def pages() -> Iterator[tuple[str, str, str]]:
    """Pages of this process, of one that has ended, and of one whose number is ours now."""
    names = (
        left_by(os.getpid(), own_start()),
        left_by(ended_process(), own_start(), time.time_ns()),  # not older: other processes may clear pages away
        left_by(os.getpid(), own_start() - 1, time.time_ns()),
    )
    yield names
    for name in names:
        (counter_pages.FOLDER / name).unlink(missing_ok=True)


@pytest.mark.process
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


@pytest.mark.process
def test_a_page_of_another_version_is_refused(pages: tuple[str, str, str]) -> None:
    path = counter_pages.FOLDER / pages[0]
    path.write_bytes(MAGIC + struct.pack("<Q", VERSION + 1) + path.read_bytes()[16:])
    with pytest.raises(ConfigError, match="counter page of this version"):
        counter_pages.look_at(path.name)


@pytest.mark.process
def test_the_command_tells_of_the_dead_apart(pages: tuple[str, str, str]) -> None:
    (counter_pages.FOLDER / pages[0]).rename(counter_pages.FOLDER / f"not-{pages[0]}")
    done = subprocess.run([sys.executable, "-m", "anello", "counters"], capture_output=True, text=True, check=False)
    (counter_pages.FOLDER / f"not-{pages[0]}").rename(counter_pages.FOLDER / pages[0])
    for name in pages[1:]:
        assert f"{name}: its process" in done.stderr
        assert f"[{name}]" not in done.stdout


@pytest.mark.process
def test_dead_pages_are_cleared_away_after_a_minute(pages: tuple[str, str, str]) -> None:
    def there() -> list[bool]:
        return [(counter_pages.FOLDER / name).exists() for name in pages]

    counter_pages.clear_dead(time.time_ns() + int(40e9))
    assert there() == [True, True, True]
    cleared = counter_pages.clear_dead(time.time_ns() + int(60e9))
    assert {page.name for page in cleared} >= set(pages[1:])
    assert there() == [True, False, False]


@pytest.mark.process
def test_a_run_that_begins_clears_old_pages_away(tmp_path: Path) -> None:
    path = counter_pages.FOLDER / left_by(ended_process(), own_start())
    Entry.begin(load(None, [f"run.directory={tmp_path}"]), tmp_path / "run")
    assert not path.exists()


@pytest.mark.process
def test_a_dead_page_of_a_run_in_a_catalogue_stays_for_a_day() -> None:
    name = left_by(ended_process(), own_start(), time.time_ns(), run=41)
    path = counter_pages.FOLDER / name
    try:
        counter_pages.clear_dead(time.time_ns() + int(86_000e9))
        assert path.exists()
        counter_pages.clear_dead(time.time_ns() + int(87_000e9))
        assert not path.exists()
    finally:
        path.unlink(missing_ok=True)


FRONT_ENDS = """
import sys
from anello.configuration.load import load
from anello.rich.engine import engine
values = load(None, ["source.ports=[1, 2, 3, 4]"]).source_values()
identity = {"run_number": 41, "run_name": "night", "chain": "rich", "config_digest": "d" * 64}
source = engine().Source(values | identity | {"counter_page": sys.argv[1]})
source.set_state("ready")
for line in sys.stdin:
    source.set_state(line.strip())
    print(flush=True)
"""


@contextmanager
def front_ends() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Starts front ends that only take words for their state; yields them and their page."""
    name = f"anello.test-said-{os.getpid()}"
    command = [sys.executable, "-c", FRONT_ENDS, f"/{name}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child, name
        finally:
            child.kill()
            (counter_pages.FOLDER / name).unlink(missing_ok=True)


def say(child: subprocess.Popen[str], word: str) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{word}\n")
    child.stdin.flush()
    child.stdout.readline()


@pytest.mark.process
def test_a_page_says_who_its_process_is_also_when_that_was_killed() -> None:
    with front_ends() as (child, name):
        say(child, "running")
        alive = counter_pages.look_at(name).header
        assert (alive.process, alive.runs, alive.state) == (child.pid, True, "running")
        say(child, "running")
        assert counter_pages.look_at(name).header.heartbeat_ns > alive.heartbeat_ns
        say(child, "draining")
        child.send_signal(signal.SIGKILL)
        child.wait()
        page = counter_pages.look_at(name)
        header = page.header
        assert (header.runs, header.state, header.run_number, header.run_name) == (False, "draining", 41, "night")
        assert (header.chain, header.config_digest) == ("rich", "d" * 64)
        assert alive.started_ns - 10**9 < header.started_ns < header.heartbeat_ns <= time.time_ns()
        assert page.counters() == {}  # it has none before it is prepared
        assert (page.threads(), page.buffers(), page.event()) == ([], [], None)


def test_only_words_for_a_state_are_taken() -> None:
    from anello.engine import _engine
    from anello.rich.engine import engine

    source = engine().Source(load(None, ["source.ports=[1, 2, 3, 4]"]).source_values())
    with pytest.raises(_engine.ConfigError, match="configured, ready, running"):
        source.set_state("asleep")


@pytest.mark.process
def test_where_a_stranger_has_a_pages_name_it_stands_under_another(pages: tuple[str, str, str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's file")
    wanted, *_ = pages
    other = f"{wanted}-0123456789abcdef"
    (counter_pages.FOLDER / wanted).rename(counter_pages.FOLDER / other)
    strangers = counter_pages.FOLDER / f"{wanted}-0000000000000000"
    try:
        for taken in (counter_pages.FOLDER / wanted, strangers):
            taken.touch()
            os.chown(taken, 12345, -1)
        assert counter_pages.standing(wanted) == other
        assert counter_pages.look_at(f"/{wanted}").process == os.getpid()
    finally:
        strangers.unlink()
        (counter_pages.FOLDER / other).unlink()
