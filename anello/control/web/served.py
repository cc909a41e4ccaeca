# SPDX-License-Identifier: Apache-2.0
"""What the routes work with."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.requests import Request

from anello.control.access.tickets import Tickets
from anello.control.operator import Operator
from anello.control.run_sampler import RunSample, RunSampler
from anello.control.web import messages
from anello.control.web.memory import Memory
from anello.control.web.stream import EventStream

MOST_ORDERS = 4  # at a time: they wait for each other, and must not keep all threads from those who only look


class TooManyError(Exception):
    """Viewers or orders."""


@dataclass
class Served:
    """One for the whole application."""

    operator: Operator
    memory: Memory
    sight: RunSampler
    agents: Callable[[], list[dict[str, Any]]] = list  # those of other machines: name, host, version, process, nodes
    tickets: Tickets = field(default_factory=Tickets)
    stream: EventStream = field(default_factory=EventStream)
    ordering: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(MOST_ORDERS))
    _state: dict[str, Any] = field(default_factory=dict)  # as it was last told

    def tell(self, look: RunSample) -> None:
        """After each look: what is new goes to the pages that are open."""
        state = messages.state(look.status)
        if self._state != state:
            self.stream.publish("state", state)
            self._state = state
        if self.stream.viewers:
            self.stream.publish("tick", messages.tick(look))
        for kind, news in self.memory.news().items():
            for one in news:
                self.stream.publish(kind, one)


def served_by(request: Request) -> Served:
    return cast(Served, request.app.state.served)
