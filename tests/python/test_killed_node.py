# SPDX-License-Identifier: Apache-2.0
"""A node killed at a random moment leaves files that open with plain h5py.File(path), but for the last second."""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import pytest
import seeds
from test_run import start

from anello.camera import events as camera_events
from anello.configuration import origin
from anello.counters.pages import look_at
from anello.errors import ConfigError
from anello.rich import decisions
from anello.system import run_directory

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = pytest.mark.process

KILLS = int(os.environ.get("ANELLO_KILLS", "20"))  # more, for who wants to be surer
Counters = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Chain:
    config: str
    settings: tuple[str, ...]
    file: str
    rate_hz: int  # events, or messages
    came: Callable[[Counters], int]  # of them, those that the store had seen
    stored: Callable[[Path], int]  # of them, those that a reader finds
    has_attributes: bool = True


def whole_messages(path: Path) -> int:
    """Each begins with its length; a killed writer may have cut the last one short."""
    content, at, n_messages = path.read_bytes(), 0, 0
    while len(content) - at >= 4:
        at += int.from_bytes(content[at : at + 4], "little")
        n_messages += at <= len(content)
    return n_messages


CHAINS = {
    "rich": Chain(
        "detectors/rich/na62-rich.toml",
        ("source.burst_ms=100000", "source.rate_hz=5000", "source.simulation.n_pool_events=500",
         "receive.events_per_buffer=32",
         "store.decisions=decisions.h5", "store.prescale_log2=0"),
        "decisions.h5", 5000, lambda counters: counters["store"]["events_seen"],
        lambda path: len(decisions.read(path)["event_key"]),
    ),
    "camera": Chain(
        "detectors/camera/cta-camera.toml",
        ("run.n_events=100000000", "camera_source.rate_hz=50", "camera_source.pool_events=4",
         "camera_send.file=events.h5"),
        "events.h5", 50, lambda counters: counters["camera_store"]["events_seen"],
        lambda path: sum(1 for _ in camera_events.read(path)),
    ),
    "camera records": Chain(
        "detectors/camera/cta-camera.toml",
        ("run.n_events=100000000", "camera_source.rate_hz=50", "camera_source.pool_events=4",
         "camera_send.file=events.h5", "camera_send.file_format=records"),
        "events.h5", 50, lambda counters: counters["camera_store"]["events_seen"],
        lambda path: sum(1 for _ in camera_events.read(path)),
    ),
    "km3net": Chain(
        "detectors/km3net/km3net.toml",
        ("run.duration_s=1000", "store.messages=messages.dat"),
        "messages.dat", 100, lambda counters: counters["store"]["written"], whole_messages, has_attributes=False,
    ),
}  # fmt: skip


class Watch:
    """Numbers that the store has seen, and when. A store that the machine holds up saves nothing and sees nothing."""

    def __init__(self, chain: Chain, page: str) -> None:
        self._chain, self._page = chain, page
        self._looked_s = time.monotonic()
        self._seen_by: list[tuple[float, int]] = []  # at the latest then
        self._last_step_s = 0.0  # of the store, at the earliest then

    def look(self) -> int:
        before_s = time.monotonic()
        n_seen = self._so_far()
        if n_seen > (self._seen_by[-1][1] if self._seen_by else 0):
            self._last_step_s = self._looked_s
            self._seen_by.append((time.monotonic(), n_seen))
        self._looked_s = before_s
        return n_seen

    def to_be_saved(self) -> int:
        """The number that it had seen a second before its last step."""
        return max((n for by_s, n in self._seen_by if by_s <= self._last_step_s - 1), default=0)

    def _so_far(self) -> int:
        """0 before the node has a page."""
        try:
            return self._chain.came(look_at(self._page).counters())
        except (ConfigError, OSError, KeyError):
            return 0


def kills() -> Iterator[Any]:
    """The first is run by default."""
    for n in range(KILLS):
        chain = ("rich", "camera records", "camera", "km3net", "rich")[n % 5]
        yield pytest.param(chain, n, id=f"{chain}-{n}", marks=[pytest.mark.long] if n > 0 else [])


@pytest.mark.parametrize(("chain", "n"), kills())
def test_a_killed_node_leaves_all_but_the_last_second(tmp_path: Path, chain: str, n: int) -> None:
    case = CHAINS[chain]
    n_events = random.Random(f"{seeds.seed()} {n}").randrange(case.rate_hz, 2 * case.rate_hz)
    settings = (*case.settings, f"run.directory={tmp_path}", "run.display=off")
    given = [part for setting in settings for part in ("--set", setting)]
    node = start("run", case.config, *given, "--report-dir", str(tmp_path / "run"))
    page_name = origin.node_page(node.pid)
    watch = Watch(case, page_name)
    try:
        while watch.look() < n_events or watch.to_be_saved() == 0:
            assert node.poll() is None, node.communicate()
    finally:
        node.kill()
        node.communicate()
    page = look_at(page_name)
    came, path = case.came(page.counters()), tmp_path / "run" / case.file
    page.remove()
    assert watch.to_be_saved() <= case.stored(path) <= came
    if not case.has_attributes:
        values = json.loads(run_directory.beside(path).read_text())
        assert (values["file"], values["run_number"], values["chain"]) == (path.name, 1, chain)
        assert "chain = " in values["configuration"]
        assert {"run_name", "host", "started", "version", "config_digest"} <= values.keys()
        return
    with h5py.File(path) as file:
        assert file.attrs["run_number"] == 1
        assert file.attrs["run_name"]
        assert b"chain = " in file.attrs["configuration"]
        assert {"host", "started", "version", "config_digest"} <= set(file.attrs)
