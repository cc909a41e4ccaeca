# SPDX-License-Identifier: Apache-2.0
"""A node's side of the rendezvous: the Group of nodes that ZeroMQ joins.

A thread keeps the connection, so that heartbeats go on whatever the node does; it alone touches the socket.
"""

import math
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import zmq

from anello.errors import ConfigError
from anello.exchange.group import GroupEndedError, Hello, News, StartError, named, printable
from anello.exchange.keys import Keys
from anello.exchange.messages import MAX_FRAME_BYTES, TO_NODES, MalformedError, Message, milliseconds_until, parse
from anello.exchange.rendezvous import PAUSE_HEARTBEATS, WORDS, Pace

LINGER_MS = 1000


class RendezvousGroup:
    """Satisfies anello.exchange.group.Group."""

    def __init__(self, endpoint: str, hello: Hello, pace: Pace, keys: Keys | None = None) -> None:
        """Waits until all are there. Raises StartError, ConfigError."""
        self._hello, self._pace, self._endpoint = hello, pace, endpoint
        self._link = _Link(endpoint, pace, keys, first=Message("hello", hello.as_dict()))
        self._missing: list[int] | None = None
        self._told: dict[int, bytes] = {}
        self._news: list[News] = []
        self._notices: list[str] = []
        self._counters: dict[str, int] = {}
        self._stop_wanted = ""
        self._ended: StartError | None = None  # why nothing goes on here
        try:
            welcome = self._awaited("welcome", pace.patience_s, self._nobody_answered)
        except BaseException:
            self.close()
            raise
        self._farm_id = int(welcome.fields["farm_id"])
        self._comes_again = bool(welcome.fields["comes_again"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def rank(self) -> int:
        return self._hello.rank

    @property
    def size(self) -> int:
        return self._hello.n_nodes

    @property
    def farm_id(self) -> int:
        return self._farm_id

    @property
    def comes_again(self) -> bool:
        return self._comes_again

    @property
    def may_leave(self) -> bool:
        return True

    def meet(self, address: bytes) -> dict[int, bytes]:
        return dict(self._together(Message("meet", payload=(address,))).by_rank())

    def barrier(self) -> None:
        if not self._comes_again:
            self._together(Message("barrier"))

    def gather(self, content: bytes) -> list[tuple[int, bytes]]:
        """Waits for node 0 as long as the rendezvous is alive: others may need longer."""
        self._link.send(Message("gather", payload=(content,)))
        answer = self._awaited("gather", None, lambda: "")
        self._counters = {str(name): int(n) for name, n in answer.fields.get("counters", {}).items()}
        return answer.by_rank()

    def leave(self, content: bytes, why: str) -> None:
        self._link.send(Message("leave", {"why": why}, (content,)))

    def tell(self, content: bytes) -> None:
        self._link.send(Message("tell", payload=(content,)))

    def told(self) -> dict[int, bytes]:
        self._take_all()
        return dict(self._told)

    def stop_all(self, why: str) -> None:
        self._link.send(Message("stop", {"why": why}))

    def stop_wanted(self) -> str:
        self._take_all()
        return self._stop_wanted

    def news(self) -> list[News]:
        self._take_all()
        news, self._news = self._news, []
        return news

    def notices(self) -> list[str]:
        self._take_all()
        notices, self._notices = self._notices, []
        return notices

    def counters(self) -> dict[str, int]:
        return self._counters

    def close(self) -> None:
        self._link.close()

    # --- What comes -------------------------------------------------------------------------------------------------
    def _together(self, message: Message) -> Message:
        def late() -> str:
            return f"the {WORDS[message.kind]} took longer than {self._pace.timeout_s:g} s"

        self._link.send(message)
        return self._awaited(message.kind, self._pace.patience_s, late)

    def _awaited(self, kind: str, timeout_s: float | None, late: Callable[[], str]) -> Message:
        """late: the words for a time-out. Raises StartError."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            message = self._link.take(left_s)
            if message is None:
                raise StartError(late())
            if message.kind == kind:
                return message
            self._take(message)
            self._raise_if_ended()

    def _take_all(self) -> None:
        while (message := self._link.take(0)) is not None:
            self._take(message)
        self._raise_if_ended()

    def _raise_if_ended(self) -> None:
        if self._ended:
            raise self._ended

    def _take(self, message: Message) -> None:
        fields = message.fields
        if message.kind == "waiting":
            self._missing = [int(rank) for rank in fields["missing"]]
        elif message.kind == "told":
            self._told[int(fields["rank"])] = message.payload[0]
        elif message.kind == "news":
            address = message.payload[0] if message.payload else None
            self._news.append(News(int(fields["rank"]), printable(str(fields["what"])), address))
        elif message.kind == "notice":
            self._notices.append(printable(str(fields["line"])))
        elif message.kind == "stop":
            self._stop_wanted = printable(str(fields["why"])) or "node 0 says so"
        elif message.kind == "refused":
            self._ended = StartError(f"refused by the rendezvous: this node {printable(str(fields['why']))}")
        elif message.kind == "ended":
            self._ended = GroupEndedError(printable(str(fields["why"])))

    def _nobody_answered(self) -> str:
        if self._missing is None:
            about_keys = "; with keys on one side only, there is no answer either"
            return f"nobody answers at {self._endpoint} within {self._pace.timeout_s:g} s{about_keys}"
        return f"{named(self._missing)} did not come within {self._pace.timeout_s:g} s"


class _Link:
    """The socket and its thread. A message that the rendezvous itself is gone is made here."""

    def __init__(self, endpoint: str, pace: Pace, keys: Keys | None, first: Message) -> None:
        """first: what is said before anything else; a heartbeat before it would be a stranger's."""
        self._pace = pace
        self._was_heard = False
        self._context = zmq.Context()
        self._socket = self._connected(endpoint, keys)
        self._outgoing: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._incoming: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK)
        self._closing = threading.Event()
        self.send(first)
        self._thread = threading.Thread(target=self._keep, name="group", daemon=True)
        self._thread.start()

    def send(self, message: Message) -> None:
        self._outgoing.put(message)
        os.eventfd_write(self._wake, 1)

    def take(self, timeout_s: float | None) -> Message | None:
        """None: nothing came in time."""
        try:
            return self._incoming.get(timeout=timeout_s) if timeout_s != 0 else self._incoming.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        if self._closing.is_set():
            return
        self.send(Message("leave"))
        self._closing.set()
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._context.destroy(LINGER_MS if self._was_heard else 0)
        os.close(self._wake)

    def _connected(self, endpoint: str, keys: Keys | None) -> "zmq.Socket[bytes]":
        link = self._context.socket(zmq.DEALER)
        link.setsockopt(zmq.IPV6, "[" in endpoint)
        link.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)
        # The same after a broken connection, so that the rendezvous knows this node again.
        link.setsockopt(zmq.ROUTING_ID, b"n" + secrets.token_bytes(16))
        if keys:
            link.curve_serverkey = keys.rendezvous_public
            link.curve_publickey, link.curve_secretkey = keys.node_public, keys.node_secret
        try:
            link.connect(endpoint)
        except zmq.ZMQError as error:
            self._context.destroy(0)
            raise ConfigError("--rendezvous", "must be tcp://HOST:PORT", endpoint, "All nodes need the same") from error
        return link

    def _keep(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._wake, zmq.POLLIN)
        looked_s = time.monotonic()
        next_beat_s, heard_s = looked_s + self._pace.heartbeat_s, math.inf
        while not self._closing.is_set() or not self._outgoing.empty():
            ready = dict(poller.poll(milliseconds_until(next_beat_s)))
            if self._wake in ready:
                os.eventfd_read(self._wake)
            while not self._outgoing.empty():
                self._send(self._outgoing.get())
            now_s = time.monotonic()
            pause_s, looked_s = now_s - looked_s, now_s
            if pause_s > PAUSE_HEARTBEATS * self._pace.heartbeat_s:  # this machine was suspended, not the others
                heard_s += pause_s
            if self._socket in ready:
                self._receive()
                self._was_heard, heard_s = True, now_s
            if now_s >= next_beat_s:
                next_beat_s = now_s + self._pace.heartbeat_s
                self._send(Message("alive"))
            if now_s - heard_s > self._pace.gone_s:
                why = f"the rendezvous was silent for {self._pace.gone_s:g} s"
                self._incoming.put(Message("ended", {"why": why}))
                heard_s = math.inf

    def _send(self, message: Message) -> None:
        with suppress(zmq.ZMQError):  # nobody is connected; the side that waits for the answer will notice
            self._socket.send_multipart(message.frames(), zmq.DONTWAIT)

    def _receive(self) -> None:
        try:
            message = parse(self._socket.recv_multipart(), TO_NODES)
        except MalformedError:
            return
        if message.kind != "alive":
            self._incoming.put(message)
