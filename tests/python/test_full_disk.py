# SPDX-License-Identifier: Apache-2.0
"""A disk that is full and has room again, while a node decides: a file system of its own in memory."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_run import start
from test_run_front_ends import wait_for_events

from anello.configuration import origin
from anello.counters.pages import look_at
from anello.rich import decisions
from anello.system.exit_codes import LOST

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = pytest.mark.process

SETTINGS = ("source.burst_ms=100000", "source.rate_hz=20000", "source.simulation.n_pool_events=500",
            "store.decisions=decisions.h5", "store.prescale_log2=0", "run.display=plain",
            "run.refresh_ms=50")  # fmt: skip


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """32 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a file system: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as other:
        try:
            while other.write(bytes(4096)):
                pass
        except OSError:
            pass


def eventually(holds: Callable[[], bool], node: subprocess.Popen[str]) -> None:
    until_s = time.monotonic() + 60
    while not holds():
        assert node.poll() is None, "the node has ended"
        assert time.monotonic() < until_s, "not within a minute"


@pytest.mark.long
def test_a_node_decides_on_and_stores_again_when_there_is_room(tmp_path: Path, disk: Path) -> None:
    given = [part for one in (*SETTINGS, f"run.directory={tmp_path}") for part in ("--set", one)]
    node = start("run", "detectors/rich/na62-rich.toml", *given, "--report-dir", str(disk / "run"))
    try:
        wait_for_events(node)
        page = look_at(origin.node_page(node.pid))

        def store(counter: str) -> int:
            return page.counters()["store"][counter]

        eventually(lambda: store("events_stored") > 0, node)
        fill(disk / "other")
        eventually(lambda: store("refusing") == 1 and store("events_lost") > 0, node)
        decided = page.counters()["trigger"]["events"]
        eventually(lambda: page.counters()["trigger"]["events"] > decided + 20_000, node)
        (disk / "other").unlink()
        stored = store("events_stored")
        eventually(lambda: store("refusing") == 0 and store("events_stored") > stored, node)
        os.kill(node.pid, signal.SIGINT)
        output, errors = node.communicate(timeout=60)
    finally:
        node.kill()
    assert node.returncode == LOST, output + errors
    summary = json.loads((disk / "run" / "summary.json").read_text())
    assert summary["balanced"] is True
    assert "No space left on device" in "".join(map(str, summary["notices"]))
    counted = summary["counters"]["node"]["store"]
    assert counted["events_seen"] == counted["events_stored"] + counted["events_lost"] > 0
    assert len(decisions.read(disk / "run" / "decisions.h5")["event_key"]) == counted["events_stored"]
