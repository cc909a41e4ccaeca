# SPDX-License-Identifier: Apache-2.0
"""A socket that many peers connect to: a thread passes their messages to a Meeting, and sends its answers."""

import queue
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Protocol, Self

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils.monitor import recv_monitor_message

from anello.account.run_state import RunState
from anello.errors import ConfigError
from anello.exchange.rendezvous.connection_guard import ConnectionGuard, endpoint_of, listening_socket
from anello.exchange.rendezvous.messages import (
    FROM_NODES,
    MAX_FRAME_BYTES,
    Message,
    Outgoing,
    milliseconds_until,
    parse,
)
from anello.exchange.rendezvous.protocol import Pace, Rendezvous
from anello.system.json_messages import MalformedError
from anello.system.secret_keys import Keys

TICKS_PER_HEARTBEAT = 4
HANDSHAKE_TIMEOUT_MS = 5000
LINGER_MS = 1000  # how long the last messages may take to leave
MAX_WAITING_MESSAGES = 8  # of one peer, before it has to wait
FAILURES = {
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL: "handshakes_failed",
    zmq.Event.HANDSHAKE_FAILED_PROTOCOL: "handshakes_failed",
    zmq.Event.HANDSHAKE_FAILED_AUTH: "keys_refused",
}


class Meeting(Protocol):
    """The logic of a socket: a state machine without sockets, threads or clock. Only the server's thread calls it."""

    counters: Counter[str]

    @property
    def is_over(self) -> bool:
        """True when nothing more will happen."""

    def identities(self) -> frozenset[bytes]:
        """The identities of the connections of known peers."""

    def on_message(self, identity: bytes, message: Message, now_s: float) -> list[Outgoing]: ...
    def on_time(self, now_s: float) -> list[Outgoing]: ...
    def on_malformed(self) -> None: ...


