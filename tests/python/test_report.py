# SPDX-License-Identifier: Apache-2.0
"""Summary and report of a synthetic run: complete, self-contained, and honest about what is missing."""

import dataclasses
import io
import json
from html.parser import HTMLParser
from pathlib import Path

import h5py
import numpy as np
import pytest
import synthetic
from rich.console import Console

from anello.account.history import Moment
from anello.report import report
from anello.report.files import with_library
from anello.report.style import FOR_THE_DARK
from anello.rich import decisions
from anello.rich.account.record import RichRecord
from anello.rich.analysis.rings import Rings
from anello.rich.report import figures
from anello.rich.report.event_sampler import EventSampler


@pytest.fixture(scope="module")
def record() -> RichRecord:
    return synthetic.record()


@pytest.fixture(scope="module")
def page(record: RichRecord, tmp_path_factory: pytest.TempPathFactory) -> str:
    written = report.write(record, tmp_path_factory.mktemp("report"), single_file=True)
    return written.read_text(encoding="utf-8")


class References(HTMLParser):
    """Everything that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {name}={value}" for name, value in attrs if name in ("src", "href", "srcset")]


def test_page_needs_nothing_else(page: str) -> None:
    references = References()
    references.feed(page)
    assert references.found == []
    assert page.count("plotly.js v") == 1


def test_page_has_its_plots_and_six_events(page: str) -> None:
    assert page.count('<div class="plot"') >= 4 + figures.N_DISPLAYS
    for title in ("Latency", "Execution time", "Quality of the rings", "Events", "Ledger", "This run"):
        assert f"<h2>{title}</h2>" in page


def test_the_plotting_library_lies_once_beside_the_reports(record: RichRecord, tmp_path: Path) -> None:
    run = record.config.run.model_copy(update={"directory": str(tmp_path)})
    one = dataclasses.replace(record, config=record.config.model_copy(update={"run": run}))
    pages = []
    for name in ("runs/a", "b"):
        (tmp_path / name).mkdir(parents=True)
        pages.append(report.write(one, tmp_path / name))
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    pages.append(report.write(one, elsewhere))
    assert sorted(tmp_path.rglob("plotly.min.js")) == [tmp_path / "plotly.min.js"]
    for written in pages:
        references = References()
        references.feed(written.read_text(encoding="utf-8"))
        (link,) = references.found
        library = written.parent / link.removeprefix("script src=")
        assert library.stat().st_size > 4_000_000
        assert written.stat().st_size < 1_000_000
    assert (elsewhere / "plotly.min.js").exists(), "a report elsewhere does not lead back here"
    whole = with_library(pages[0].read_text(encoding="utf-8"))
    assert whole.count("plotly.js v") == 1
    assert '<script src="' not in whole


class Figures(HTMLParser):
    """Alternative text, caption and JSON of each plot."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[str] = []
        self.captions: list[str] = []
        self.plots: list[str] = []
        self._into: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("class") == "plot":
            assert given["role"] == "img"
            self.labels.append(given["aria-label"] or "")
        self._into = (
            self.captions if tag == "figcaption" else self.plots if given.get("type") == "application/json" else None
        )

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)
            self._into = None


def test_each_plot_is_described_in_words_and_has_colours_for_the_dark(page: str) -> None:
    read = Figures()
    read.feed(page)
    assert len(read.labels) == len(read.plots) >= 4 + figures.N_DISPLAYS
    assert read.captions == read.labels
    assert all(len(words) > 8 for words in read.labels)
    plot = json.loads(read.plots[0])
    assert plot["layout"]["paper_bgcolor"] in FOR_THE_DARK
    assert plot["layout"]["font"]["color"] in FOR_THE_DARK
    assert {trace["line"]["color"] for trace in plot["data"]} <= set(FOR_THE_DARK)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_events_are_shown_where_all_was_found_and_where_not(record: RichRecord) -> None:
    words = [one.words for one in figures.displays(record)]
    assert len(words) == figures.N_DISPLAYS
    assert sum(one.startswith("all") and "none" not in one for one in words) >= 2
    assert sum("missed" in one for one in words) >= 2
    assert sum("that is none" in one for one in words) >= 1


def test_a_run_is_drawn_against_time(record: RichRecord) -> None:
    from anello.report.html import page

    counts = np.full(50, 1000, np.uint64)
    series = {"begin_ns": 0, "bin_ns": 10_000_000, "count": counts, "sum_ns": counts * 5000, "max_ns": counts * 9,
              "n_late": counts * 0}  # fmt: skip
    history = (
        Moment(0.5, 20_000, {"p50_ns": 5e3, "p999_ns": 9e4}, {}, {"build": 1.0}),
        Moment(1.0, 20_000, {"p50_ns": 6e3, "p999_ns": 9e5}, {"late fragments": 7}, {"build": 0.25}),
    )
    text = page(dataclasses.replace(record, latency_over_time={"sent_to_decided": series}, history=history))
    assert "50,000 events in 0.5 s, 100 kHz on average." in text
    assert "Lost by 1 s: 7 late fragments" in text
    assert "Least free: build 25 %" in text
    assert "<h2>Against time</h2>" not in page(record)


