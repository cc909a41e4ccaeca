# SPDX-License-Identifier: Apache-2.0
"""A copy of a counter page at one moment, for the control room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from pydantic import ConfigDict, TypeAdapter

from anello.account.ledger import Counters
from anello.account.leg import LegLatency, slim
from anello.counters import pages
from anello.counters.pages import Buffers, Event, Header, Thread

MOST_BYTES = 4 << 20  # of a page as JSON
RUN, RECENT = "run", "10s"  # windows of the latency


@dataclass(frozen=True)
class PageCopy:
    """A copy of one page. latency: leg -> window -> as Page.latency."""

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    name: str
    header: Header
    counters: Counters
    latency: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    threads: Sequence[Thread] = ()
    buffers: Sequence[Buffers] = ()
    event: Event | None = None

    def as_json(self) -> bytes:
        """JSON that from_json() reads on another machine; histograms without the empty bins at their ends."""
        windows = {leg: {name: slim(one) for name, one in each.items()} for leg, each in self.legs().items()}
        return KIND.dump_json(replace(self, latency=windows))

    @classmethod
    def from_json(cls, content: bytes) -> "PageCopy":
        """Reads a page from JSON. Raises ValueError where it is no page: it may be from an untrusted machine."""
        if len(content) > MOST_BYTES:
            raise ValueError(f"a page has at most {MOST_BYTES} bytes, and this one {len(content)}")
        found = KIND.validate_json(content)
        windows = {leg: {name: _window(one) for name, one in each.items()} for leg, each in found.latency.items()}
        return replace(found, latency=windows)

    def legs(self) -> Mapping[str, Mapping[str, LegLatency]]:
        """The latency: leg -> window -> statistics."""
        return cast("Mapping[str, Mapping[str, LegLatency]]", self.latency)

    def run_latency(self) -> dict[str, LegLatency]:
        """The latency by leg since the run began."""
        return {leg: windows.get(RUN, {}) for leg, windows in self.legs().items()}

    def recent(self, leg: str) -> LegLatency:
        """The latency of the last 10 s; empty where no event ended in them."""
        window = self.legs().get(leg, {}).get(RECENT, {})
        return window if window.get("count") else {}


KIND = TypeAdapter(PageCopy)


def _window(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers, and histograms as NumPy arrays. Raises ValueError."""
    if not all(isinstance(value, int | float | list) for value in values.values()):
        raise ValueError("latencies must be numbers")
    window = {name: np.array(value) if isinstance(value, list) else value for name, value in values.items()}
    if not all(one.ndim == 1 and one.dtype.kind in "iuf" for one in window.values() if isinstance(one, np.ndarray)):
        raise ValueError("histograms must be of numbers")
    if len(window.get("bins_ns", ())) != len(counts := window.get("bin_counts", ())) + bool(len(counts)):
        raise ValueError("histograms must have one edge more than bins")
    return window


def copy_of(name: str) -> PageCopy:
    """Copies the page of this name. Raises ConfigError, OSError."""
    page = pages.look_at(name)
    return PageCopy(
        page.name, page.header, page.counters(), page.latency(), page.threads(), page.buffers(), page.event()
    )
