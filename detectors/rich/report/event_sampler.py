# SPDX-License-Identifier: Apache-2.0
"""Keeps some events of a running node for the report."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

HIT_COLUMNS = ("hit_pmt", "hit_time_fine")
RING_COLUMNS = ("ring_x_mm", "ring_y_mm", "ring_radius_mm", "ring_n_hits")

Arrays = Mapping[str, NDArray[Any]]


class RichSamples(Protocol):
    """The part of a node that offers samples and drops them when nobody takes them."""

    def events(self, n: int) -> dict[str, NDArray[Any]]: ...
    def execution(self) -> dict[str, NDArray[Any]]: ...


class EventSampler:
    """Regularly takes events from a node. It keeps an event that is offered twice only once, and at most n_events."""

    def __init__(self, n_events: int) -> None:
        self._n_events = n_events
        self._pieces: list[Arrays] = []
        self._keys = np.zeros(0, np.uint64)

    def look(self, node: RichSamples) -> None:
        node.execution()  # the node collects the samples since the last call
        offered = node.events(self._n_events)
        new = np.flatnonzero(~np.isin(offered["event_key"], self._keys))[: self._n_events - len(self._keys)]
        if len(new):
            self._pieces.append(_chosen(offered, new))
            self._keys = np.concatenate((self._keys, offered["event_key"][new]))

    def events(self) -> dict[str, NDArray[Any]]:
        """All events kept, in the form of Node.events."""
        if not self._pieces:
            return {}
        joined = {
            name: np.concatenate([piece[name] for piece in self._pieces])
            for name in ("event_key", *HIT_COLUMNS, *RING_COLUMNS)
        }
        for name in ("event_offset", "ring_offset"):
            counts = np.concatenate([np.diff(piece[name].astype(np.int64)) for piece in self._pieces])
            joined[name] = np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)
        return joined


def _chosen(events: Arrays, index: NDArray[np.int64]) -> Arrays:
    """Selects the events with these indices."""
    chosen: dict[str, NDArray[Any]] = {"event_key": events["event_key"][index]}
    for offset_name, columns in (("event_offset", HIT_COLUMNS), ("ring_offset", RING_COLUMNS)):
        offset = events[offset_name].astype(np.int64)
        counts = (offset[1:] - offset[:-1])[index]
        new_offset = np.concatenate(([0], np.cumsum(counts)))
        rows = np.repeat(offset[:-1][index] - new_offset[:-1], counts) + np.arange(new_offset[-1])
        chosen |= {name: events[name][rows] for name in columns}
        chosen[offset_name] = new_offset.astype(np.uint32)
    return chosen
