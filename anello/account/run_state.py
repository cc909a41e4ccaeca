# SPDX-License-Identifier: Apache-2.0
"""The states of a run: one list of words for counter pages, catalogue, rendezvous and orders."""

from enum import StrEnum


class RunState(StrEnum):
    """The state of a run. A control room has two more of its own and none of those after DRAINING
    (anello/control/states.py). The engine knows those that a process can report of itself (RunState of
    page_identity.hpp)."""

    CONFIGURED = "configured"  # its processes are being started or prepare themselves
    READY = "ready"  # all processes wait for the start
    RUNNING = "running"
    DRAINING = "draining"  # the end was requested or reached: no new data are accepted
    ENDED = "ended"
    FAILED = "failed"
    ABORTED = "aborted"
    CRASHED = "crashed"

    @property
    def is_over(self) -> bool:
        return self in OVER


OVER = (RunState.ENDED, RunState.FAILED, RunState.ABORTED, RunState.CRASHED)
