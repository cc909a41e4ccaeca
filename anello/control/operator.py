# SPDX-License-Identifier: Apache-2.0
"""The interface that starts and stops runs, used by the web server and the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anello.control.states import State
from anello.counters.farm_copy import FarmNode


@dataclass(frozen=True)
class Status:
    """The state of the control room at one moment."""

    state: State
    since_ns: int  # wall clock
    cause: str = ""  # of an ERROR: what happened, why, what to do
    busy: str = ""  # an order in progress, such as "arm"
    config_file: str = ""
    config_digest: str = ""
    settings: tuple[str, ...] = ()  # each KEY=VALUE
    chain: str = ""
    run: int | None = None  # the number of the run that is ready, running or draining, else of the last one
    name: str = ""
    directory: str = ""  # of that run
    node_page: str = ""  # name of its counter page; empty: no process
    source_page: str = ""
    members: tuple[FarmNode, ...] = ()  # the nodes of a farm


class Operator(Protocol):
    """Takes orders, and carries them out before it returns. Each raises WrongStateError where the state does not
    allow it, and NotDoneError where it failed; the state is ERROR then."""

    def status(self) -> Status: ...

    def configure(self, config_file: Path, settings: Sequence[str] = ()) -> None:
        """Reads a configuration. Raises ConfigError, InputError; the state then stays as it was."""

    def arm(self) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def abort(self) -> None: ...
    def reset(self) -> None: ...


class NotDoneError(RuntimeError):
    """An order that was allowed and failed; the text says what happened, why, what to do."""
