# SPDX-License-Identifier: Apache-2.0
"""Reports in a browser: they load nothing from outside, fit a phone's width, and are readable in light and dark."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import camera_synthetic
import exchange_synthetic
import numpy as np
import of_others
import pytest
import synthetic

from anello.account.history import Moment
from anello.account.record import Record
from anello.report import report

sync_api = of_others.package("playwright.sync_api")
axe = of_others.package("axe_playwright_python.sync_playwright")
pytestmark = [pytest.mark.long, pytest.mark.process]

PHONE, WIDE = 390, 1400
PATIENCE_MS = 120_000  # a busy machine takes long to draw


def rich_record() -> Record:
    """A run with all parts that a report can have."""
    counts = np.full(80, 1000, np.uint64)
    series = {"begin_ns": 0, "bin_ns": 10_000_000, "count": counts, "sum_ns": counts * 5000, "max_ns": counts * 9,
              "n_late": counts * 0}  # fmt: skip
    lost = {"late fragments": 7}
    history = tuple(Moment(t, 9000, {"p50_ns": 5e4, "p99_ns": 9e5}, lost, {"build": 0.5}) for t in (0.5, 1.0, 1.5))
    return synthetic.record(300, latency_over_time={"sent_to_decided": series}, history=history)


RECORDS = {
    "rich": rich_record,
    "camera": camera_synthetic.record,
    "exchange": lambda: exchange_synthetic.exchange_record(3),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = of_others.program("chromium", "chromium-browser")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module", params=RECORDS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(RECORDS[request.param](), tmp_path_factory.mktemp(request.param))


def opened(browser: Any, page_file: Path, width: int, scheme: str) -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(PATIENCE_MS)
    page.asked, page.wrong = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.goto(page_file.as_uri())
    page.wait_for_function("[...document.querySelectorAll('.plot')].every((one) => one.querySelector('.main-svg'))")
    return page


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (WIDE, "light")])
def test_it_fits_the_screen_asks_nobody_and_is_for_everybody(
    browser: Any, written: Path, width: int, scheme: str
) -> None:
    page = opened(browser, written, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.asked == [written.as_uri(), (written.parent / "plotly.min.js").as_uri()]
    assert page.wrong == []
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor").removeprefix("rgb(").split(",")[0]
    assert (int(ground) > 200) == (scheme == "light")
    paper = page.evaluate("document.querySelector('.plot .main-svg').style.background")
    assert ("255" in paper or "white" in paper) == (scheme == "light"), paper
    found = axe.Axe().run(page).response["violations"]
    grave = [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")]
    assert grave == []
    page.close()


def test_paper_is_light_whatever_the_screen(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, report.write(rich_record(), tmp_path), WIDE, "dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 41, 51)"
    paper = page.evaluate("document.querySelector('.plot .main-svg').style.background")
    assert "255" in paper or "white" in paper
    page.close()


def test_a_page_without_its_library_says_so_and_keeps_its_words(browser: Any, tmp_path: Path) -> None:
    written = report.write(dataclasses.replace(rich_record(), events={}), tmp_path)
    (tmp_path / "plotly.min.js").unlink()
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(written.as_uri())
    assert "plotly.min.js is not where this page expects it" in page.inner_text(".plot")
    assert "within" in page.inner_text("figcaption")
    page.close()
