# SPDX-License-Identifier: Apache-2.0
"""When a run begins and when it ends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from anello.catalogue.entry import Entry
from anello.errors import ConfigError
from anello.system import exit_codes
from anello.system.interruption import Interruption, interruptible


class ShowsState(Protocol):
    """A node: its counter page says how far its run is."""

    def set_state(self, word: str) -> None:
        """A RunState that a process can say of itself; also a sign that the calling thread goes on. Raises
        ConfigError."""


class RunControl:
    """Default control: the run starts at once, and ends by itself, on Ctrl-C or on SIGTERM."""

    node: ShowsState | None = None  # of the run, once there is one
    is_aborted = False  # the run is not wanted: it ends at once, and what it took is not asked for

    def __init__(self, entry: Entry | None = None) -> None:
        """entry: the run's, in the catalogue."""
        self.entry = entry
        if entry and entry.origin.number is not None:
            self.know(run=entry.origin.number)

    @contextmanager
    def interruptible(self) -> Iterator[Interruption]:
        with interruptible() as interruption:
            yield interruption

    def tell(self, state: str) -> None:
        """ready, running, draining, ended, failed: what the run is now."""
        if self.entry:
            self.entry.state(state)
        self.show(state)

    def show(self, state: str) -> None:
        """In the node's page, and nowhere else."""
        if self.node:
            self.node.set_state(state)

    @contextmanager
    def showing_failure(self) -> Iterator[None]:
        """What is raised inside is the run's end, and its page says so as long as the process is there."""
        try:
            yield
        except Exception as error:
            if exit_codes.of(error) != 0:  # else it was not wanted
                with suppress(ConfigError):
                    self.show("failed")
            raise

    def know(self, **facts: Any) -> None:
        """run: its number; front_ends: their process; of a farm, by node: nodes, their processes, and gone, why those
        have ended that have; rendezvous: the port of theirs. Values as JSON has them."""

    def hear_of_deaths(self, hear: Callable[[int, str], None]) -> None:
        """hear(node, why): gets what the leader's boss knows of nodes elsewhere."""

    def may_start(self, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """The run is ready; returns when it is to begin. False: it is not to begin at all. goes_on: looked at
        meanwhile; the run ends where it does not."""
        self.tell("ready")
        return goes_on()
