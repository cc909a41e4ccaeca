# SPDX-License-Identifier: Apache-2.0
"""A run that takes orders at a Unix socket in its directory, and continues when there is no control room.

One JSON object per line: {"order": "state"|"start"|"stop"|"abort"}, or {"order": "dead", "node": 3, "why": ...} of a
node elsewhere; to each an answer, {"ok": true, "state": ..., "process": ..., and further facts} or {"ok": false,
"error": ...}. Only the run's user and root are accepted.
"""

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from anello.account.notices import printable
from anello.catalogue.entry import Entry
from anello.run.run_control import RunControl
from anello.system.interruption import Interruption
from anello.system.json_messages import decode, encode

SOCKET = "orders.sock"
MOST_BYTES, MOST_ANSWER_BYTES = 4096, 1 << 20  # of one order, and of one answer
MOST_CLIENTS = 8
PEER = struct.Struct("3i")  # struct ucred: process, user, group


@contextmanager
def address_in(directory: Path) -> Iterator[str]:
    """The address of the socket: a path through the directory's descriptor, since an address has at most 107 bytes."""
    descriptor = os.open(directory, os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


class Managed(RunControl):
    """The run's side of the socket. Use as a context: the socket exists for that time."""

    def __init__(self, directory: Path, entry: Entry | None = None) -> None:
        self._path = directory / SOCKET
        self._changed = threading.Condition()
        self._state = "configured"
        self._start_ordered = False
        self._interruption: Interruption | None = None
        self._facts: dict[str, Any] = {}
        self._hear_of_death: Callable[[int, str], None] | None = None
        super().__init__(entry)
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        with address_in(directory) as address:
            self._socket.bind(address)
        self._path.chmod(0o600)
        self._socket.listen(MOST_CLIENTS)
        self._room = threading.BoundedSemaphore(MOST_CLIENTS)
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._door = threading.Thread(target=self._accept, daemon=True, name="orders")
        self._door.start()

    def __enter__(self) -> "Managed":
        return self

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)
        _wake(self._socket)
        self._door.join()
        for client, thread in list(self._clients.items()):
            _wake(client)
            thread.join()
        self._socket.close()

    # --- The run
    @contextmanager
    def interruptible(self) -> Iterator[Interruption]:
        with super().interruptible() as interruption:
            with self._changed:
                self._interruption = interruption
                if self.is_aborted:
                    interruption.set()
            yield interruption
        with self._changed:
            self._interruption = None

    def announce(self, state: str) -> None:
        with self._changed:
            self._state = state
        super().announce(state)

    def know(self, **facts: Any) -> None:
        with self._changed:
            self._facts |= facts

    def hear_of_deaths(self, hear: Callable[[int, str], None]) -> None:
        with self._changed:
            self._hear_of_death = hear

    def may_start(self, may_continue: Callable[[], bool] = lambda: True) -> bool:
        self.announce("ready")
        while not self._start_ordered:
            self.show("ready")  # repeated, so that the operator sees that the run waits
            if not may_continue() or self._interruption is None or self._interruption.wait(0.05):
                return False
        return not self.is_aborted

    # --- Who gives orders
    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return  # the run is over
            if not _is_ours(client) or not self._room.acquire(blocking=False):
                client.close()
                continue
            self._clients[client] = threading.Thread(target=self._serve, args=(client,), daemon=True, name="orders")
            self._clients[client].start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, client.makefile("rwb") as lines:
                while line := lines.readline(MOST_BYTES + 1):
                    lines.write(encode(self._answer(line)) + b"\n")
                    lines.flush()
                    if not line.endswith(b"\n"):
                        return  # the rest of a line that is too long is no order
        except OSError:
            pass  # the client has disconnected
        finally:
            self._clients.pop(client, None)
            self._room.release()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            order = decode(line, MOST_BYTES)
            with self._changed:
                self._obey(str(order.get("order", "")), order)
                return {"ok": True, "state": self._state, "process": os.getpid(), **self._facts}
        except (ValueError, KeyError, TypeError) as error:
            return {"ok": False, "error": f"{type(error).__name__}: {error}"}

    def _obey(self, order: str, said: Mapping[str, Any]) -> None:
        if order == "state":
            return
        if order == "start":
            if self._state != "ready":
                raise ValueError(f"start is not possible while {self._state}")
            self._start_ordered = True
        elif order in ("stop", "abort"):
            self.is_aborted = self.is_aborted or order == "abort"
            if self._interruption is not None:
                self._interruption.set()
        elif order == "dead":
            if self._hear_of_death is None:
                raise ValueError("this run has no nodes elsewhere")
            self._hear_of_death(int(said["node"]), printable(str(said["why"])))
        else:
            raise ValueError(f"there is no order {order!r}; there are state, start, stop, abort, dead")


def _wake(waiting: socket.socket) -> None:
    """Wakes the thread that reads from this socket or accepts at it; its call then returns."""
    with suppress(OSError):
        waiting.shutdown(socket.SHUT_RDWR)


def _is_ours(client: socket.socket) -> bool:
    """True if the client is the run's user or root. The mode of the socket's file demands the same, but some systems
    ignore it."""
    _, user, _ = PEER.unpack(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
    return user in (0, os.getuid())


class NoAnswerError(OSError):
    """No process answers at the socket."""


class ManagedRun:
    """The control room's side of the socket. Each call is one order, answered within timeout_s or NoAnswerError."""

    def __init__(self, directory: Path, timeout_s: float = 5.0) -> None:
        self._client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._client.settimeout(timeout_s)
        try:
            with address_in(directory) as address:
                self._client.connect(address)
        except OSError as error:
            self._client.close()
            raise NoAnswerError(f"nothing answers at {directory / SOCKET}: {error.strerror}") from error
        self._lines = self._client.makefile("rwb")

    def order(self, word: str, **said: Any) -> dict[str, Any]:
        """Sends an order and returns the answer. Raises NoAnswerError, ValueError where the order was refused."""
        try:
            self._lines.write(encode({"order": word} | said) + b"\n")
            self._lines.flush()
            answer = decode(self._lines.readline(MOST_ANSWER_BYTES + 1) or b"{}", MOST_ANSWER_BYTES)
        except (OSError, ValueError) as error:
            raise NoAnswerError(f"the run does not answer: {error}") from error
        if not answer:
            raise NoAnswerError("the run has gone")
        if not answer["ok"]:
            raise ValueError(answer["error"])
        return answer

    def close(self) -> None:
        with suppress(OSError):
            self._lines.close()
        self._client.close()
