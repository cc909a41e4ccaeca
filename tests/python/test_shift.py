# SPDX-License-Identifier: Apache-2.0
"""A shift, as docs/tutorial/06-a-shift.md tells it: with a real control room, real runs and a real browser.

ANELLO_PICTURES=docs/tutorial/pictures makes the tutorial's pictures while it goes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import of_others
import pytest

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.control.access.tokens import Role
from anello.control.client import Client, page_of
from anello.control.states import State
from anello.counters import pages

sync_api = of_others.package("playwright.sync_api")
ROOT = Path(__file__).parents[2]
RICH = ROOT / "detectors/rich/na62-rich.toml"
QUIET = ["source.rate_hz=20000", "source.gap_ms=0", "run.duration_s=0", "run.n_report_events=2000"]
BROKEN = ["source.faults.dead_board=2", "source.faults.dead_from_burst=2"]
PATIENCE_S = 120.0

pytestmark = [pytest.mark.long, pytest.mark.process, pytest.mark.timeout(600)]


class Shift:
    """A control room, and a browser at its page."""

    def __init__(self, runs: Path, page: Any) -> None:
        self.runs, self.page, self.client = runs, page, Client(runs)

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not come, the page has: {self.page.inner_text('body')}"
            self.page.wait_for_timeout(100)

    def click(self, label: str) -> None:
        self.page.get_by_role("button", name=label, exact=True).first.click(timeout=PATIENCE_S * 1e3)

    def see(self, words: str) -> None:
        self.wait(words, lambda: words in self.page.inner_text("body"))

    def is_in(self, state: State) -> None:
        word = state.value.capitalize()
        self.wait(word, lambda: self.page.inner_text("#state") == word)

    def take_picture(self, name: str) -> None:
        """Into the folder ANELLO_PICTURES, such as the tutorial's, if it is set."""
        if folder := os.environ.get("ANELLO_PICTURES"):
            self.page.evaluate("scrollTo(0, 0)")
            self.page.screenshot(path=Path(folder) / f"{name}.png")

    def go(self, path: str) -> None:
        self.page.evaluate(
            "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path
        )


@pytest.fixture
def shift(tmp_path: Path) -> Iterator[Shift]:
    settings = [part for one in QUIET for part in ("--set", one)]
    command = [sys.executable, "-m", "anello", "control", str(RICH), *settings, "--in", str(tmp_path), "--no-doctor"]
    with (
        subprocess.Popen([*command, "--bind", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as control,
        sync_api.sync_playwright() as playwright,
    ):
        assert control.stdout is not None
        assert "anello ctl page" in control.stdout.readline()  # which says where; the token is not for pipes
        address = page_of(tmp_path, Role.OPERATOR)
        browser = playwright.chromium.launch(executable_path=of_others.program("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 960})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: dialog.accept("anna"))
        page.goto(address)
        try:
            yield Shift(tmp_path, page)
        finally:
            browser.close()
            control.terminate()
            control.wait(60)
            with Catalogue(of_runs_in(tmp_path)) as catalogue:
                for row in catalogue.runs.find():
                    if row["ended_ns"] is None:
                        os.kill(row["process"], 9)
        home = address.partition("/#")[0]
        assert [url for url in asked if not url.startswith((home, "data:", "blob:"))] == [], (
            "nothing is fetched elsewhere"
        )


def samples(shift: Shift) -> list[tuple[int, float]]:
    """Samples of the history: time, and rate since the sample before."""
    with Catalogue(of_runs_in(shift.runs)) as catalogue:
        return catalogue.history.get("decided_hz", 0, time.time_ns(), 1e-6)


def counted(shift: Shift, page: pages.Page) -> tuple[int, int]:
    """The newest sample's place, and the node's own counter at that moment."""
    n_before = len(samples(shift))
    while len(seen := samples(shift)) == n_before:
        shift.page.wait_for_timeout(20)
    return len(seen), page.counters()["trigger"]["events"]


def see_the_rate(shift: Shift) -> None:
    """The rate that the page shows is what the node counts."""
    page = pages.look_at(shift.client.status()["node_page"])
    (first, before), *_, (last, after) = [counted(shift, page) for _ in range(6)]
    seen = samples(shift)[first - 1 : last]
    times = [t_ns * 1e-9 for t_ns, _ in seen]
    integral = sum(rate * (end - begin) for begin, end, (_, rate) in zip(times[:-1], times[1:], seen[1:], strict=True))
    assert integral == pytest.approx(after - before, rel=0.05)


def test_a_shift(shift: Shift) -> None:
    yesterday(shift)
    today(shift)
    compared(shift)


def yesterday(shift: Shift) -> None:
    """A run without a fault, started, looked at, stopped and marked on the page."""
    shift.is_in(State.CONFIGURED)
    shift.click("Arm")
    shift.is_in(State.READY)
    shift.click("Start")
    shift.is_in(State.RUNNING)
    # A busy machine may let some events pass without a look, which is no fault of the page.
    shift.wait("good", lambda: shift.page.inner_text("#live-ledger .word") in {"good", "degraded"})
    see_the_rate(shift)
    shift.take_picture("shift-live")
    shift.click("Stop")
    shift.is_in(State.CONFIGURED)
    shift.go("/runs/1")
    shift.see("What the shift thinks")
    shift.page.select_option("#mark", "good")
    shift.page.fill("#comment", "the reference")
    shift.click("Mark")
    shift.see("Run 1 is marked good")
    with Catalogue(of_runs_in(shift.runs)) as catalogue:
        row = catalogue.runs.get(1)
        assert (row["state"], row["balanced"], row["quality"], row["comment"]) == (
            "ended",
            True,
            "good",
            "the reference",
        )


def today(shift: Shift) -> None:
    """A board falls silent: an alarm, seen by somebody who writes it into the log."""
    shift.client.order("configure", {"file": str(RICH), "settings": [*QUIET, *BROKEN]})
    shift.go("/")
    shift.click("Arm")
    shift.is_in(State.READY)
    shift.click("Start")
    shift.is_in(State.RUNNING)
    shift.see("silent_boards > 0")
    shift.see("1 silent")
    shift.take_picture("shift-alarm")
    shift.go("/alarms")
    shift.page.get_by_role("button", name="Acknowledge the alarm silent_boards > 0").click()
    shift.see("seen by anna")
    shift.go("/log")
    shift.page.fill("#entry", "Board 2 is silent since the second burst. <b>Called</b> the expert.")
    shift.click("Write")
    shift.see("<b>Called</b> the expert.")
    shift.take_picture("shift-log")
    shift.click("Stop")
    shift.is_in(State.CONFIGURED)
    with Catalogue(of_runs_in(shift.runs)) as catalogue:
        assert catalogue.runs.get(2)["state"] == "ended"
        alarm = next(row for row in catalogue.alarms.newest() if row["rule"] == "silent_boards > 0")
        assert (alarm["run"], alarm["acked_by"]) == (2, "anna")
        assert catalogue.log.newest()[0]["author"] == "anna"


def compared(shift: Shift) -> None:
    shift.go("/compare?runs=1,2")
    shift.see("source.faults.dead_board")
    shift.take_picture("shift-compare")
