# SPDX-License-Identifier: Apache-2.0
"""A node that is stopped again and again, each time for longer than its time-out, while its front ends send: what they
sent meanwhile lies unread, and nobody was silent."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from stalls import front_ends_stood_still, machine_stood_still
from test_run import start
from test_run_front_ends import child_of, end_of, wait_for_events

from anello.counters.pages import look_at

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = pytest.mark.process

N_STOPS = 5


@dataclass(frozen=True)
class Chain:
    config: str
    settings: tuple[str, ...]
    n_in_timeout: int  # events that the front ends make in twice the time-out
    sent: Callable[[dict[str, dict[str, int]]], int]  # of them, by the front ends' counters
    blamed: dict[str, str]  # counters that must stay 0, and the beginning of their blocks' names


RICH = Chain(
    "detectors/rich/na62-rich.toml",
    (
        "source.burst_ms=100000",
        "source.rate_hz=5000",
        "source.simulation.n_pool_events=500",
        "receive.events_per_buffer=32",
        "build.timeout_ms=250",
    ),
    2500,
    lambda counters: counters["source"]["events"],
    {"events_incomplete": "build", "fragments_late": "build", "boards_silenced": "build"},
)
CAMERA = Chain(
    "detectors/camera/cta-camera.toml",
    (
        "run.n_events=100000000",
        "camera_source.rate_hz=50",
        "camera_source.pool_events=4",
        "camera_build.timeout_ms=250",
    ),
    25,
    lambda counters: counters["source"]["events"],
    {"events_incomplete": "join", "parts_late": "join", "fragments_late": "build", "boards_silenced": "build"},
)
CASES = {
    "rich": (RICH, ()),
    "rich-threads": (RICH, ('threads.layout=["receive", "build", "trigger+emit", "store"]',)),
    "camera": (CAMERA, ()),
    "camera-threads": (CAMERA, ('threads.layout=["receive", "build", "filter+send"]',)),
}  # fmt: skip


def wait_for_more(node: subprocess.Popen[str], count: Callable[[], int], n_more: int) -> None:
    n_before, until_s = count(), time.monotonic() + 60
    while count() < n_before + n_more:
        assert time.monotonic() < until_s, f"the front ends have made {count() - n_before} of {n_more} within a minute"
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"the node has ended with {node.wait(timeout=0.005)}")


def stop_again_and_again(node: subprocess.Popen[str], chain: Chain) -> None:
    front_ends = look_at(f"anello.source.{child_of(node)}")

    def made() -> int:
        return chain.sent(front_ends.counters())

    for _ in range(N_STOPS):
        node.send_signal(signal.SIGSTOP)
        wait_for_more(node, made, chain.n_in_timeout)
        node.send_signal(signal.SIGCONT)
        wait_for_more(node, made, chain.n_in_timeout)


@pytest.mark.parametrize(
    "case",
    ["rich", *(pytest.param(one, marks=pytest.mark.long) for one in ("rich-threads", "camera", "camera-threads"))],
)
def test_a_stopped_node_calls_nobody_silent(tmp_path: Path, case: str) -> None:
    chain, settings = CASES[case]
    given = [
        part
        for one in (*chain.settings, "run.display=plain", "run.refresh_ms=50", *settings)
        for part in ("--set", one)
    ]
    node = start("run", chain.config, *given, "--report-dir", str(tmp_path))
    try:
        wait_for_events(node)
        stop_again_and_again(node, chain)
        node.send_signal(signal.SIGINT)
        _, summary = end_of(node, tmp_path)
    finally:
        node.kill()
    if front_ends_stood_still(summary):
        machine_stood_still("the front ends were held up, too")
    counters = summary["counters"]["node"]
    blamed = {
        f"{block}.{name}": values[name]
        for name, blocks in chain.blamed.items()
        for block, values in counters.items()
        if block.startswith(blocks) and values.get(name)
    }
    assert blamed == {}
    assert summary["rates"]["events"] > N_STOPS * chain.n_in_timeout
