# SPDX-License-Identifier: Apache-2.0
"""Tests of the rings under ZeroMQ, with pyzmq as `./dev zmq --test` compiles it against build/zmq/lib."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from zmq_peers import PATIENCE_MS, PRELUDE, Spawn, stock_folder

zmq = pytest.importorskip("zmq", reason="needs pyzmq on Anello's libzmq: ./dev zmq --test")
if not zmq.has("ring"):
    pytest.skip("this pyzmq has another libzmq: ./dev zmq --test", allow_module_level=True)


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Other processes: spawn(code, stock=False, **environment); what they print is read from .stdout."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, stock: bool = False, **environment: str) -> subprocess.Popen[str]:
        library = {"LD_LIBRARY_PATH": stock_folder()} if stock else {}
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | library | environment,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def context() -> Iterator[zmq.Context]:
    made = zmq.Context()
    yield made
    made.destroy(linger=0)


@pytest.fixture
def make(context: zmq.Context) -> Callable[..., zmq.Socket]:
    """A socket that waits for PATIENCE_MS at most."""

    def make(kind: int, **options: int) -> zmq.Socket:
        socket = context.socket(kind)
        for name, value in {"RCVTIMEO": PATIENCE_MS, "SNDTIMEO": PATIENCE_MS, "LINGER": 0, **options}.items():
            setattr(socket, name, value)
        return socket

    return make


@pytest.fixture
def endpoint(tmp_path: Path) -> str:
    """The part after ipc:// or ring://."""
    return str(tmp_path / "socket")
