# SPDX-License-Identifier: Apache-2.0
"""The page in the distribution's Chromium: what it shows, what can be clicked, who it talks to, and whether everybody
can use it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import of_others
import pytest
from fake_control import RICH, FakeMemory, FakeOperator, FakePages
from fake_farm import FakeFarm, FarmPages

from anello.control.access.tokens import Tokens
from anello.control.run_sampler import RunSampler
from anello.control.states import State
from anello.control.web.app import create_app
from anello.control.web.serve import WebServer

of_others.package("playwright.sync_api")
of_others.package("axe_playwright_python.sync_playwright")
from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.process]
TOKENS = Tokens("v" * 32, "o" * 32)
HOSTILE = "<img src=x onerror=\"document.body.dataset.hacked='1'\"><script>document.body.dataset.hacked='1'</script>"
PAGES = ("/", "/runs", "/runs/41", "/compare?runs=41,40", "/config", "/alarms", "/log", "/nodes")
PATIENCE_MS = 60_000


class Steady(FakePages):
    """Pages whose clock moves half a second for each sample, however long it took."""

    def clock(self) -> int:
        self.advance(0.5)
        return self.now_ns


class SteadyFarm(Steady, FarmPages):
    """The same for a farm."""


class Scene:
    """A control room that is served, and its parts."""

    def __init__(self, operator: FakeOperator, directory: Path, pages: FakePages) -> None:
        self.operator, self.memory, self.pages = operator, FakeMemory(directory), pages
        sight = RunSampler(self.operator.status, copy=self.pages.copy, clock=self.pages.clock)
        self.server = WebServer(create_app(self.operator, self.memory, sight, TOKENS), port=0)

    def address(self, path: str = "/", token: str = TOKENS.operator) -> str:
        return f"{self.server.origin}{path}#token={token}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = of_others.program("chromium", "chromium-browser")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(params=[State.RUNNING])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(FakeOperator(request.param), tmp_path, Steady())
    made.server.start()
    yield made
    made.server.stop()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1400, "height": 900})
    opened.set_default_timeout(PATIENCE_MS)
    opened.add_init_script("localStorage.setItem('anello-author', 'Anna')")
    yield opened
    opened.close()


def opened(context: BrowserContext, address: str) -> tuple[Page, list[str]]:
    """The page, and the list of its JavaScript errors."""
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(address)
    return page, wrong


def test_the_run_is_seen_and_nothing_leaves_the_machine(context: BrowserContext, scene: Scene) -> None:
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page, wrong = opened(context, scene.address())
    expect(page.locator("#state")).to_have_text("Running", timeout=PATIENCE_MS)
    expect(page.locator("#live-ledger .word")).to_have_text("good", timeout=PATIENCE_MS)
    expect(page.locator("#live-tiles")).to_contain_text("100 kHz", timeout=PATIENCE_MS)
    expect(page.locator("#live-tiles")).to_contain_text("913 µs")
    expect(page.locator("#live-latency svg.ruler")).to_have_attribute("aria-label", "Latency of the last 10 seconds on "
                                                                      "a logarithmic scale: p50 180 µs, p99.9 913 µs; "
                                                                      "the limit is 1 ms")  # fmt: skip
    expect(page.locator(".stage b")).to_have_text(["receive", "build", "trigger", "store"])
    expect(page.locator("#live-chain .level").first).to_have_attribute("aria-label", "buffers of receive are 25 % full")
    expect(page.locator(".js-plotly-plot")).to_have_count(3, timeout=PATIENCE_MS)
    assert not wrong
    assert asked
    assert {url.split("/")[2] for url in asked if not url.startswith(("data:", "blob:"))} == {scene.server.origin[7:]}
    assert "token" not in page.url
    assert not [url for url in asked if TOKENS.operator in url]


def test_a_farm_shows_its_nodes_and_which_is_gone(context: BrowserContext, tmp_path: Path) -> None:
    farm = FakeFarm()
    scene = Scene(farm, tmp_path, SteadyFarm())
    scene.server.start()
    try:
        page, wrong = opened(context, scene.address())
        expect(page.locator("#live-ledger .word")).to_have_text("good", timeout=PATIENCE_MS)
        expect(page.locator("#live-tiles")).to_contain_text("540 kHz", timeout=PATIENCE_MS)
        expect(page.locator(".stage b")).to_have_text(["generator", "readout", "builder"])
        expect(page.locator("#live-boards .card b")).to_have_text(["Node 0", "Node 1", "Node 2"])
        farm.gone.add(2)
        expect(page.locator("#live-boards .card.silent")).to_contain_text("gone", timeout=PATIENCE_MS)
        page.get_by_role("link", name="Nodes").click()
        rows = page.get_by_role("region", name="Farm").get_by_role("row")
        expect(rows).to_have_count(4)
        expect(rows.nth(2)).to_contain_text("rack1")
        expect(rows.nth(2)).to_contain_text("300 /s", timeout=PATIENCE_MS)
        expect(rows.nth(3)).to_contain_text("gone: killed by signal 9")
        assert not Axe().run(page).response["violations"]
        assert not wrong
    finally:
        scene.server.stop()


def test_a_loss_is_seen_where_it_happens(context: BrowserContext, scene: Scene) -> None:
    page, _ = opened(context, scene.address())
    expect(page.locator("#live-chain .ok")).to_have_count(4, timeout=PATIENCE_MS)
    scene.pages.n_lost = 17
    expect(page.locator(".stage.losing .lost").first).to_have_text("17 lost: 17 dropped, no free buffer")
    expect(page.locator("#live-ledger .word")).to_have_text("lost")
    expect(page.locator("#live-ledger .why")).to_contain_text("lost: 17 packets dropped, no free buffer")


def test_a_silent_board_is_the_first_thing_that_is_seen(context: BrowserContext, scene: Scene) -> None:
    page, _ = opened(context, scene.address())
    expect(page.locator("#live-ledger .word")).to_have_text("good", timeout=PATIENCE_MS)
    scene.pages.silent = {2}
    expect(page.locator("#live-ledger .word")).to_have_text("incomplete", timeout=PATIENCE_MS)
    expect(page.locator("#live-ledger .why")).to_contain_text("1 boards are silent (board 2): look at its power")


def test_who_may_only_look_sees_no_buttons_that_order(context: BrowserContext, scene: Scene) -> None:
    page, wrong = opened(context, scene.address(token=TOKENS.viewer))
    expect(page.locator("#state")).to_have_text("Running", timeout=PATIENCE_MS)
    for name in ("Live", "Alarms", "Log", "Configuration"):
        page.get_by_role("link", name=name).first.click()
        expect(page.get_by_role("heading", name=name).or_(page.locator("#live-ledger")).first).to_be_visible()
        assert page.locator(".operates").count() > 0
        assert not any(one.is_visible() for one in page.locator(".operates").all())
    assert not wrong


@pytest.mark.parametrize("scene", [State.OFFLINE], indirect=True)
def test_a_run_is_configured_started_stopped_and_marked_by_clicks(context: BrowserContext, scene: Scene) -> None:
    page, wrong = opened(context, scene.address("/config"))
    expect(page.locator("#state")).to_have_text("Offline", timeout=PATIENCE_MS)
    page.get_by_label("File on the control room's machine").fill(str(RICH))
    page.get_by_role("button", name="Read", exact=True).click()
    page.get_by_role("button", name="Configure", exact=True).click()
    expect(page.locator("#state")).to_have_text("Configured", timeout=PATIENCE_MS)
    for order, state in (("Arm", "Ready"), ("Start", "Running")):
        page.get_by_role("button", name=order, exact=True).click()
        expect(page.locator("#state")).to_have_text(state, timeout=PATIENCE_MS)
    page.get_by_role("button", name="Abort", exact=True).click()
    page.get_by_role("button", name="Leave it").click()
    assert scene.operator.state is State.RUNNING
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#state")).to_have_text("Configured", timeout=PATIENCE_MS)
    assert [str(order) for order in scene.operator.orders] == ["configure", "arm", "start", "stop", "end"]
    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_role("link", name="41", exact=True).click()
    heading = page.get_by_role("heading", name="Run 41")  # the list of runs has a choice called Quality, too
    expect(heading).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_label("Quality").select_option("good")
    page.get_by_label("Comment").fill("all well")
    page.get_by_role("button", name="Mark", exact=True).click()
    expect(page.locator("h1 .tag.good")).to_have_text("good", timeout=PATIENCE_MS)
    assert (scene.memory.rows[0]["quality"], scene.memory.rows[0]["comment"]) == ("good", "all well")
    assert not wrong


def test_what_is_wrong_with_a_configuration_is_reported_at_its_field(context: BrowserContext, scene: Scene) -> None:
    page, _ = opened(context, scene.address("/config"))
    page.get_by_text("receive", exact=False).locator("xpath=ancestor-or-self::summary").first.click()
    field = page.locator("#key-receive-n_buffers")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    field.fill("-1")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="receive.n_buffers")).to_contain_text("(given: -1)")
    expect(field).to_have_attribute("aria-invalid", "true")


def test_an_alarm_is_acknowledged_and_a_line_written(context: BrowserContext, scene: Scene) -> None:
    page, _ = opened(context, scene.address("/alarms"))
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.locator("main .tag")).to_have_text("seen", timeout=PATIENCE_MS)
    page.get_by_role("link", name="Log", exact=True).click()
    page.get_by_label("New entry").fill("beam is back")
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_text("beam is back")).to_be_visible()
    assert scene.memory.entries[0]["author"] == "Anna"


def test_what_others_wrote_is_text_and_nothing_else(context: BrowserContext, scene: Scene) -> None:
    for row in (*scene.memory.rows, *scene.memory.raised):
        row |= {key: HOSTILE for key in ("name", "rule", "text", "comment", "verdict", "operator") if key in row}
    scene.memory.write(HOSTILE, HOSTILE[:90], 41)
    for path in PAGES:
        page, _ = opened(context, scene.address(path))
        page.wait_for_selector("main h1", state="attached")
        expect(page.locator("main .soft", has_text="Loading")).to_have_count(0)
        assert page.evaluate("document.body.dataset.hacked") is None, path
        assert page.locator("main img").count() == 0, path
        page.close()


def test_without_a_token_it_asks_for_one(context: BrowserContext, scene: Scene) -> None:
    page, _ = opened(context, f"{scene.server.origin}/")
    page.get_by_label("Token").fill(TOKENS.viewer)
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#state")).to_have_text("Running", timeout=PATIENCE_MS)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_everybody_can_use_it(browser: Browser, scene: Scene, width: int, theme: Any) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    for path in PAGES:
        page, wrong = opened(context, scene.address(path))
        page.wait_for_selector("main h1", state="attached")
        if path == "/":
            page.wait_for_selector(".stage")
        found = Axe().run(page).response["violations"]
        assert not [(one["id"], one["help"], [node["html"] for node in one["nodes"]][:3]) for one in found], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert not wrong, path
        page.close()
    context.close()


def test_what_is_typed_stays_while_the_page_is_drawn_anew(context: BrowserContext, scene: Scene) -> None:
    page, wrong = opened(context, scene.address("/runs/41"))
    page.get_by_label("Quality").select_option("bad")
    page.get_by_label("Comment").fill("board 2 was off")
    scene.memory.write("somebody else's line", "Berta", 41)
    drawn = page.get_by_label("Comment").element_handle()
    page.wait_for_function("(field) => !field.isConnected", arg=drawn, timeout=PATIENCE_MS)
    expect(page.get_by_label("Comment")).to_have_value("board 2 was off")
    expect(page.get_by_label("Comment")).to_be_focused()
    expect(page.get_by_label("Quality")).to_have_value("bad")
    assert not wrong
