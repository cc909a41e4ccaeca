# SPDX-License-Identifier: Apache-2.0
"""A client's connection to a Server (anello.exchange.rendezvous.server), by ZeroMQ.

A thread keeps it, so that heartbeats continue whatever else the process does; only this thread touches the socket.
"""

import math
import os
import queue
import secrets
import threading
import time
from contextlib import suppress

import zmq

from anello.errors import ConfigError
from anello.exchange.rendezvous.messages import MAX_FRAME_BYTES, Message, milliseconds_until, parse
from anello.exchange.rendezvous.protocol import PAUSE_HEARTBEATS, Pace
from anello.system.json_messages import MalformedError
from anello.system.secret_keys import Keys

LINGER_MS = 1000


class Connection:
    """The socket and its thread. When the server has been silent for too long, this class makes a message `ended`,
    once."""

    def __init__(
        self, endpoint: str, kinds: frozenset[str], pace: Pace, keys: Keys | None, first: Message, *,
        option: str = "--rendezvous",
    ) -> None:  # fmt: skip
        """Connects. kinds: of messages that the server may send. first: the first message; a heartbeat before it
        would be taken for a stranger's. option: with which the user gave the endpoint. Raises ConfigError."""
        self._kinds, self._pace, self._option = kinds, pace, option
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
        """The next message. None: none arrived in time."""
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
        # The identity stays the same after a broken connection, so that the rendezvous recognises this node.
        link.setsockopt(zmq.ROUTING_ID, b"n" + secrets.token_bytes(16))
        if keys:
            link.curve_serverkey = keys.rendezvous_public
            link.curve_publickey, link.curve_secretkey = keys.node_public, keys.node_secret
        try:
            link.connect(endpoint)
        except zmq.ZMQError as error:
            self._context.destroy(0)
            raise ConfigError(self._option, "must be tcp://HOST:PORT", endpoint, "All need the same") from error
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
        with suppress(zmq.ZMQError):  # there is no connection; the side that waits for the answer will notice it
            self._socket.send_multipart(message.frames(), zmq.DONTWAIT)

    def _receive(self) -> None:
        try:
            message = parse(self._socket.recv_multipart(), self._kinds)
        except MalformedError:
            return
        if message.kind != "alive":
            self._incoming.put(message)
