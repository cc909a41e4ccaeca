# SPDX-License-Identifier: Apache-2.0
"""Real-time priority of new threads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def going_first(wanted: bool) -> Iterator[None]:
    """Threads started in this context have priority over all ordinary threads of their core, where that is
    permitted."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    if wanted:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)
