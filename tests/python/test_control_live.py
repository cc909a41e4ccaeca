# SPDX-License-Identifier: Apache-2.0
"""Real runs, looked at while they run: what each chain's own view makes of its counters."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anello.control.operator import Status
from anello.control.run_sampler import RunSample, RunSampler
from anello.control.states import State
from anello.control.web import messages

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0
SLOW = {  # for a machine that does something else, too
    "rich/na62-rich.toml": ("source.rate_hz=5000", "source.burst_ms=200", "receive.events_per_buffer=32"),
    "camera/cta-camera.toml": ("camera_source.rate_hz=100",),
    "km3net/km3net.toml": (),
}


class Watched:
    """A run, and samples of its counters."""

    def __init__(self, config: Path, settings: tuple[str, ...], directory: Path) -> None:
        extra = [part for setting in (*settings, "run.duration_s=60", "run.display=off") for part in ("--set", setting)]
        arguments = [sys.executable, "-m", "anello", "run", str(config), *extra, "--report-dir", str(directory)]
        self._log = (directory.parent / "log").open("w")
        self.process = subprocess.Popen(arguments, stdout=self._log, stderr=subprocess.STDOUT, cwd=ROOT)
        self._config, self._settings = config, settings
        self.sight = RunSampler(self.status)

    def status(self) -> Status:
        source = [path.name for path in Path("/dev/shm").glob("anello.source.*") if self._is_child(path)]
        return Status(State.RUNNING, 0, config_file=str(self._config), settings=self._settings, run=1,
                      node_page=f"anello.node.{self.process.pid}", source_page=source[0] if source else "")  # fmt: skip

    def _is_child(self, page: Path) -> bool:
        try:
            words = Path(f"/proc/{page.suffix[1:]}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return False
        return int(words[1]) == self.process.pid

    def until(self, holds: Any) -> RunSample:
        end = time.monotonic() + PATIENCE_S
        while not holds(look := self.sight.look()):
            assert self.process.poll() is None, (Path(self._log.name)).read_text()
            assert time.monotonic() < end, look
            time.sleep(0.1)
        return look

    def close(self) -> None:
        self.process.terminate()  # SIGINT is ignored in what a shell has begun in the background
        self.process.wait(PATIENCE_S)
        self._log.close()


@pytest.fixture(params=sorted(SLOW))
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    run = Watched(ROOT / "detectors" / request.param, SLOW[request.param], tmp_path / "run")
    yield run
    run.close()


def test_a_run_is_seen_whole(watched: Watched) -> None:
    watched.until(lambda look: look.flow and look.flow.decided and look.source)
    look = watched.until(
        lambda look: look.rates and look.rates["built_hz"] > 0 and look.whole_way and look.node.buffers
    )
    tick: dict[str, Any] = messages.tick(look)
    live = tick["live"]
    json.dumps(tick, allow_nan=False)
    assert live["ledger"]["rows"] > 5
    assert not live["ledger"]["off"], live["ledger"]["shown"]
    assert live["stages"][0]["name"] == "receive"
    assert all(stage["came"] for stage in live["stages"][:2])
    assert any(stage["occupancy"] is not None for stage in live["stages"])
    assert sum(live["latency"]["histogram"]["share"]) == pytest.approx(1, abs=1e-3)
    assert len(live["boards"]["number"]) > 1
    assert sum(live["found"]["counts"]) > 0
    assert live["threads"]
    shown = watched.until(lambda look: look.node and look.node.event)
    drawing = shown.view.drawing(shown.node.event)
    assert drawing is not None
    json.dumps(drawing, allow_nan=False)


def test_an_event_that_makes_no_sense_is_not_drawn(watched: Watched) -> None:
    from anello.counters.pages import Event

    view = watched.until(lambda look: look.view).view
    kind = view.drawing.__func__.__globals__["last_event"].KIND
    with pytest.raises(ValueError, match="bytes"):
        view.drawing(Event(kind, 0, b"x"))
    assert view.drawing(Event("another", 0, b"x")) is None
