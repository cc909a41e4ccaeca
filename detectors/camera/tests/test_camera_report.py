# SPDX-License-Identifier: Apache-2.0
"""Display, summary and report of a run of the camera that never was."""

import dataclasses
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import camera_synthetic as synthetic
import numpy as np
import pytest
from rich.console import Console

from anello.account.verdict import as_it_stands
from anello.camera.account.losses import flaws_by_now
from anello.camera.account.record import N_IMAGES_OF_A_KIND, CameraKeeper, CameraRecord
from anello.camera.report import figures as camera_figures
from anello.camera.report.progress import CameraMeter
from anello.registry import presentation_of
from anello.report import report
from anello.report.html import page
from anello.run import display


@pytest.fixture(scope="module")
def record() -> CameraRecord:
    return synthetic.record()


def shown(record: CameraRecord) -> str:
    output = io.StringIO()
    report.show(record, Console(file=output, width=160))
    return output.getvalue()


# --- What is kept in passing --------------------------------------------------------------------------------------
def test_keeper_keeps_each_event_once(record: CameraRecord) -> None:
    assert sorted(record.events.number) == list(range(synthetic.N_EVENTS))
    assert record.events.kept.sum() == synthetic.N_EVENTS // synthetic.KEPT_EVERY


def test_keeper_keeps_no_more_than_asked_for() -> None:
    keeper, node = CameraKeeper(50), synthetic.FakeNode()
    while not node.finished():
        keeper.look(node)
    assert len(keeper.events().number) == 50


def test_images_are_the_brightest_kept_and_some_rejected(record: CameraRecord) -> None:
    kept = [image for image in record.events.images if image.kept]
    assert len(kept) == N_IMAGES_OF_A_KIND == len(record.events.images) - len(kept)
    assert kept[0].charge_sum == pytest.approx(record.events.charge[record.events.kept].max())


def test_an_event_that_the_source_sends_again_is_pictured_once() -> None:
    charge = np.full(35, 100, np.float32)
    offered = [{"event_number": n, "charge": charge, "charge_sum": 3500.0, "kept": True} for n in range(5)]
    node = SimpleNamespace(notices=lambda: [], events=lambda: offered)
    keeper = CameraKeeper(100)
    keeper.look(node)
    assert len(keeper.events().images) == 1
    assert len(keeper.events().number) == 5


# --- While it runs ------------------------------------------------------------------------------------------------
def items(counters: Any, states: dict[str, str] | None = None) -> dict[str, display.Item]:
    lost = as_it_stands(flaws_by_now(counters, None, synthetic.record().config), balanced=True).lost
    progress = CameraMeter(n_events=400).look(synthetic.FakeNode(counters, states), counters, lost)
    return {item.label: item for item in progress.items}


def test_progress_says_what_counts() -> None:
    shown = items(synthetic.node_counters())
    assert shown["built"].value.startswith("300 of 400, now ")
    assert shown["built"].value.endswith("100 % complete")
    assert shown["kept"].value.startswith("25 %, out ")
    assert shown["lost"] == ("lost", "nothing", False)
    assert not {"silent", "slow"} & shown.keys()


def test_progress_names_boards_and_causes() -> None:
    counters = synthetic.node_counters()
    counters["build.board3"]["state"] = 1
    counters["build.board2"]["lost"] = 12
    counters["build.group0"]["fragments_late"] = 5
    counters["join"]["events_incomplete"] = 1
    shown = items(counters, {"board1": "slow", "board3": "slow", "receive": "sockets"})
    assert shown["silent"] == ("silent", "board 3", True)
    assert shown["slow"] == ("slow", "board 1", True)
    assert shown["lost"] == ("lost", "12 fragments never came, 5 fragments late, 1 events incomplete", True)
    assert shown["built"].bad


def test_progress_of_a_node_that_has_just_begun() -> None:
    shown = items({})
    assert shown["built"].value.endswith("- complete")
    assert shown["kept"].value.startswith("-, out 0.000")


def test_both_displays_show_it() -> None:
    progress = CameraMeter(0).look(synthetic.FakeNode(), synthetic.FakeNode().counters())
    for kind in ("live", "plain"):
        output = io.StringIO()
        with display.make(kind, Console(file=output, width=160, force_terminal=kind == "live")) as live:
            live.show(progress)
        assert "built" in output.getvalue()


