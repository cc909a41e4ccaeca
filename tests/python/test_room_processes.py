# SPDX-License-Identifier: Apache-2.0
"""The control room with real runs."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.control.operator import NotDoneError
from anello.control.run_controller import RunController
from anello.control.states import State

pytestmark = pytest.mark.process

RICH = Path(__file__).parents[2] / "detectors/rich/na62-rich.toml"
SMALL = ["source.rate_hz=20000", "run.duration_s=0", "run.n_report_events=0", "run.refresh_ms=50"]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[RunController]:
    room = RunController(tmp_path)
    yield room
    room.close()
    last = RunController(tmp_path)
    if last.status().state in (State.READY, State.RUNNING, State.DRAINING):
        last.abort()
    last.close()


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_in(room: RunController, state: State) -> Callable[[], bool]:
    return lambda: room.status().state is state


def process_of(room: RunController) -> int:
    return int(room.status().node_page.rpartition(".")[2])


def test_a_run_continues_while_its_room_changes(room: RunController, tmp_path: Path) -> None:
    room.configure(RICH, SMALL)
    room.arm()
    assert room.status().state is State.READY
    assert (tmp_path / Path(room.status().directory).name / "orders.sock").exists()
    room.start()
    before = room.status()
    assert before.run == 1
    room.close()
    again = RunController(tmp_path)
    status = again.status()
    assert (status.state, status.run, status.directory, status.node_page, status.source_page, status.settings) == (
        State.RUNNING, before.run, before.directory, before.node_page, before.source_page, tuple(SMALL)
    )  # fmt: skip
    assert Path("/dev/shm", status.node_page).exists()
    assert Path("/dev/shm", status.source_page).exists()
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        row = catalogue.runs.get(1)
        assert (row["state"], row["config"], row["directory"]) == ("running", status.config_digest, status.directory)
        again.stop()
        wait(is_in(again, State.CONFIGURED))
        assert catalogue.runs.get(1)["state"] == "ended"
    summary = json.loads((Path(status.directory) / "summary.json").read_text())
    assert summary["balanced"]
    assert summary["counters"]["node"]["trigger"]["events"] > 0
    again.close()


def test_a_run_whose_process_is_killed_is_an_error_that_says_so(room: RunController, tmp_path: Path) -> None:
    room.configure(RICH, SMALL)
    room.arm()
    room.start()
    os.kill(process_of(room), signal.SIGKILL)
    wait(is_in(room, State.ERROR))
    assert "was killed by signal 9" in room.status().cause
    assert room.status().node_page == ""
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        assert catalogue.runs.get(1)["state"] == "crashed"
    room.reset()
    assert room.status().state is State.OFFLINE


def test_a_run_that_cannot_bind_its_ports_says_why(room: RunController, tmp_path: Path) -> None:
    room.configure(RICH, [*SMALL, "receive.host=192.0.2.1"])
    with pytest.raises(NotDoneError, match="did not become ready"):
        room.arm()
    status = room.status()
    assert status.state is State.ERROR
    assert "192.0.2.1" in status.cause
    assert not list(tmp_path.glob("*/orders.sock"))


def test_a_run_that_is_aborted_is_over_at_once(room: RunController, tmp_path: Path) -> None:
    room.configure(RICH, SMALL)
    room.arm()
    room.abort()
    assert room.status().state is State.CONFIGURED
    with Catalogue(of_runs_in(tmp_path)) as catalogue:
        assert catalogue.runs.get(1)["state"] == "aborted"
    room.arm()
    room.start()
    process = process_of(room)
    room.abort()
    assert room.status().state is State.CONFIGURED
    assert not Path(f"/proc/{process}").exists()