def test_summary_holds_the_results(record: RichRecord, tmp_path: Path) -> None:
    report.write(record, tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["balanced"] is True
    assert summary["rates"]["events"] == 1000
    assert summary["rates"]["beam_s"] == 4.0
    assert summary["latency"]["sent_to_decided"]["p999_ns"] > summary["latency"]["sent_to_decided"]["p50_ns"] > 0
    assert summary["quality"]["by_n_rings"]["2"]["efficiency_5mm"]["total"] > 0
    assert summary["counters"]["node"]["build"]["events_built"] == 1000
    assert summary["config"]["run.name"] == "synthetic"


def test_truth_and_found_rings_are_joined_by_key(record: RichRecord) -> None:
    assert record.truth is not None
    scores = record.scores()
    assert scores is not None
    assert scores.all_events.efficiency_5mm.value == pytest.approx(0.91, abs=0.04)
    order = np.random.default_rng(2).permutation(300)
    shuffled = dict(record.truth) | {name: record.truth[name][order] for name in ("event_key", "pool_index")}
    again = dataclasses.replace(record, truth=shuffled).scores()
    assert again is not None
    assert again.all_events == scores.all_events


def test_wrong_keys_give_no_scores(record: RichRecord) -> None:
    assert record.truth is not None
    strange = dict(record.truth) | {"event_key": record.truth["event_key"] + np.uint64(1)}
    scores = dataclasses.replace(record, truth=strange).scores()
    assert scores is None or scores.all_events.n_events == 0


def test_bare_run_still_has_a_report(record: RichRecord) -> None:
    bare = dataclasses.replace(record, latency={}, execution={}, events={}, truth=None, positions=None, source=None)
    from anello.report.html import page

    text = page(bare)
    assert "Quality" not in text
    assert '<div class="plot"' not in text, "an empty plot is left out, and its section"
    assert "<h2>Latency</h2>" not in text


def test_unbalanced_run_says_so_in_red(record: RichRecord) -> None:
    node = {block: dict(values) for block, values in record.node.items()}
    node["build"]["events_built"] += 1
    off = dataclasses.replace(record, node=node)
    output = io.StringIO()
    report.show(off, Console(file=output, width=160))
    assert "THE LEDGER DOES NOT BALANCE" in output.getvalue()
    assert "ledger: events: built:" in output.getvalue()
    from anello.report.html import page

    assert '<tr class="off">' in page(off)


def test_terminal_summary(record: RichRecord) -> None:
    output = io.StringIO()
    report.show(record, Console(file=output, width=160))
    text = output.getvalue()
    assert "1,000 events decided, 250 /s of beam" in text
    assert "all data was delivered" in text
    assert "packets not used" not in text
    assert "the ledger balances" in text
    assert "anello doctor" not in text


def test_drops_of_the_kernel_lead_to_the_doctor(record: RichRecord) -> None:
    node = {name: dict(block) for name, block in record.node.items()}
    node["receive.board1"]["kernel_dropped"] = 3
    output = io.StringIO()
    report.show(dataclasses.replace(record, node=node), Console(file=output, width=160))
    assert (
        "packets not used: 3 dropped by the kernel\nwhy the kernel drops on this host: anello doctor"
        in output.getvalue()
    )


def test_reference_rings_are_compared_once_per_pool_event(record: RichRecord) -> None:
    one = np.ones(300, np.float32)
    reference = Rings(one * -110, one * 0, one * 170, np.full(300, 9, np.uint16), np.arange(301, dtype=np.uint32))
    assert record.truth is not None
    pool = dict(record.truth) | {"pool_index": record.truth["pool_index"] % 60}
    with_reference = dataclasses.replace(record, reference=reference, truth=pool)
    agreement = with_reference.agreement()
    assert agreement is not None
    assert agreement.near.total == 60
    assert with_reference.scores() is None


def test_names_are_escaped(record: RichRecord) -> None:
    from anello.report.html import page

    assert "<b>bad" not in page(dataclasses.replace(record, states={"<b>bad": "x"}))


def test_new_directories_do_not_collide(tmp_path: Path) -> None:
    made = {report.new_directory(str(tmp_path), "run") for _ in range(3)}
    assert len(made) == 3


def test_stored_decisions_are_read_and_judged(record: RichRecord, tmp_path: Path) -> None:
    events = record.events
    offset = events["ring_offset"].astype(np.uint64)
    with h5py.File(tmp_path / "decisions.h5", "w") as file:
        file["event_key"] = events["event_key"]
        file["ring_offset"], file["n_rings"] = offset[:-1], np.diff(offset).astype(np.uint8)
        for name in decisions.RING_COLUMNS:
            file[name] = events[name]
    stored = decisions.read(tmp_path / "decisions.h5")
    assert np.array_equal(stored["ring_offset"], events["ring_offset"])
    judged = dataclasses.replace(record, events={}, decisions=stored).scores()
    assert judged is not None
    assert judged.all_events == record.scores().all_events  # type: ignore[union-attr]


class OfferingNode:
    """A node that offers the same events again and again, as a real one may."""

    def __init__(self, record: RichRecord) -> None:
        self._events = dict(record.events)

    def events(self, n: int) -> dict[str, np.ndarray]:
        return self._events

    def execution(self) -> dict[str, np.ndarray]:
        return {}


def test_keeper_keeps_each_event_once_and_not_too_many(record: RichRecord) -> None:
    keeper = EventSampler(200)
    for _ in range(3):
        keeper.look(OfferingNode(record))
    events = keeper.events()
    assert len(events["event_key"]) == 200
    assert events["event_offset"][-1] == len(events["hit_pmt"])
    assert np.array_equal(events["ring_x_mm"], record.events["ring_x_mm"][: events["ring_offset"][-1]])
