# SPDX-License-Identifier: Apache-2.0
"""The command that is run for each alarm, for mail or chat. The control room does not wait for it, and kills it when
it takes too long."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

MOST_AT_ONCE = 4  # an alarm that changes often must not fill the machine with processes
LAST_WORDS = 300  # letters shown from the end of a failed command's output

Notify = Callable[[str], None]


class Hook:
    """Runs the commands. notify: receives a line for each command that failed or was not run."""

    def __init__(self, command: str, timeout_s: float, notify: Notify) -> None:
        self._command, self._timeout_s, self._notify = command, timeout_s, notify
        self._room = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._threads: list[threading.Thread] = []

    def run(self, environment: Mapping[str, str]) -> None:
        if not self._command:
            return
        if not self._room.acquire(blocking=False):
            self._notify(f"alarms.hook was not run: {MOST_AT_ONCE} of its commands have not ended yet")
            return
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(threading.Thread(target=self._run, args=(dict(environment),), daemon=True, name="hook"))
        self._threads[-1].start()

    def wait(self) -> None:
        """Waits until all commands have ended."""
        for thread in self._threads:
            thread.join()

    def _run(self, environment: dict[str, str]) -> None:
        try:
            child = subprocess.Popen(
                ["/bin/sh", "-c", self._command],
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._follow(child)
        except OSError as error:
            self._notify(f"alarms.hook could not be run: {error.strerror}")
        finally:
            self._room.release()

    def _follow(self, child: "subprocess.Popen[bytes]") -> None:
        try:
            said, _ = child.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # and the processes that it started
            child.communicate()
            self._notify(f"alarms.hook was killed: it took longer than {self._timeout_s:g} s")
            return
        if child.returncode:
            words = said.decode(errors="replace").strip()[-LAST_WORDS:]
            self._notify(f"alarms.hook failed with exit code {child.returncode}: {words or 'it said nothing'}")
