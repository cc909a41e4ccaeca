# SPDX-License-Identifier: Apache-2.0
"""Decides when a run begins and when it ends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from anello.catalogue.entry import Entry
from anello.errors import ConfigError
from anello.system import exit_codes
from anello.system.interruption import Interruption, interruptible


class ShowsState(Protocol):
    """A node whose counter page shows the state of its run."""

    def set_state(self, word: str) -> None:
        """Sets a RunState that a process can report of itself; this also shows that the calling thread still works.
        Raises ConfigError."""


class RunControl:
    """Default control: the run starts at once, and ends by itself, on Ctrl-C or on SIGTERM."""

    node: ShowsState | None = None  # the node of the run, once it is made
    is_aborted = False  # the operator cancelled the run: it ends at once, without results

    def __init__(self, entry: Entry | None = None) -> None:
        """Default control. entry: the run's, in the catalogue."""
        self.entry = entry
        if entry and entry.origin.number is not None:
            self.know(run=entry.origin.number)

    @contextmanager
    def interruptible(self) -> Iterator[Interruption]:
        with interruptible() as interruption:
            yield interruption

    def announce(self, state: str) -> None:
        """Reports the run's state to the catalogue and the page: ready, running, draining, ended, failed."""
        if self.entry:
            self.entry.state(state)
        self.show(state)

    def show(self, state: str) -> None:
        """Shows the state on the node's page only."""
        if self.node:
            self.node.set_state(state)

    @contextmanager
    def showing_failure(self) -> Iterator[None]:
        """An exception in this context is the run's end; its page shows that as long as the process lives."""
        try:
            yield
        except Exception as error:
            if exit_codes.of(error) != 0:  # otherwise the user cancelled it
                with suppress(ConfigError):
                    self.show("failed")
            raise

    def know(self, **facts: Any) -> None:
        """Passes facts to the control room. run: its number; front_ends: their process; of a farm, by node: nodes,
        their processes, and gone, the reasons of those that have ended; rendezvous: its port. Values must suit
        JSON."""

    def hear_of_deaths(self, hear: Callable[[int, str], None]) -> None:
        """Sets a callback hear(node, why) for deaths of nodes elsewhere, which the control room reports."""

    def may_start(self, may_continue: Callable[[], bool] = lambda: True) -> bool:
        """Waits until the run, which is ready, may begin. False: it was cancelled. may_continue: called during the
        wait; the run ends when it returns False."""
        self.announce("ready")
        return may_continue()
