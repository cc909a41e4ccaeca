# SPDX-License-Identifier: Apache-2.0
"""What happens, told to every page that is open, as server-sent events.

There is one text per event, however many look on, and no queue per viewer: each goes through what is kept here at its
own pace. Who is slow misses ticks, each of which says everything anew; who is very slow is told how much it missed.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from sse_starlette import ServerSentEvent

KEPT = 256  # events that a viewer who comes again can be told
MAX_VIEWERS = 64


class EventStream:
    """publish may be called from any thread, everything else from the one that serves."""

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
        """All viewers' streams end."""
        self._closed = True
        self._wake()
        self._loop = None

    def ask_to_close(self) -> None:
        """The same from any thread."""
        if self._loop:
            self._loop.call_soon_threadsafe(self.close)

    def publish(self, kind: str, message: Mapping[str, Any]) -> None:
        """Nothing is kept of a tick but the last."""
        text = json.dumps(message, separators=(",", ":"), allow_nan=False)
        loop = self._loop
        if loop is None:
            self._take(kind, text)
            return
        try:
            loop.call_soon_threadsafe(self._take, kind, text)
        except RuntimeError:  # the server has just ended: there is nobody to tell
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
        """last_id: of the last event that the viewer knows; None: it has just come."""
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
