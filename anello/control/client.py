# SPDX-License-Identifier: Apache-2.0
"""Orders to a control room from the command line, over its HTTP interface."""

import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anello.control.control_server import whereabouts
from anello.control.states import State

if TYPE_CHECKING:
    from anello.control.access.tokens import Role

TIMEOUT_S = 150.0  # s; when it is armed, a run writes to all its memory once
ASK_S = 0.2
TO_THE_RUN = ("state", "start", "stop", "abort")  # orders that the run's own process accepts


class OrderRefusedError(RuntimeError):
    """The control room refused an order; the message holds its reason."""

    exit_code = 1


def page_of(runs: Path, role: "Role") -> str:
    """The address of the control room's page, with a token. Raises ConfigError, OSError."""
    from anello.control.access.tokens import Tokens

    return f"{_found(runs)['address']}/#token={Tokens.of(runs).of_role(role)}"


def _found(runs: Path) -> dict[str, Any]:
    """The address and process of the control room of this directory. Raises ConfigError."""
    from anello.errors import ConfigError

    if found := whereabouts(runs):
        return found
    remedy = f"anello control --directory {runs} starts one"
    raise ConfigError("--directory", "must be one that a control room has", str(runs), remedy)


class Client:
    """A connection to a control room. Raises ConfigError where no control room has the directory, OSError where none
    answers, OrderRefusedError."""

    def __init__(self, runs: Path) -> None:
        from anello.control.access.tokens import Tokens

        found = _found(runs)
        self._runs = runs
        self._address, self._process = found["address"], int(found["process"])
        self._token = Tokens.of(runs).operator

    @classmethod
    def awaited(cls, runs: Path, timeout_s: float) -> "Client":
        """A connection to a control room that may still be starting."""
        deadline = time.monotonic() + timeout_s
        while not whereabouts(runs) and time.monotonic() < deadline:
            time.sleep(ASK_S)
        return cls(runs)

    def close_room(self) -> None:
        """Ends the control room; a run continues. Raises ProcessLookupError where the control room has ended
        already."""
        os.kill(self._process, signal.SIGTERM)

    def status(self) -> dict[str, Any]:
        return self.ask("state")

    def ask(self, path: str) -> dict[str, Any]:
        """The answer to GET /api/v1/path."""
        return self._ask("GET", path)

    def order(self, word: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._ask("POST", word, body or {})

    def wait(self, state: State, timeout_s: float) -> dict[str, Any]:
        """Waits until the control room has this state. Raises OrderRefusedError when an error occurs instead, or the
        time is over."""
        deadline = time.monotonic() + timeout_s
        while True:
            status = self.status()
            if status["state"] == state:
                return status
            if status["state"] == State.ERROR:
                raise OrderRefusedError(f"the state is error, not {state}: {status['cause']}")
            if time.monotonic() > deadline:
                raise OrderRefusedError(f"the state is {status['state']}, and not {state}, after {timeout_s:g} s")
            time.sleep(ASK_S)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._address}/api/v1/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                answered: dict[str, Any] = json.load(answer)
                return answered
        except urllib.error.HTTPError as error:
            if error.code == HTTPStatus.SERVICE_UNAVAILABLE and (from_run := self._ask_the_run(path)):
                return from_run
            raise OrderRefusedError(_words_of(error)) from None
        except OSError:
            if from_run := self._ask_the_run(path):
                return from_run
            raise

    def _ask_the_run(self, path: str) -> dict[str, Any] | None:
        """Sends an order to the run's own socket, which only its user and root can reach: strangers may keep the
        HTTP interface busy. None: the run has no such order, or there is no run."""
        from anello.control.managed import ManagedRun
        from anello.control.process import RunProcess

        found = RunProcess.find(self._runs) if path in TO_THE_RUN else None
        if found is None:
            return None
        return {"run": None, "cause": "asked at its own socket"} | ManagedRun(found.directory).order(path)


def _words_of(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read(65536))["message"])
    except (ValueError, KeyError, TypeError):
        return f"the control room answered {error.code} {error.reason}"
