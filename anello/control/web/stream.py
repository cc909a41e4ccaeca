# SPDX-License-Identifier: Apache-2.0
"""Events for every open page, sent as server-sent events.

There is one text per event, however many viewers there are, and no queue per viewer: each reads the events kept here at
its own pace. A slow viewer misses ticks, each of which is complete by itself; a very slow one is sent the number of
events it missed.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from sse_starlette import ServerSentEvent

KEPT = 256  # events that a viewer who reconnects can still get
MAX_VIEWERS = 64


class EventStream:
    """The stream of events. Any thread may call publish; only the serving thread may call the rest."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, str, str]] = deque(maxlen=KEPT)  # number, kind, text
        self._last = 0
        self._tick: tuple[int, str] = (0, "")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._closed = False
        self.viewers = 0

    def open(self) -> None:
        self._loop, self._closed = asyncio.get_running_loop(), False

    def close(self) -> None:
        """Ends the streams of all viewers."""
        self._closed = True
        self._wake()
        self._loop = None

    def ask_to_close(self) -> None:
        """Does the same from any thread."""
        if self._loop:
            self._loop.call_soon_threadsafe(self.close)

    def publish(self, kind: str, message: Mapping[str, Any]) -> None:
        """Adds an event. Only the last tick is kept."""
        text = json.dumps(message, separators=(",", ":"), allow_nan=False)
        loop = self._loop
        if loop is None:
            self._take(kind, text)
            return
        try:
            loop.call_soon_threadsafe(self._take, kind, text)
        except RuntimeError:  # the server has just ended: no viewer is left
            return

    def _take(self, kind: str, text: str) -> None:
        if kind == "tick":
            self._tick = (self._tick[0] + 1, text)
        else:
            self._last += 1
            self._kept.append((self._last, kind, text))
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self, last_id: int | None) -> AsyncIterator[ServerSentEvent]:
        """The events for one viewer. last_id: of the last event that the viewer has; None: it has just connected."""
        self.viewers += 1
        seen, ticks = self._last if last_id is None or last_id > self._last else last_id, 0
        try:
            while not self._closed:
                news = self._news
                if self._kept and (missed := self._kept[0][0] - seen - 1) > 0:
                    yield ServerSentEvent(json.dumps({"missed": missed}), event="missed")
                for number, kind, text in [one for one in self._kept if one[0] > seen]:
                    yield ServerSentEvent(text, event=kind, id=str(number))
                    seen = number
                if self._tick[0] > ticks:
                    ticks, text = self._tick
                    yield ServerSentEvent(text, event="tick")
                if news is self._news:
                    await news.wait()
        finally:
            self.viewers -= 1
