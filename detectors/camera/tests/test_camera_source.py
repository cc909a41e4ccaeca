# SPDX-License-Identifier: Apache-2.0
"""The camera's front ends through the bindings: what a plain Python receiver sees of them."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from anello import _engine
from anello.camera.engine import engine

HEADER = struct.Struct("<4sBBHIIIIQHBBBBH24s")
N_BOARDS, N_EVENTS = 12, 20


@contextmanager
def receiver() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        sock.settimeout(10)
        yield sock


def values(port: int, **changed: Any) -> dict[str, Any]:
    # fmt: off
    given = {
        "camera.boards": N_BOARDS, "camera.pixels_per_board": 7, "camera.gains": 2, "camera.samples": 20,
        "run.n_events": N_EVENTS, "seed": 3, "ports": [port], "rate_hz": 2000.0, "pool_events": 4,
        "signal_share": 1.0, "run_id": 9,
    }
    # fmt: on
    return given | {key.replace("__", "."): value for key, value in changed.items()}


def datagrams(sock: socket.socket, n: int) -> list[bytes]:
    return [sock.recv(65536) for _ in range(n)]


@pytest.mark.parametrize("offload", ["none", "gso"])
def test_every_board_sends_every_event(offload: str) -> None:
    with receiver() as sock:
        source = engine().Source(values(sock.getsockname()[1], offload=offload))
        source.prepare()
        source.start()
        received = datagrams(sock, N_BOARDS * (1 + N_EVENTS + 5))
        source.stop()
    headers = [HEADER.unpack_from(data) for data in received]
    fragments = [header for header in headers if not header[2] & 6]
    assert sorted((header[3], header[5]) for header in fragments) == [
        (board, event) for board in range(N_BOARDS) for event in range(N_EVENTS)
    ]
    assert {header[4] for header in headers} == {9}
    assert {len(data) for data, header in zip(received, headers, strict=True) if not header[2] & 6} == {64 + 560}
    counters = source.counters()
    assert counters["source"]["events"] == N_EVENTS
    sent = [counters[f"source.board{board}"]["datagrams_sent"] for board in range(N_BOARDS)]
    assert sent == [1 + N_EVENTS + 5] * N_BOARDS


def test_truth_is_in_the_waveforms() -> None:
    with receiver() as sock:
        source = engine().Source(values(sock.getsockname()[1], camera__samples=60, rate_hz=1000.0))
        source.start()
        received = datagrams(sock, N_BOARDS * (1 + N_EVENTS + 5))
        source.stop()
    truth = source.truth()
    assert truth["event_key"].tolist() == [9 << 32 | event for event in range(N_EVENTS)]
    assert truth["pool_index"].tolist() == [event % 4 for event in range(N_EVENTS)]
    assert truth["n_pe"].shape == (4,)
    charge = np.zeros(N_EVENTS)
    for data in received:
        header = HEADER.unpack_from(data)
        if not header[2] & 6:
            high_gain = np.frombuffer(data, "<u2", offset=HEADER.size)[: 7 * 60]
            charge[header[5]] += (high_gain.astype(float) - 250).sum()
    for event in range(4):
        assert (charge[event::4] == charge[event]).all(), "the pool's events are sent in turn"
    # A photo-electron is 20 counts high and 3.39 ns wide; the noise of 84 pixels' 60 samples is 426 counts, 6
    # photo-electrons. Bright images are left out, since the high gain clips.
    n_pe = truth["n_pe"]
    clear = (n_pe > 30) & (n_pe < 500)
    assert clear.sum() >= 2
    assert (np.abs(charge[:4] / (20 * 3.39) - n_pe)[clear] < 0.1 * n_pe[clear] + 20).all()


def test_a_wrong_value_is_named() -> None:
    with pytest.raises(_engine.ConfigError, match="payload: must be waveforms or pattern"):
        engine().Source(values(1, payload="noise"))
    with pytest.raises(_engine.ConfigError, match="ports"):
        engine().Source(values(0))
