# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM as a flag that a run polls, so that it ends cleanly."""

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Whether the run should end. Like threading.Event, but a signal handler may set it: with an Event, the handler
    would hang for ever if the signal comes while the same thread holds its lock to wait for it."""

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
        """True as soon as it is set, False when the time has passed."""
        if not self._is_set:
            select.select([self._bell], [], [], timeout_s)
        return self._is_set

    def nap(self, seconds: float) -> None:
        """Until it is set; from then on it is waited out, so that who still has to work after it does not spin."""
        time.sleep(seconds) if self._is_set else self.wait(seconds)


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Ctrl-C and SIGTERM set it; a second Ctrl-C is a KeyboardInterrupt, which ends the run at once."""
    interruption = Interruption()
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
