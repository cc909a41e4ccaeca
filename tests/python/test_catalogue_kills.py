# SPDX-License-Identifier: Apache-2.0
"""A thousand runs whose processes are killed at any moment: numbers only rise, nothing is damaged, nothing stays open.

The parent forks one process after another; each begins, enters notices and ends, over and over, and tells the numbers
that it was given. After so many of them that chance says, it is killed (SIGKILL) wherever it is then.
"""

import os
import random
import resource
import select
import signal
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import seeds
from catalogue_synthetic import Clock, origin

from anello.account.run_state import OVER, RunState
from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.end import End, Leg

pytestmark = pytest.mark.process

RUNS = 1000
MOST_IN_A_LIFE = 40
LONGEST_WAIT_S = 60.0


def live(directory: Path, numbers: int) -> None:
    """Runs in the child, until it is killed. numbers: the pipe to which it writes them, 8 bytes each."""
    counters = {"node": {f"block{i}": {f"counter{k}": k for k in range(10)} for i in range(10)}}
    latency = {"whole": Leg(100, [(1.0 * i, 1.0 * i + 1, 1) for i in range(100)])}
    with Catalogue(of_runs_in(directory)) as catalogue:
        while True:
            number = catalogue.runs.begin(origin(), directory)
            os.write(numbers, number.to_bytes(8, "little"))
            catalogue.runs.set_state(number, RunState.RUNNING)
            catalogue.notices.add(number, ["board 2 is silent"])
            catalogue.history.add(number * 10**9, number, {"built_hz": 1.0, "lost_hz": 0.0})
            catalogue.runs.end(number, End(RunState.ENDED, events=number, counters=counters, latency=latency))


def killed_after(directory: Path, n_numbers: int, rng: random.Random) -> list[int]:
    """The numbers that a process was given in its life."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            live(directory, writing)
        finally:
            os._exit(1)
    os.close(writing)
    numbers = b""
    while len(numbers) < 8 * n_numbers:
        ready, _, _ = select.select([reading], [], [], LONGEST_WAIT_S)
        piece = os.read(reading, 8 * MOST_IN_A_LIFE) if ready else b""
        assert piece, "the child has ended by itself, or does nothing"
        numbers += piece
    for _ in range(rng.randrange(3000)):  # a moment of any length, less than a run's
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reading, 1 << 16):
        numbers += piece
    os.close(reading)
    return [int.from_bytes(numbers[i : i + 8], "little") for i in range(0, len(numbers) - len(numbers) % 8, 8)]


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory: a killed process leaves the same files there, and no test waits for a disk."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def n_open_in(folder: Path) -> int:
    """Descriptors of this process in the folder: all of the process's would change with what other tests left."""
    targets = (str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return sum(target.startswith(f"{folder}/") for target in targets)


def test_numbers_only_rise_and_nothing_is_damaged(in_memory: Path) -> None:
    rng, lives = random.Random(seeds.seed()), list[list[int]]()
    with Catalogue(of_runs_in(in_memory)):
        pass
    memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while sum(map(len, lives)) < RUNS:
        lives.append(killed_after(in_memory, rng.randint(1, MOST_IN_A_LIFE), rng))
        with Catalogue(of_runs_in(in_memory)):  # the next program that opens it
            pass
    given = [number for life in lives for number in life]
    assert given == sorted(set(given))

    with Catalogue(of_runs_in(in_memory), clock=Clock()) as catalogue:
        runs = {run["number"]: run for run in catalogue.runs.find()}
        assert set(given) <= runs.keys()
        assert len(runs) - len(given) <= len(lives)  # a number that its process could not tell any more
        assert {run["state"] for run in runs.values()} <= set(OVER)
        crashed = [number for number, run in runs.items() if run["state"] == "crashed"]
        assert len(crashed) <= len(lives)  # the last of each
        assert set(crashed) <= {life[-1] for life in lives} | (runs.keys() - set(given))
        assert all(run["events"] == number for number, run in runs.items() if run["state"] == "ended")
        assert all(run["notices"] == 1 for run in runs.values() if run["state"] == "ended")
        assert catalogue.runs.begin(origin(), in_memory) > max(runs)
    database = sqlite3.connect(of_runs_in(in_memory))
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    ended = sum(run["state"] == "ended" for run in runs.values())
    assert database.execute("SELECT count(*) FROM counter_end").fetchone() == (100 * ended,)
    assert database.execute("SELECT count(*) FROM latency").fetchone() == (ended,)
    database.close()
    assert n_open_in(in_memory) == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before < 20_000  # kB
