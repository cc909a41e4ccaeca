# SPDX-License-Identifier: Apache-2.0
"""How far a run is: one list of words for counter pages, catalogue, rendezvous and orders."""

from enum import StrEnum


class RunState(StrEnum):
    """Of a run; a control room has two more of its own, and none of those behind draining (anello/control/states.py).
    The engine knows those that a process can say of itself (RunState of page_identity.hpp)."""

    CONFIGURED = "configured"  # its processes are coming, or make themselves ready
    READY = "ready"  # all wait for the start
    RUNNING = "running"
    DRAINING = "draining"  # the end was asked for, or is there: nothing more is taken in
    ENDED = "ended"
    FAILED = "failed"
    ABORTED = "aborted"
    CRASHED = "crashed"

    @property
    def is_over(self) -> bool:
        return self in OVER


OVER = (RunState.ENDED, RunState.FAILED, RunState.ABORTED, RunState.CRASHED)
