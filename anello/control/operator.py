# SPDX-License-Identifier: Apache-2.0
"""What leads runs, as the web and the command line see it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anello.control.states import State
from anello.counters.farm_copy import FarmNode


@dataclass(frozen=True)
class Status:
    """At one moment."""

    state: State
    since_ns: int  # wall clock
    cause: str = ""  # of an ERROR: what happened, why, what to do
    busy: str = ""  # an order that is being carried out: "arm"
    config_file: str = ""
    config_digest: str = ""
    settings: tuple[str, ...] = ()  # KEY=VALUE
    chain: str = ""
    run: int | None = None  # the number of the run that is ready, running or draining, else of the last one
    name: str = ""
    directory: str = ""  # of that run
    node_page: str = ""  # its counter page's name; empty: no process
    source_page: str = ""
    members: tuple[FarmNode, ...] = ()  # of a farm


class Operator(Protocol):
    """Orders are carried out before they return. Each raises WrongStateError where the state does not allow it, and
    NotDoneError where it failed; the state is ERROR then."""

    def status(self) -> Status: ...

    def configure(self, config_file: Path, settings: Sequence[str] = ()) -> None:
        """Raises ConfigError, InputError; the state stays as it was then."""

    def arm(self) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def abort(self) -> None: ...
    def reset(self) -> None: ...


class NotDoneError(RuntimeError):
    """An order that was possible and failed: what happened, why, what to do."""
