# SPDX-License-Identifier: Apache-2.0
"""A wire that loses datagrams by a rule: front ends send to it, and it hands the others on to a node's ports."""

import selectors
import socket
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

# (port's place, how many came there before it, the datagram) -> the datagrams that leave: none, itself, or more
Rule = Callable[[int, int, bytes], Sequence[bytes]]


class LeakyWire:
    """Use as a context. Nothing is in flight any more once it has been left."""

    def __init__(self, ports: Sequence[int], rule: Rule) -> None:
        self._rule, self._ports = rule, list(ports)
        self._in = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in ports]
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._n = [0] * len(self._ports)
        self._ending = threading.Event()
        for one in self._in:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
            one.bind(("127.0.0.1", 0))
            one.setblocking(False)
        self.ports = [int(one.getsockname()[1]) for one in self._in]
        self._thread = threading.Thread(target=self._carry, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        for one in (*self._in, self._out):
            one.close()

    def _carry(self) -> None:
        selector = selectors.DefaultSelector()
        for place, one in enumerate(self._in):
            selector.register(one, selectors.EVENT_READ, place)
        while ready := selector.select(timeout=0.02) or not self._ending.is_set():
            for key, _ in ready if isinstance(ready, list) else ():
                self._pass_on(key.data)
        selector.close()

    def _pass_on(self, place: int) -> None:
        try:
            datagram = self._in[place].recv(65536)
        except BlockingIOError:
            return
        for one in self._rule(place, self._n[place], datagram):
            self._out.sendto(one, ("127.0.0.1", self._ports[place]))
        self._n[place] += 1
