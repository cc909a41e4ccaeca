# SPDX-License-Identifier: Apache-2.0
"""`anello doctor CONFIG --traffic`: which receive backend is recommended, and which options are refused."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anello.configuration.base import FrontEndsConfig
from anello.configuration.load import load
from anello.doctor import traffic
from anello.doctor.traffic import TrafficTrial, Turn, Way
from anello.errors import ConfigError

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "detectors/camera/cta-camera.toml"
SOCKET, URING = Way("socket", True), Way("io_uring", True)


def config(*settings: str) -> FrontEndsConfig:
    loaded = load(CONFIG, ["receive.ports=[9]", *settings])
    assert isinstance(loaded, FrontEndsConfig)
    return loaded


def trial(way: Way, *machine_ns: float, lost: int = 0) -> TrafficTrial:
    return TrafficTrial(way, tuple(Turn(1000, lost, 1.0, ns * 1e-6, ns * 1e-7) for ns in machine_ns))


# --- What is recommended ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("others", "words"),
    [
        (trial(URING, 700, 750, 800), "take receive.backend=io_uring receive.gro=true: 0.75 of the CPU time"),
        (trial(URING, 500, 700, 960), "stay with receive.backend=socket"),  # not in every turn
        (trial(URING, 930, 940, 950), "stay with receive.backend=socket"),  # not by enough
        (trial(URING, 2000, 2000, 2000), "stay with receive.backend=socket"),
        (trial(URING, 100, 100, 100, lost=1), "stay with receive.backend=socket"),
    ],
)
def test_another_way_only_where_it_is_cheaper_in_every_turn_and_loses_no_more(others: TrafficTrial, words: str) -> None:
    assert traffic.advice([trial(SOCKET, 980, 1000, 1020), others], SOCKET).startswith(words)


def test_what_loses_least_comes_before_what_costs_least() -> None:
    advice = traffic.advice([trial(SOCKET, 100, 100, 100, lost=5), trial(URING, 900, 900, 900)], SOCKET)
    assert advice == "take receive.backend=io_uring receive.gro=true: it loses 0 datagrams, what is configured 15"


def test_where_the_configured_way_does_not_work_the_best_of_the_others() -> None:
    trials = [TrafficTrial(SOCKET, refused="no"), trial(URING, 900, 900, 900)]
    assert "does not work here" in traffic.advice(trials, SOCKET)


# --- The trial ----------------------------------------------------------------------------------------------------
def test_each_way_has_its_turns_in_turn_and_one_that_is_refused_is_not_tried_again() -> None:
    seen: list[Way] = []

    def take(_config: FrontEndsConfig, way: Way, _interface: str, _seconds: float) -> Turn:
        seen.append(way)
        if way.backend == "af_xdp":
            raise OSError("not here")
        return Turn(10, 0, 1.0, 1e-6, 1e-6)

    trials = traffic.try_all(config(), "lo", 1.0, take=take)
    working = [one.way for one in trials if not one.refused]
    assert [one.way.backend for one in trials if one.refused == "not here"] == ["af_xdp"]
    assert all(len(one.turns) == traffic.N_TURNS for one in trials if not one.refused)
    assert seen == [*traffic.WAYS, *working * (traffic.N_TURNS - 1)]


def test_what_is_configured_is_among_the_ways_that_are_tried() -> None:
    unusual = config("receive.backend=io_uring", "receive.gro=false")
    trials = traffic.try_all(unusual, "lo", 1.0, take=lambda *_: Turn(10, 0, 1.0, 1e-6, 1e-6))
    assert [one.way for one in trials] == [*traffic.WAYS, Way("io_uring", False)]
    assert traffic.advice(trials, traffic.configured_way(unusual)).startswith("stay with receive.backend=io_uring")


def test_a_way_to_which_nothing_came_is_not_the_one_that_lost_least() -> None:
    def take(_config: FrontEndsConfig, way: Way, _interface: str, _seconds: float) -> Turn:
        return Turn(0, 0, 1.0, 0.0, 0.0) if way.backend == "io_uring" else Turn(1000, 5, 1.0, 1e-3, 1e-4)

    trials = traffic.try_all(config(), "lo", 1.0, take=take)
    assert [one.refused for one in trials if one.way == URING] == ["no datagram came in a turn"]
    assert traffic.advice(trials, SOCKET).startswith("stay with receive.backend=socket receive.gro=true")


@pytest.mark.parametrize(
    ("settings", "n_datagrams", "field"),
    [
        (["receive.ports=[0]"], 10, "receive.ports"),
        ([], 0, "receive.ports"),
        (["receive.backend=pcap", "receive.pcap_file=x.pcap"], 10, "receive.backend"),
    ],
)
def test_without_traffic_that_can_be_awaited_it_says_what_is_wrong(
    settings: list[str], n_datagrams: int, field: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        traffic.try_all(config(*settings), "lo", 1.0, take=lambda *_: Turn(n_datagrams, 0, 1.0, 1e-6, 1e-6))
    assert raised.value.field == field


@contextmanager
def sender(port: int) -> Iterator[list[int]]:
    """Sends from a thread, and gives the list of the datagrams' lengths, which grows."""
    done = threading.Event()
    sent: list[int] = []

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            while not done.wait(0.001):
                sent.extend(end.sendto(bytes(1000), ("127.0.0.1", port)) for _ in range(20))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        done.set()
        thread.join()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        return int(end.getsockname()[1])


def test_a_turn_counts_what_came_and_what_it_took() -> None:
    port = free_port()
    with sender(port) as sent:
        turn = traffic.receive_for(config(f"receive.ports=[{port}]"), SOCKET, "lo", 0.3)
    assert turn.n_datagrams > 0
    assert turn.n_datagrams + turn.n_lost <= len(sent)  # a busy machine may lose some
    assert turn.seconds >= 0.3
    assert turn.receiver_s > 0
    assert 0 < turn.machine_s <= 1.5 * (os.cpu_count() or 1) * turn.seconds


def doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "anello", "doctor", *arguments],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.process
def test_as_a_user_types_it() -> None:
    port = free_port()
    with sender(port):
        done = doctor(str(CONFIG), "--set", f"receive.ports=[{port}]", "--traffic", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    sockets = next(one for one in report["ways"] if one["settings"] == "receive.backend=socket receive.gro=true")
    assert sockets["datagrams_per_s"] > 0
    assert report["configured"] == "receive.backend=socket receive.gro=true"
    assert report["advice"].startswith(("stay with", "take"))


@pytest.mark.process
def test_it_needs_a_configuration() -> None:
    done = doctor("--traffic", "1")
    assert done.returncode == 2
    assert "anello doctor CONFIG --traffic 1" in done.stderr