class Server:
    """The socket and its thread; it listens until it is closed. Use as a context."""

    def __init__(
        self, endpoint: str, meeting: Meeting, kinds: frozenset[str], pace: Pace, keys: Keys | None = None, *,
        option: str = "--rendezvous",
    ) -> None:  # fmt: skip
        """Starts to listen. endpoint: tcp://host:port, port 0 or * for any, or ipc://path. kinds: of messages that
        peers may send. option: with which the user gave the endpoint. Raises ConfigError, OSError."""
        self._pace, self._meeting, self._kinds, self._option = pace, meeting, kinds, option
        keys = keys and keys.for_rendezvous()
        self._authenticator: ThreadAuthenticator | None = None
        self._nodes: frozenset[bytes] = frozenset()  # written by the server's thread, read by the guard's
        self._gate: ConnectionGuard | None = None
        with ExitStack() as stack:  # closed in order: ZeroMQ first, whose last messages the guard still forwards
            place = self._gate_before(stack, endpoint, has_keys=keys is not None)
            self._context = zmq.Context()
            stack.callback(self._end_context)
            self._socket = self._listening(place, keys)
            if not self._gate:
                self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
            self._kept = stack.pop_all()
        self._monitor = self._socket.get_monitor_socket()
        self._calls: queue.SimpleQueue[Callable[[], list[Outgoing]]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self.over = threading.Event()  # set when the meeting is over
        self._thread = threading.Thread(target=self._serve, name="rendezvous", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._socket.disable_monitor()
        self._socket.close(LINGER_MS)
        self._kept.close()

    @property
    def port(self) -> int:
        """The TCP port; 0: none."""
        number = self.endpoint.rpartition(":")[2]
        return int(number) if self.endpoint.startswith("tcp://") else 0

    @property
    def own_endpoint(self) -> str:
        """The endpoint for nodes in this process."""
        return self.endpoint.replace("tcp://0.0.0.0:", "tcp://127.0.0.1:").replace("tcp://[::]:", "tcp://[::1]:")

    def call(self, what: Callable[[], list[Outgoing]]) -> None:
        """Calls a function soon, in the server's thread."""
        self._calls.put(what)

    @property
    def counters(self) -> dict[str, int]:
        return dict(self._meeting.counters)

    # --- Set-up -----------------------------------------------------------------------------------------------------
    def _gate_before(self, stack: ExitStack, endpoint: str, *, has_keys: bool) -> str:
        """Where ZeroMQ listens: for nodes over TCP, after a guard and in a folder that only this user can enter."""
        if not endpoint.startswith("tcp://"):
            return endpoint
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="anello-"))
        try:
            door = listening_socket(endpoint)
        except (OSError, ValueError, OverflowError) as error:
            raise _cannot_listen(self._option, endpoint, error) from error
        place = f"{folder}/rendezvous"
        self._gate = ConnectionGuard(door, place, has_keys=has_keys, is_node=lambda identity: identity in self._nodes)
        stack.callback(self._gate.close)
        self.endpoint = endpoint_of(door)
        return f"ipc://{place}"

    def _listening(self, endpoint: str, keys: Keys | None) -> "zmq.Socket[bytes]":
        listening = self._context.socket(zmq.ROUTER)
        listening.setsockopt(zmq.IPV6, "[" in endpoint)
        listening.setsockopt(zmq.ROUTER_HANDOVER, 1)  # a node whose connection broke returns at once
        listening.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)
        listening.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_TIMEOUT_MS)
        listening.setsockopt(zmq.RCVHWM, MAX_WAITING_MESSAGES)
        if keys:
            self._let_in_by_key(listening, keys)
        try:
            listening.bind(endpoint)
        except zmq.ZMQError as error:
            raise _cannot_listen(self._option, endpoint, error) from error
        return listening

    def _let_in_by_key(self, listening: "zmq.Socket[bytes]", keys: Keys) -> None:
        self._authenticator = ThreadAuthenticator(self._context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback(domain="*", credentials_provider=_Allowed(keys.allowed))
        listening.curve_secretkey, listening.curve_publickey = keys.rendezvous_secret, keys.rendezvous_public
        listening.curve_server = True

    def _end_context(self) -> None:
        if self._authenticator:
            self._authenticator.stop()
        self._context.destroy(LINGER_MS)

    # --- The thread -------------------------------------------------------------------------------------------------
    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._monitor, zmq.POLLIN)
        tick_s = self._pace.heartbeat_s / TICKS_PER_HEARTBEAT
        next_tick_s = time.monotonic()
        while not self._stopping.is_set():
            ready = dict(poller.poll(milliseconds_until(next_tick_s)))
            if self._socket in ready:
                self._receive()
            if self._monitor in ready:
                self._count_failure()
            if time.monotonic() >= next_tick_s:
                next_tick_s = time.monotonic() + tick_s
                self._tick()

    def _receive(self) -> None:
        identity, *frames = self._socket.recv_multipart()
        try:
            message = parse(frames, self._kinds)
        except MalformedError:
            self._meeting.on_malformed()
            return
        answers = self._meeting.on_message(identity, message, time.monotonic())
        self._nodes = self._meeting.identities()  # before the answer is sent: a peer that reacts to it is no stranger
        self._send(answers)

    def _tick(self) -> None:
        while not self._calls.empty():
            self._send(self._calls.get()())
        self._send(self._meeting.on_time(time.monotonic()))
        self._nodes = self._meeting.identities()
        if self._gate:
            self._meeting.counters.update(self._gate.take_counts())
        if self._meeting.is_over:
            self.over.set()

    def _send(self, messages: list[Outgoing]) -> None:
        for identity, message in messages:
            try:
                self._socket.send_multipart([identity, *message.frames()], zmq.DONTWAIT)
            except zmq.ZMQError:  # the peer does not read; if it is dead, its silence will be noticed
                self._meeting.counters["not_sent"] += 1

    def _count_failure(self) -> None:
        event = zmq.Event(recv_monitor_message(self._monitor, zmq.DONTWAIT)["event"])
        if event in FAILURES:
            self._meeting.counters[FAILURES[event]] += 1


def _cannot_listen(
    option: str, endpoint: str, error: OSError | ValueError | OverflowError | zmq.ZMQError
) -> ConfigError:
    rule = f"cannot be listened at: {getattr(error, 'strerror', None) or error}"
    return ConfigError(option, rule, endpoint, "Give an address of this machine and a free port")


class RendezvousServer(Server):
    """The server at which the nodes of a run meet."""

    def __init__(
        self, endpoint: str, n_nodes: int, pace: Pace, keys: Keys | None = None, *, held: bool = False
    ) -> None:
        """Starts the rendezvous. held: the run starts when release() is called. Raises ConfigError, OSError."""
        self._rendezvous = Rendezvous(n_nodes, pace, time.monotonic(), held=held)
        super().__init__(endpoint, self._rendezvous, FROM_NODES, pace, keys)

    def report_dead(self, rank: int, why: str) -> None:
        """Reports the death of a node; called by the process that started it."""
        self.call(lambda: self._rendezvous.on_death(rank, why))

    def release(self) -> None:
        """Starts all nodes that wait for the start."""
        self.call(self._rendezvous.release)

    def cancel(self, why: str) -> None:
        """Ends all nodes at once."""
        self.call(lambda: self._rendezvous.cancel(why))

    def take_notices(self) -> list[str]:
        return self._rendezvous.take_notices()

    @property
    def failure(self) -> str:
        return self._rendezvous.failure

    @property
    def state(self) -> RunState:
        """The state of the run."""
        return self._rendezvous.state


class _Allowed:
    """The set of allowed public keys, in the form that the authenticator expects."""

    def __init__(self, keys: frozenset[bytes]) -> None:
        self._keys = keys

    def callback(self, domain: str, key: bytes) -> bool:
        return key in self._keys
