# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM as a flag that a run polls, so that it ends cleanly.

The effect of Ctrl-C changes in the course of a command: it ends the process at once while nothing has begun (__main__);
then it is a KeyboardInterrupt (raise_from_now_on), or stored for the run that is being prepared (remember_from_now_on),
and in a run it is that flag (interruptible). Libraries that are being loaded may print or hide exceptions raised in
them: so it is stored while many libraries are loaded.
"""

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """A flag: the run should end. Like threading.Event, but a signal handler may set it: with an Event, the handler
    would hang for ever if the signal arrives while the same thread holds the Event's lock."""

    def __init__(self) -> None:
        self._is_set = False
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def __del__(self) -> None:
        os.close(self._bell)

    def set(self) -> None:
        self._is_set = True
        os.eventfd_write(self._bell, 1)

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout_s: float) -> bool:
        """Waits; True as soon as the flag is set, False when the time has passed."""
        if not self._is_set:
            select.select([self._bell], [], [], timeout_s)
        return self._is_set

    def nap(self, seconds: float) -> None:
        """Sleeps until the flag is set; once it is set, sleeps for the whole time, so that a caller that still has
        to work does not spin."""
        time.sleep(seconds) if self._is_set else self.wait(seconds)


_remembered = False


def remember_from_now_on() -> None:
    """Stores Ctrl-C for the next interruptible(); a second one is a KeyboardInterrupt."""
    _take_if_not_ignored(_remember)


def raise_from_now_on() -> None:
    """Makes Ctrl-C a KeyboardInterrupt."""
    _take_if_not_ignored(signal.default_int_handler)


def _take_if_not_ignored(handler: Any) -> None:
    """Installs the handler, unless the parent process has set the signal to be ignored (nohup, or & in a script)."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def _remember(_number: int, _frame: Any) -> None:
    global _remembered  # noqa: PLW0603 - a process has one Ctrl-C
    _remembered = True
    signal.signal(signal.SIGINT, signal.default_int_handler)


def is_cause(error: BaseException | None) -> bool:
    """True if the error is what a library made of a KeyboardInterrupt."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """A context in which Ctrl-C and SIGTERM set the flag; a second Ctrl-C is a KeyboardInterrupt, which ends the run
    at once. A stored Ctrl-C has set the flag already."""
    interruption = Interruption()
    if _remembered:
        interruption.set()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(_number: int, _frame: Any) -> None:
        interruption.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
