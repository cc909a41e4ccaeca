# SPDX-License-Identifier: Apache-2.0
"""Runs of many seeds in several processes: a run that crashes ends only its process, and its seed is reported."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from anello.virtual_farm.worlds import Sums, World

CRASHED = "its process crashed"

Call = tuple[int, int]  # first seed, and number of seeds
Running = dict[Call, "Future[Sums] | None"]

_world: World | None = None  # in a process of the pool


class Swarm:
    """Runs calls in n_jobs processes, which are forked and so have this process's data."""

    def __init__(self, world: World, n_jobs: int, *, all_ledgers: bool) -> None:
        self._world, self._n_jobs, self._all_ledgers = world, n_jobs, all_ledgers

    def run(self, calls: Iterable[Call], hear: Callable[[], None]) -> Iterator[Sums]:
        """The result of each call. hear: called from time to time."""
        left = iter(calls)
        while True:
            running: Running = {}
            try:
                with self._pool(self._n_jobs) as pool:
                    yield from self._run(pool, left, running, hear)
                return
            except BrokenProcessPool:  # one of these has crashed, and ended the others' processes with it
                for call in running:
                    yield from self._apart(*call)

    def _run(
        self, pool: ProcessPoolExecutor, left: Iterator[Call], running: Running, hear: Callable[[], None]
    ) -> Iterator[Sums]:
        """Runs calls in a pool. Raises BrokenProcessPool; running then has the calls that are not done."""
        for call in left:
            running[call] = None
            running[call] = pool.submit(_in_process, *call, all_ledgers=self._all_ledgers)
            if len(running) >= 2 * self._n_jobs:
                yield from self._collected(running)
            hear()
        while running:
            yield from self._collected(running)
            hear()

    @staticmethod
    def _collected(running: Running) -> Iterator[Sums]:
        wait([one for one in running.values() if one], return_when=FIRST_COMPLETED)
        for call, one in [*running.items()]:
            if one and one.done():
                sums = one.result()
                del running[call]
                yield sums

    def _apart(self, begin: int, n_seeds: int) -> Iterator[Sums]:
        """Divides a call by halves, until the crash is traced to one seed."""
        try:
            with self._pool(1) as pool:
                yield pool.submit(_in_process, begin, n_seeds, all_ledgers=self._all_ledgers).result()
        except BrokenProcessPool:
            if n_seeds == 1:
                yield {"runs": 1, "failed": [begin], "crashed": [begin]}
                return
            half = n_seeds // 2
            yield from self._apart(begin, half)
            yield from self._apart(begin + half, n_seeds - half)

    def _pool(self, n_jobs: int) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("fork")  # forked processes already have the settings
        return ProcessPoolExecutor(n_jobs, context, initializer=_begin, initargs=(self._world,))


def default_jobs() -> int:
    return len(os.sched_getaffinity(0))


def _begin(world: World) -> None:
    global _world  # noqa: PLW0603  (one for each process of a pool)
    _world = world
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the first process handles Ctrl-C


def _in_process(begin: int, n_seeds: int, *, all_ledgers: bool) -> Sums:
    assert _world is not None
    return {"crashed": []} | _world.judged(begin, n_seeds, all_ledgers=all_ledgers)
