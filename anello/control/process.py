# SPDX-License-Identifier: Apache-2.0
"""The process of a managed run: started here, or found again by who came later."""

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

CONSOLE = "console.log"  # what the run prints
ORDERED = "control.json"  # what was ordered
LAST_WORDS = 4000  # bytes of the console that are looked at for a cause


@dataclass(frozen=True)
class RunOrder:
    """What a run is to do; kept in its directory for who finds it again."""

    config_file: str
    settings: tuple[str, ...]
    front_ends: bool  # they run here, too; else elsewhere
    chain: str
    name: str
    config_digest: str
    is_farm: bool = False  # several nodes
    keys: str = ""  # folder of the farm's keys

    def arguments(self, directory: Path) -> list[str]:
        """Of `anello`."""
        in_catalogue = f"run.directory={directory.parent}"
        settings = [part for setting in (*self.settings, in_catalogue) for part in ("--set", setting)]
        command = self.chain if self.is_farm else "run" if self.front_ends else "node"
        keys = ["--keys", self.keys] if self.keys else []
        return [command, self.config_file, *settings, "--report-dir", str(directory), "--managed", *keys]


class RunProcess:
    """It does not end with who started it."""

    def __init__(self, directory: Path, order: RunOrder, process: int, child: "subprocess.Popen[bytes] | None") -> None:
        self.directory, self.order, self.process = directory, order, process
        self._child = child
        self._pidfd = os.pidfd_open(process)
        self._socket: ManagedRun | None = None
        self._asking = threading.Lock()

    # --- How one comes to be
    @classmethod
    def start(cls, order: RunOrder, directory: Path) -> "RunProcess":
        """Raises OSError."""
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
        """The managed run that goes on in one of these directories; None: there is none."""
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

    # --- What it does
    def answer(self, word: str = "state", **said: Any) -> dict[str, Any]:
        """To an order, with what belongs to it. Raises NoAnswerError, ValueError where it was refused."""
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
        """The state, as soon as it is one of these; empty: it ended, it was given up, or the time is over."""
        known = self._wait_to_know(lambda facts: facts["state"] in states, timeout_s, given_up)
        return str(known.get("state", ""))

    def wait_to_know(self, fact: str, timeout_s: float, given_up: Callable[[], bool] = lambda: False) -> Any:
        """What it says of this; None: as above."""
        return self._wait_to_know(lambda facts: fact in facts, timeout_s, given_up).get(fact)

    def _wait_to_know(
        self, holds: Callable[[dict[str, Any]], bool], timeout_s: float, given_up: Callable[[], bool]
    ) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not given_up():
            with suppress(NoAnswerError):  # it has not come as far yet
                if holds(facts := self.answer()):
                    return facts
            if self.wait_ended(0.05):
                break
        return {}

    def wait_ended(self, timeout_s: float) -> bool:
        end = select.poll()  # one for each call: several threads wait
        end.register(self._pidfd, select.POLLIN)
        return bool(end.poll(timeout_s * 1e3))

    def exit_code(self) -> int | None:
        """Below 0: the signal that killed it. None: it runs, or it was another's child and nobody knows."""
        return self._child.poll() if self._child else None

    def ended_in_order(self) -> bool:
        """Once it has ended: whatever it found, it came to its end."""
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
        """With its front ends, which end when their input does."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self.wait_ended(5.0)

    def close(self) -> None:
        """It goes on if it has not ended."""
        if self._socket:
            self._socket.close()
        if self._child:
            self._child.poll()
        os.close(self._pidfd)
