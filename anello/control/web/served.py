# SPDX-License-Identifier: Apache-2.0
"""The objects that the routes use."""

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

MOST_ORDERS = 4  # at a time: orders wait for each other, and must leave threads for viewers


class TooManyError(Exception):
    """Too many viewers or orders at a time."""


@dataclass
class Served:
    """The objects; the whole application shares one instance."""

    operator: Operator
    memory: Memory
    sight: RunSampler
    agents: Callable[[], list[dict[str, Any]]] = list  # agents of other machines: name, host, version, process, nodes
    tickets: Tickets = field(default_factory=Tickets)
    stream: EventStream = field(default_factory=EventStream)
    ordering: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(MOST_ORDERS))
    _state: dict[str, Any] = field(default_factory=dict)  # as last sent to the pages

    def send_new(self, look: RunSample) -> None:
        """Called after each sample: sends what is new to the open pages."""
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
