# SPDX-License-Identifier: Apache-2.0
"""Content of the counter page of a running node, chain by chain, and the output of `anello counters`."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from test_run_front_ends import ENDLESS, child_of, endless, wait_for_events

from anello.camera.report import last_event as camera_event
from anello.counters import pages
from anello.counters.pages import Page
from anello.rich.report import last_event as rich_event

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = pytest.mark.process

RICH, CAMERA = ENDLESS
CHAINS = {RICH: "rich", CAMERA: "camera"}
LEGS = {RICH: "sent_to_decided", CAMERA: "first_to_decided"}


@contextmanager
def running(config: str, directory: Path) -> Iterator[subprocess.Popen[str]]:
    node = endless("run", config, directory)
    try:
        wait_for_events(node)
        yield node
    finally:
        node.send_signal(signal.SIGCONT)
        node.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            node.communicate(timeout=60)
        node.kill()


def page_of(node: subprocess.Popen[str]) -> Page:
    return pages.look_at(f"anello.node.{node.pid}")


def eventually(condition: Callable[[], bool]) -> bool:
    until_s = time.monotonic() + 30
    while time.monotonic() < until_s:
        if condition():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(scope="module", params=ENDLESS)
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Page]]:
    with running(request.param, tmp_path_factory.mktemp("run")) as process:
        front_ends = pages.look_at(f"anello.source.{child_of(process)}").header
        assert (front_ends.runs, front_ends.state, front_ends.chain) == (True, "running", CHAINS[request.param])
        page = page_of(process)
        for_run = (page.header.run_number, page.header.run_name, page.header.config_digest)
        assert (front_ends.run_number, front_ends.run_name, front_ends.config_digest) == for_run
        yield request.param, page


def test_it_says_what_runs(node: tuple[str, Page]) -> None:
    config, page = node
    header = page.header
    assert (header.runs, header.state, header.chain) == (True, "running", CHAINS[config])
    assert header.run_number > 0
    assert header.run_name
    assert header.config_digest
    assert header.started_ns < header.heartbeat_ns
    assert eventually(lambda: pages.look_at(page.name).header.heartbeat_ns > header.heartbeat_ns)


def test_it_knows_the_latency_of_the_last_seconds(node: tuple[str, Page]) -> None:
    config, page = node
    leg = LEGS[config]
    assert eventually(lambda: page.latency()[leg]["run"]["count"] > 0)
    windows = page.latency()[leg]
    assert windows["run"]["count"] >= windows["10s"]["count"] >= windows["1s"]["count"]
    assert windows["10s"]["count"] > 0
    for window in windows.values():
        assert window["bin_counts"].sum() == window["count"]
        assert len(window["bins_ns"]) == len(window["bin_counts"]) + 1
        assert window["p50_ns"] <= window["p999_ns"] <= window["max_ns"] or window["count"] == 0


def test_it_knows_threads_and_buffers(node: tuple[str, Page]) -> None:
    _, page = node
    threads = page.threads()
    assert threads
    assert all(thread.runs for thread in threads)
    assert all(0 <= thread.busy <= 1 for thread in threads)
    assert any(thread.longest_ns > 0 for thread in threads)
    assert page.buffers()
    assert all(0 <= buffers.n_free <= buffers.n_buffers for buffers in page.buffers())


def test_it_has_the_last_event(node: tuple[str, Page]) -> None:
    config, page = node
    assert eventually(lambda: page.event() is not None)
    event = page.event()
    assert event is not None
    assert 0 < event.wall_ns < time.time_ns()
    if config == RICH:
        assert event.kind == rich_event.KIND
        found = rich_event.decode(event.payload)
        assert (found.hit_pmt < 1952).all()
        assert np.isin(found.rings["n_hits"], range(3, 129)).all()
    else:
        assert event.kind == camera_event.KIND
        image = camera_event.decode(event.payload)
        assert image.kept_by != "nothing"
        assert len(image.charge) == 265 * 7


def counters(*arguments: str) -> str:
    command = [sys.executable, "-m", "anello", "counters", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_command_prints_meaning_and_unit(node: tuple[str, Page]) -> None:
    config, page = node
    text = counters(page.name)
    assert f"{CHAINS[config]}, running, process {page.process}" in text
    assert " bytes  " in text
    assert "UDP payload" in text
    assert f"latency.{LEGS[config]} run: " in text
    assert "longest step" in text
    assert " free\n" in text


def test_the_command_watches_in_lines_of_json(node: tuple[str, Page]) -> None:
    _, page = node
    command = [sys.executable, "-m", "anello", "counters", page.name, "--json", "--watch", "--every", "0.1",
               "--only", "receive.*"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        first, second = (json.loads(watching.stdout.readline()) for _ in range(2))
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=30) == 0
    cells = [{(cell["block"], cell["name"]): cell for cell in look["pages"][0]["cells"]} for look in (first, second)]
    assert all(block.startswith("receive.") for block, _ in cells[1])
    seconds = (second["time_ns"] - first["time_ns"]) * 1e-9
    for name, cell in cells[1].items():
        if cell["kind"] == "counter":
            assert cell["rate_hz"] == pytest.approx((cell["value"] - cells[0][name]["value"]) / seconds)
    assert any(cell["unit"] == "bytes" and cell["meaning"] for cell in cells[1].values())


def all_threads_are_stopped(pid: int) -> bool:
    """Linux stops each thread when it next runs, so a thread that waits for a core may run a moment longer."""
    stats = [thread.read_text() for thread in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def test_the_heartbeat_stands_still_while_the_process_is_stopped(tmp_path: Path) -> None:
    with running(RICH, tmp_path) as node:
        node.send_signal(signal.SIGSTOP)
        assert eventually(lambda: all_threads_are_stopped(node.pid))
        before = page_of(node).header
        assert before.runs
        assert eventually(lambda: page_of(node).header.age_s() > 0.5)
        assert page_of(node).header.heartbeat_ns == pytest.approx(before.heartbeat_ns, abs=1e6)
        node.send_signal(signal.SIGCONT)
        assert eventually(lambda: page_of(node).header.heartbeat_ns > before.heartbeat_ns + 1e6)
