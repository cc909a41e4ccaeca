# SPDX-License-Identifier: Apache-2.0
"""The control room among strangers: silent connections, endless requests, and files that others may read."""

import json
import socket
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_control import FakeMemory, FakeOperator, FakePages

from anello.account.notices import Notice
from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.control.access import access
from anello.control.access.tokens import Tokens
from anello.control.client import Client
from anello.control.managed import Managed
from anello.control.run_sampler import RunSampler
from anello.control.states import State
from anello.control.web import serve
from anello.control.web.app import create_app
from anello.control.web.serve import MOST_CONNECTIONS, MOST_SILENT, WebServer
from anello.run.log import RunLog

TOKENS = Tokens("v" * 32, "o" * 32)
PATIENCE_S = 60


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    sight = RunSampler(FakeOperator(State.OFFLINE).status, copy=FakePages().copy)
    found = WebServer(create_app(FakeOperator(State.OFFLINE), FakeMemory(tmp_path), sight, TOKENS), port=0).start()
    yield found
    found.stop()


def status_of(server: WebServer) -> str:
    request = urllib.request.Request(
        f"{server.origin}/api/v1/state", headers={"Authorization": f"Bearer {TOKENS.viewer}"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return str(json.load(answer)["state"])


def connected(server: WebServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)


def test_connections_that_say_nothing_keep_nobody_out(server: WebServer) -> None:
    silent = [connected(server) for _ in range(MOST_CONNECTIONS + 50)]
    assert status_of(server) == "offline"
    closed = [one.recv(1) for one in silent[: MOST_CONNECTIONS - MOST_SILENT]]
    assert set(closed) == {b""}, "the oldest make room"
    for one in silent:
        one.close()


@pytest.mark.parametrize("said", [b"", b"GET /api/v1/st", b"POST /api/v1/check HTTP/1.1\r\nHost: x\r\nX: "])
def test_a_connection_must_say_in_time_what_it_wants(
    server: WebServer, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(serve, "REQUEST_S", 0.1)
    with connected(server) as client:
        client.sendall(said)
        assert client.recv(1) == b""


def test_it_must_do_so_each_time(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "REQUEST_S", 0.1)
    with connected(server) as client, client.makefile("rb") as lines:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert lines.readline() == b"HTTP/1.1 200 OK\r\n"
        client.sendall(b"GET /heal")
        assert lines.read(), "the rest of the answer, then the end"


def test_a_body_that_does_not_come_is_not_waited_for(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "BODY_S", 0.1)
    with connected(server) as client, client.makefile("rb") as lines:
        client.sendall(
            b"POST /api/v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + TOKENS.operator.encode()
            + b"\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"
        )  # fmt: skip
        assert lines.readline().startswith(b"HTTP/1.1 4")


# --- Orders where HTTP is kept busy -----------------------------------------------------------------------------------
class Elsewhere(Client):
    """Client of a control room that does not answer."""

    def __init__(self, runs: Path) -> None:
        self._runs, self._address, self._process, self._token = runs, "http://127.0.0.1:9", 0, "x"


def test_a_run_hears_who_cannot_reach_its_control_room(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    client = Elsewhere(tmp_path)
    with pytest.raises(OSError, match="refused"):
        client.status()
    order = {"config_file": "a.toml", "settings": [], "front_ends": True, "chain": "rich", "name": "a",
             "config_digest": "0"}  # fmt: skip
    (directory / "control.json").write_text(json.dumps(order))
    with Managed(directory) as managed:
        assert client.status()["state"] == "configured"
        assert client.order("abort")["state"] == "configured"
        assert managed.is_aborted
        with pytest.raises(OSError, match="refused"):
            client.order("arm")


# --- Files ------------------------------------------------------------------------------------------------------------
def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_their_owner_reads_catalogue_and_log(tmp_path: Path) -> None:
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        catalogue.log.add("a word", author="me")
        for file in of_runs_in(tmp_path).parent.glob(f"{of_runs_in(tmp_path).name}*"):
            assert mode(file) == 0o600, file
    with RunLog(tmp_path / "run.log") as log:
        log.write(Notice(0, "a word"))
    assert mode(tmp_path / "run.log") == 0o600
