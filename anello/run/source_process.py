# SPDX-License-Identifier: Apache-2.0
"""The front ends as a process of their own, as on a farm, and how `anello run` starts and stops it.

The child writes one JSON object per line to its standard output: {"state": "ready"} when it is ready to start,
{"state": "sending", "counters": ...} from time to time, {"state": "done", "counters": ..., "sequences": ..., "truth":
PATH, "cpu_s": ...} at its end, or {"state": "failed", "error": ..., "exit_code": ...}. It reads words from its standard
input: `start`, `stop`. When the input ends, its parent has ended, and it stops.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

from anello.account.identity import ListedAsMade
from anello.counters import pages
from anello.errors import ConfigError
from anello.system.priority import going_first

if TYPE_CHECKING:
    from anello.account.record import CounterDict
    from anello.configuration.base import FrontEndsConfig
    from anello.configuration.origin import Origin

READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
BEAT_S = 0.5
OF_RUN = "ANELLO_RUN"  # name of an environment variable


class ChainSource(Protocol):
    """The front ends of any chain, ready to start."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def running(self) -> bool: ...
    def set_state(self, word: str) -> None: ...
    def counters(self) -> "CounterDict": ...
    def sequences(self) -> dict[int, ListedAsMade]: ...
    def truth(self) -> Mapping[str, Any]:
        """Arrays that describe what was sent; empty where the report asks for none."""


# --- In the child -------------------------------------------------------------------------------------------------
def counter_page(pid: int | None = None) -> str:
    """The name of the front ends' counter page; pid: of their process, None: this one."""
    return f"/anello.source.{os.getpid() if pid is None else pid}"


def page_values(config: "FrontEndsConfig") -> dict[str, Any]:
    """Values for the front ends' page: the run that they belong to, which the leading process passes to them."""
    own = {"counter_page": counter_page(), "chain": config.chain, "run_name": config.run.name}
    given: dict[str, Any] = json.loads(os.environ.get(OF_RUN, "{}"))
    return own | given


def _values_of(origin: "Origin | None") -> dict[str, str]:
    """Environment variables for front ends that a run starts."""
    if origin is None:
        return dict(os.environ)
    run = {"run_number": origin.number or 0, "run_name": origin.name, "config_digest": origin.config_digest}
    return os.environ | {OF_RUN: json.dumps(run)}


def need_ports(config: "FrontEndsConfig") -> None:
    """Raises ConfigError where a port is left open."""
    if 0 in config.front_ends.ports:
        rule = "must be the ports that the node listens at (it prints them)"
        raise ConfigError(
            f"{config.source_section}.ports",
            rule,
            str(config.front_ends.ports),
            "Only anello run can take 0: any free port",
        )


def serve(source: ChainSource, truth_path: Path | None, refresh_s: float, *, first: bool = False) -> None:
    """Obeys standard input and reports on standard output, until the last burst is sent or the order to stop
    arrives."""
    orders = _lines_of(sys.stdin)
    _say(state="ready")
    if not _is_ordered_to_start(orders, source):
        return
    cpu_began_s = time.process_time()
    with going_first(first):
        source.start()
    source.set_state("running")
    try:
        while source.running() and not _is_ordered_to_stop(orders, refresh_s):
            _say(state="sending", counters=source.counters())
    finally:
        source.stop()
    source.set_state("ended")
    cpu_s = time.process_time() - cpu_began_s
    if truth_path:
        save_truth(truth_path, source.truth())
    _say(
        state="done", counters=source.counters(), sequences=source.sequences(), truth=str(truth_path or ""), cpu_s=cpu_s
    )


def save_truth(path: Path, truth: Mapping[str, Any]) -> None:
    """Saves the truth. Raises OSError with the file's name: the system's own error names none where a disk is full."""
    import numpy as np

    try:
        np.savez(path, **truth)
    except OSError as error:
        raise OSError(f"the simulated events could not be written to {path}: {error.strerror or error}") from error


def _is_ordered_to_start(orders: "queue.Queue[str]", source: ChainSource) -> bool:
    while True:
        source.set_state("ready")  # repeated, so that its page shows that the process waits
        with suppress(queue.Empty):
            return orders.get(timeout=BEAT_S) == "start"


def _is_ordered_to_stop(orders: "queue.Queue[str]", wait_s: float) -> bool:
    try:
        return orders.get(timeout=wait_s) in ("stop", "")
    except queue.Empty:
        return False


