# SPDX-License-Identifier: Apache-2.0
"""The process of a managed run: started by this program, or found again by a later control room."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anello.control.managed import SOCKET, ManagedRun, NoAnswerError
from anello.system.exit_codes import OF_A_RUN
from anello.system.run_directory import private

CONSOLE = "console.log"  # the run's output
ORDERED = "control.json"  # the order for the run
LAST_WORDS = 4000  # bytes at the end of its console output that are searched for a cause


@dataclass(frozen=True)
class RunOrder:
    """What a run is to do; stored in its directory for a later control room."""

    config_file: str
    settings: tuple[str, ...]
    front_ends: bool  # False: the front ends run on other machines
    chain: str
    name: str
    config_digest: str
    is_farm: bool = False  # the run has several nodes
    keys: str = ""  # folder of the farm's keys

    def arguments(self, directory: Path) -> list[str]:
        """The arguments of the command `anello`."""
        in_catalogue = f"run.directory={directory.parent}"
        settings = [part for setting in (*self.settings, in_catalogue) for part in ("--set", setting)]
        command = self.chain if self.is_farm else "run" if self.front_ends else "node"
        keys = ["--keys", self.keys] if self.keys else []
        return [command, self.config_file, *settings, "--report-dir", str(directory), "--managed", *keys]


class RunProcess:
    """The process of a run. It does not end with the program that started it."""

    def __init__(self, directory: Path, order: RunOrder, process: int, child: "subprocess.Popen[bytes] | None") -> None:
        self.directory, self.order, self.process = directory, order, process
        self._child = child
        self._pidfd = os.pidfd_open(process)
        self._socket: ManagedRun | None = None
        self._asking = threading.Lock()

    # --- Start ------------------------------------------------------------------------------------------------------
    @classmethod
    def start(cls, order: RunOrder, directory: Path) -> "RunProcess":
        """Starts the run. Raises OSError."""
        with open(directory / ORDERED, "w", opener=private) as ordered:
            ordered.write(json.dumps(asdict(order), indent=1) + "\n")
        with open(directory / CONSOLE, "wb", opener=private) as console:
            child = subprocess.Popen(
                [sys.executable, "-m", "anello", *order.arguments(directory)],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return cls(directory, order, child.pid, child)

    @classmethod
    def find(cls, runs: Path) -> "RunProcess | None":
        """The managed run that still continues in one of these directories; None: there is none."""
        for path in sorted(runs.glob(f"*/{SOCKET}"), key=lambda found: found.lstat().st_mtime_ns, reverse=True):
            with suppress(OSError, ValueError, KeyError, TypeError):
                return cls._attached(path.parent)
        return None

    @classmethod
    def _attached(cls, directory: Path) -> "RunProcess":
        values = json.loads((directory / ORDERED).read_text())
        order = RunOrder(**(values | {"settings": tuple(values["settings"])}))
        found = ManagedRun(directory)
        attached = cls(directory, order, int(found.order("state")["process"]), None)
        attached._socket = found
        return attached

    # --- Orders -----------------------------------------------------------------------------------------------------
    def answer(self, word: str = "state", **said: Any) -> dict[str, Any]:
        """The run's answer to an order with these fields. Raises NoAnswerError, ValueError where it was refused."""
        with self._asking:
            if self._socket is None:
                self._socket = ManagedRun(self.directory)
            try:
                return self._socket.order(word, **said)
            except NoAnswerError:
                self._socket.close()
                self._socket = None
                raise

    def wait_until(self, states: Sequence[str], timeout_s: float, given_up: Callable[[], bool] = lambda: False) -> str:
        """Waits for one of these states, and returns it; empty: the run ended, the wait was given up, or the time is
        over."""
        known = self._wait_to_know(lambda facts: facts["state"] in states, timeout_s, given_up)
        return str(known.get("state", ""))

    def wait_to_know(self, fact: str, timeout_s: float, given_up: Callable[[], bool] = lambda: False) -> Any:
        """Waits until the run reports this fact, and returns it; None: as above."""
        return self._wait_to_know(lambda facts: fact in facts, timeout_s, given_up).get(fact)

    def _wait_to_know(
        self, holds: Callable[[dict[str, Any]], bool], timeout_s: float, given_up: Callable[[], bool]
    ) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not given_up():
            with suppress(NoAnswerError):  # the run has not opened its socket yet
                if holds(facts := self.answer()):
                    return facts
            if self.wait_ended(0.05):
                break
        return {}

    def wait_ended(self, timeout_s: float) -> bool:
        end = select.poll()  # one poll object for each call, because several threads wait
        end.register(self._pidfd, select.POLLIN)
        return bool(end.poll(timeout_s * 1e3))

    def exit_code(self) -> int | None:
        """The exit code. Below 0: the signal that killed the run. None: it still runs, or another program's child
        has ended and its exit code is unknown."""
        return self._child.poll() if self._child else None

    def ended_in_order(self) -> bool:
        """True if the run, which has ended, reached its regular end, whatever its result."""
        code = self.exit_code()
        return (self.directory / "summary.json").exists() if code is None else code in OF_A_RUN

    def last_words(self) -> str:
        """The last line that it printed."""
        with suppress(OSError), (self.directory / CONSOLE).open("rb") as console:
            console.seek(max(0, os.fstat(console.fileno()).st_size - LAST_WORDS))
            lines = console.read().decode(errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""

    def kill(self) -> None:
        """Kills the run, and with it its front ends, which end when their input is closed."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self.wait_ended(5.0)

    def close(self) -> None:
        """Releases the process; a run that has not ended continues."""
        if self._socket:
            self._socket.close()
        if self._child:
            self._child.poll()
        os.close(self._pidfd)
