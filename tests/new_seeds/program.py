# SPDX-License-Identifier: Apache-2.0
"""Programs that a search starts: each in a session of its own, so that Ctrl-C reaches the search alone, which orders
them to end and still reads their output."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[2]
AT_A_TIME = 2
PATIENCE_S = 60.0  # for a program that was ordered to end
LOOK_S = 0.05

Unit = TypeVar("Unit")
Result = TypeVar("Result")


class NotRunError(Exception):
    """A program could not do its work: no result of the search."""


@dataclass(frozen=True)
class Said:
    """code: negative if a signal ended it; None if the search ended it, or its time was over."""

    code: int | None
    out: str
    errors: str

    @property
    def words(self) -> str:
        return self.out + self.errors


class Turn:
    """How long a kind of search may run: until its time is over, or the search is stopped."""

    def __init__(self, seconds: float, stop: threading.Event) -> None:
        self.stop = stop
        self._until_s = time.monotonic() + seconds

    def seconds_left(self) -> float:
        return 0.0 if self.stop.is_set() else max(0.0, self._until_s - time.monotonic())


def run(
    command: Sequence[str | Path], turn: Turn, *, limit_s: float = 600.0, environment: Mapping[str, str] | None = None
) -> Said:
    """Runs the program. Raises NotRunError if there is none."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            program = subprocess.Popen(
                [str(word) for word in command], cwd=ROOT, env=os.environ | (environment or {}),
                stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise NotRunError(f"{command[0]}: {error.strerror}") from error
        code = _ended(program, turn, limit_s)
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return Said(code, *texts)


def _ended(program: "subprocess.Popen[bytes]", turn: Turn, limit_s: float) -> int | None:
    until_s = time.monotonic() + limit_s
    while time.monotonic() < until_s and not turn.stop.is_set():
        with suppress(subprocess.TimeoutExpired):
            return program.wait(LOOK_S)
    program.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        program.wait(PATIENCE_S)
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)  # and those that it had started
    program.wait()
    return None


def in_turn(units: Iterable[Unit], work: Callable[[Unit], Result], turn: Turn) -> Iterator[Result]:
    """Calls work() for each unit, two at a time; begins none when the turn is over."""
    left = iter(units)
    with futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        at_work: set[futures.Future[Result]] = set()
        while True:
            while len(at_work) < AT_A_TIME and turn.seconds_left() > 0 and (unit := next(left, None)) is not None:
                at_work.add(pool.submit(work, unit))
            if not at_work:
                return
            done, at_work = futures.wait(at_work, return_when=futures.FIRST_COMPLETED)
            for one in done:
                yield one.result()