def _say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def _lines_of(stream: IO[str]) -> "queue.Queue[str]":
    """Lines as they arrive, read by a thread; an empty line marks the end."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in stream:
            if line.endswith("\n"):  # otherwise the writer was killed in the middle of the line
                lines.put(line.strip())
        lines.put("")

    threading.Thread(target=read, daemon=True, name="lines").start()
    return lines


# --- In the parent ------------------------------------------------------------------------------------------------
class SourceFailedError(RuntimeError):
    """The front ends' process ended badly; exit_code is what the whole command should return."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class SourceProcess:
    """The child process, for its parent. Use as a context: the child does not outlive it.

    The child may be killed or frozen at any time: once it has started, no method raises because of that.
    """

    def __init__(self, arguments: Sequence[str], origin: "Origin | None" = None) -> None:
        """Starts the child. origin: of the run that it sends for."""
        command = [sys.executable, "-m", "anello", "source", "--led", *arguments]
        # A session of its own: Ctrl-C reaches only the parent, which then stops the child in good order.
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=_values_of(origin),
        )
        assert self._child.stdout is not None
        self._lines = _lines_of(self._child.stdout)
        self.counters: dict[str, dict[str, int]] = {}
        self.sequences: dict[int, ListedAsMade] = {}  # set when it is done
        self.truth_path: Path | None = None
        self.cpu_s = 0.0  # CPU time from start to end of sending, set when it is done
        self.done = False  # no further line will follow
        self.ended_badly = ""  # why it did not end in order

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child.stdin is not None
        with suppress(OSError):
            self._child.stdin.close()
        if self.ended_badly or is_stopped(self._child.pid):
            self._child.kill()
        try:
            self._child.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        with suppress(OSError):  # there is none, or another user's file has its name
            self._page_file.unlink()  # the page of a child that was killed

    @property
    def process(self) -> int:
        return self._child.pid

    @property
    def _page_file(self) -> Path:
        return pages.FOLDER / pages.standing(counter_page(self._child.pid))

    def wait_ready(self) -> None:
        """Waits until the child is ready to start. Raises SourceFailedError."""
        message = self._next(READY_TIMEOUT_S)
        if message.get("state") != "ready":
            raise SourceFailedError(f"the front ends said {message} instead of being ready")

    def start(self) -> None:
        self._order("start")

    def stop(self) -> None:
        """Asks for the end and waits for the last counters; a child that is stopped (SIGSTOP) could not answer."""
        if self.done:
            return
        if is_stopped(self._child.pid):
            self._give_up("the front ends' process was suspended by a signal, and was killed")
            return
        self._order("stop")
        self.wait_done(STOP_TIMEOUT_S)

    def poll(self) -> None:
        """Reads the child's lines that have arrived."""
        while not self.done and not self._lines.empty():
            self._hear(0)

    def wait_done(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self.done:
            self._hear(max(0.0, deadline - time.monotonic()))

    def _hear(self, timeout_s: float) -> None:
        try:
            self._take(self._next(timeout_s))
        except SourceFailedError as error:
            self._give_up(str(error))

    def _give_up(self, why: str) -> None:
        """Kills the child, and reads its last counters from shared memory."""
        self.ended_badly, self.done = why, True
        self._child.kill()
        self._child.wait()
        with suppress(Exception):
            from anello.engine import _engine

            self.counters = _engine.read_counters(f"/{self._page_file.name}")

    def _order(self, word: str) -> None:
        assert self._child.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; its last lines are read later
            self._child.stdin.write(word + "\n")
            self._child.stdin.flush()

    def _take(self, message: dict[str, Any]) -> None:
        self.counters = message.get("counters", self.counters)
        if message.get("state") == "done":
            self.done = True
            self.sequences = {int(board): listed for board, listed in message.get("sequences", {}).items()}
            self.truth_path = Path(message["truth"]) if message.get("truth") else None
            self.cpu_s = float(message.get("cpu_s", 0.0))

    def _next(self, timeout_s: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=timeout_s) if timeout_s else self._lines.get_nowait()
        except queue.Empty:
            raise SourceFailedError(f"the front ends were silent for {timeout_s:.0f} s") from None
        if not line:
            code = self._child.wait()
            raise SourceFailedError(f"the front ends ended early, {_end_in_words(code)}", code if code > 0 else 1)
        message: dict[str, Any] = json.loads(line)
        if message.get("state") == "failed":
            raise SourceFailedError(str(message["error"]), int(message["exit_code"]))
        return message


def _end_in_words(code: int) -> str:
    return f"killed by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exit code {code}"


def is_stopped(pid: int) -> bool:
    """True if SIGSTOP or a debugger has stopped the process: it lives, but does nothing."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in ("T", "t")
