# SPDX-License-Identifier: Apache-2.0
"""Other processes that the tests of the rings under ZeroMQ talk to."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PATIENCE_MS = 20_000
PRELUDE = f"""
import os, sys, zmq
context = zmq.Context()
def make(kind, **options):
    socket = context.socket(kind)
    for name, value in (dict(RCVTIMEO={PATIENCE_MS}, SNDTIMEO={PATIENCE_MS}, LINGER={PATIENCE_MS}) | options).items():
        setattr(socket, name, value)
    return socket
def say(text):
    print(text, flush=True)
"""
Spawn = Callable[..., subprocess.Popen[str]]


def stock_folder() -> str:
    """Folder of the distribution's libzmq; the loader prefers it to what pyzmq was linked with."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = [line.split("=>")[1].strip() for line in listed.splitlines() if "libzmq.so.5" in line and "=>" in line]
    if not found:
        pytest.skip("the distribution's libzmq5 is not installed")
    return str(Path(found[0]).parent)


def n_rings(pid: int | str = "self") -> int:
    """Mappings of rings in a process: three for each ring."""
    return Path(f"/proc/{pid}/maps").read_text().count("anello-ring")


def n_lent(pid: int | str = "self") -> int:
    """Mappings of lent memory in a process: one for each."""
    return Path(f"/proc/{pid}/maps").read_text().count("anello-lent")