# --- When it is over ----------------------------------------------------------------------------------------------
def test_summary_holds_the_results(record: CameraRecord, tmp_path: Path) -> None:
    report.write(record, tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["balanced"] is True
    assert summary["rates"]["events"] == 300
    assert summary["rates"]["seconds"] == pytest.approx(1.0)  # 300 events at 300 Hz
    assert summary["rates"]["payload_gbit_per_s"] == pytest.approx(300 * 5 * 1744 * 8e-9, rel=0.01)
    assert (summary["complete"], summary["kept"]) == (1.0, 0.25)
    assert (summary["losses"], summary["node_losses"]) == ({}, {})
    assert summary["filter"]["showers"]["value"] == 1.0
    assert summary["filter"]["noise"]["n"] == 0
    assert summary["compression"]["ratio"] == pytest.approx(4.0, rel=1e-3)
    assert summary["boards"] == {"silent": [], "slow": [], "out_of_step": []}
    assert summary["latency"]["first_to_sent"]["count"] > 0
    assert summary["config"]["chain"] == "camera"
    assert len(summary["ledger"]["boards"]) == 4 * synthetic.N_BOARDS


def test_summary_names_losses_and_boards(record: CameraRecord) -> None:
    node = synthetic.node_counters()
    node["build.board2"] |= {"lost": 7, "state": 1}
    node["receive.group1.verdict"]["wrong_checksum"] = 2
    node["join"]["events_incomplete"] = 7
    result = presentation_of(dataclasses.replace(record, node=node)).results()
    assert result["losses"] == {"malformed: wrong_checksum": 2, "never came": 7}
    assert result["node_losses"] == {"events incomplete": 7}
    assert result["boards"]["silent"] == [2]


def test_boards_out_of_step_are_named(record: CameraRecord) -> None:
    presentation = presentation_of(dataclasses.replace(record, states={"board2": "out of step", "board1": "live"}))
    assert presentation.results()["boards"] == {"silent": [], "slow": [], "out_of_step": [2]}
    assert "out of step boards: 2" in shown(dataclasses.replace(record, states={"board2": "out of step"}))


def test_terminal_summary(record: CameraRecord) -> None:
    text = shown(record)
    assert "300 events built, 300 /s" in text
    assert "100 % complete, 25 % kept" in text
    assert "all data was delivered" in text
    assert "fragments not used" not in text
    assert "compressed 4.00 times" in text
    assert "first fragment → sent" in text
    assert "the ledger balances" in text


def test_unbalanced_run_says_so(record: CameraRecord) -> None:
    node = synthetic.node_counters()
    node["build.board2"]["placed"] += 1
    off = dataclasses.replace(record, node=node)
    assert "THE LEDGER DOES NOT BALANCE" in shown(off)
    assert "board 2: on their way" in shown(off)
    assert '<tr class="off">' in page(off)


def test_kernel_drops_lead_to_the_doctor(record: CameraRecord) -> None:
    node = synthetic.node_counters()
    node["receive.port0"]["kernel_dropped"] = 3
    assert "why the kernel drops on this host: anello doctor" in shown(dataclasses.replace(record, node=node))


def test_page_has_its_plots(record: CameraRecord) -> None:
    text = page(record)
    n_figures = 3 + 2 * N_IMAGES_OF_A_KIND  # no board is missing from an event: that is said, not drawn
    assert text.count('<div class="plot"') == n_figures
    assert "No board was missing from any event." in text
    for title in ("Latency", "Completeness", "Filter", "Events", "Ledger", "This run"):
        assert f"<h2>{title}</h2>" in text
    assert "Every board" in text


def test_bare_run_still_has_a_report(record: CameraRecord) -> None:
    bare = dataclasses.replace(
        record, node={}, source=None, latency={}, truth=None, positions=None, events=CameraKeeper(0).events()
    )
    assert '<div class="plot"' not in page(bare)
    assert "events built" in shown(bare)


def test_an_image_needs_a_place_for_each_pixel(record: CameraRecord) -> None:
    with pytest.raises(ValueError, match=r"positions \(3, 2\) must have the shape \(35, 2\)"):
        camera_figures.image(record.events.images[0], np.zeros((3, 2), np.float32))
