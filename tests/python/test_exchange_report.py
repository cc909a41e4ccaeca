# SPDX-License-Identifier: Apache-2.0
"""Summary, terminal and report of made-up runs of the exchange."""

import io
import json
from dataclasses import replace
from pathlib import Path

import exchange_synthetic as synthetic
import numpy as np
import pytest
from rich.console import Console

from anello.account.leg import merged, slim
from anello.exchange.account.node_record import Sample as OneSample
from anello.exchange.account.node_record import SampleSeries
from anello.exchange.account.record import PointToPoint
from anello.exchange.report import curve, figures
from anello.exchange.report.summary import of_point_to_point, rates, share_moved
from anello.report import report, summary


def test_summary_is_json_and_says_what_was_built() -> None:
    record = synthetic.exchange_record(4, point_to_point=PointToPoint(2.0, "two idle nodes"), start="started by a test")
    found = json.loads(summary.line(record))
    assert found["balanced"] is True
    assert found["rates"]["meps"] == 4 * synthetic.N_MEPS
    gbit = 4 * 4 * synthetic.N_MEPS * synthetic.MFP_BYTES * 8e-9 / 2
    assert found["rates"]["built_gbit_per_s"] == pytest.approx(gbit)
    assert found["rates"]["moved_gbit_per_s"] == pytest.approx(0.75 * gbit)
    assert found["losses"] == found["node_losses"] == found["absent"] == {}
    assert found["complete"] == 1
    assert found["verified"] == pytest.approx(0.01)
    assert [node["rank"] for node in found["nodes"]] == [0, 1, 2, 3]
    assert found["waited_s"]["parts of packets that are being built"] == 2.0
    assert sum(found["waited_s"].values()) == 2.0
    assert found["waits"] == {"the manager for a builder's credit": 3, "the thread slept, nothing to do": 28}
    assert found["counters"]["node"]["node3.builder"]["meps_complete"] == synthetic.N_MEPS
    assert found["start"] == "started by a test"


def test_shares_of_point_to_point_and_of_other_nodes() -> None:
    record = synthetic.exchange_record(2, point_to_point=PointToPoint(2.0))
    assert of_point_to_point(record) == pytest.approx(rates(record)["built_gbit_per_s"] / 2 / 2.0)
    assert of_point_to_point(synthetic.exchange_record(2)) is None
    assert share_moved(synthetic.exchange_record(1)) == 0
    assert share_moved(synthetic.exchange_record(2)) == 0.5


def test_terminal_names_losses_and_the_dead() -> None:
    record = synthetic.exchange_record(2, absent={1: "killed by signal 9"}, rendezvous={"malformed": 3})
    record.nodes[0].counters["readout"]["mfps_lost_to_dead_builder"] = 7
    console = Console(file=io.StringIO(), width=200, record=True)
    report.show(record, console)
    text = console.export_text()
    assert "7 parts not sent, the builder was gone" in text
    assert "node 1 is gone: killed by signal 9" in text
    assert "at the rendezvous: malformed 3" in text
    assert "THE LEDGER DOES NOT BALANCE" in text


def test_report_has_all_sections_and_says_nothing_unescaped(tmp_path: Path) -> None:
    record = synthetic.exchange_record(
        3, point_to_point=PointToPoint(3.0, "<tcp>"), absent={2: "<b>killed</b>"}, start="started by a test"
    )
    page = report.write(record, tmp_path).read_text()
    assert all(
        f"<h2>{title}</h2>" in page for title in ("Bandwidth", "Latency", "Credits", "Waiting", "Nodes", "Ledger")
    )
    assert "<b>killed</b>" not in page
    assert "3 nodes on 3 hosts, ucx, push, 600 fragments of about 200 B; started by a test" in page
    assert "of point to point, each builder" in page


def test_a_run_that_built_nothing_has_a_report(tmp_path: Path) -> None:
    record = synthetic.exchange_record(1)
    empty = synthetic.together(synthetic.config(), [], n_nodes=1, absent={0: "it sent no record"})
    assert report.write(record, tmp_path, single_file=True).stat().st_size > 1_000_000
    assert '<div class="plot"' not in report.write(empty, tmp_path).read_text()


# --- Latency of several nodes -------------------------------------------------------------------------------------
def test_histograms_of_nodes_are_added_up() -> None:
    stage = slim(synthetic.latency()["ready_to_built"])
    assert stage["bins_ns"] == [100_000, 150_000, 200_000]
    late = stage | {"bins_ns": [400_000.0, 800_000.0], "bin_counts": [3000], "count": 3000, "max_ns": 700_000.0,
                    "mean_ns": 550_000.0, "above_1ms": 2}  # fmt: skip
    both = merged([stage, late])
    assert (both["count"], both["above_1ms"], both["max_ns"]) == (4000, 2, 700_000)
    assert both["mean_ns"] == pytest.approx(450_000)
    assert both["p50_ns"] == 700_000  # the upper edge of its bin is beyond the greatest value
    assert merged([stage])["p50_ns"] == 150_000
    assert sum(both["bin_counts"]) == 4000
    assert len(both["bins_ns"]) == len(both["bin_counts"]) + 1


def test_an_empty_histogram_is_none() -> None:
    empty = synthetic.latency()["ready_to_built"] | {"count": 0, "bin_counts": np.zeros(5), "max_ns": 0, "mean_ns": 0.0}
    assert merged([slim(empty)])["count"] == 0
    assert merged([])["p999_ns"] is None


def test_a_long_series_keeps_its_span_and_little_else() -> None:
    series = SampleSeries()
    for i in range(100_000):
        series.add(OneSample(float(i), i, i, 0.0))
    times = [sample.time_s for sample in series.samples()]
    assert len(times) <= 2001
    assert times[0] == 0
    assert times[-1] > 99_000
    assert len(set(np.diff(times))) == 1


# --- Against the number of nodes ----------------------------------------------------------------------------------
def test_the_curve_of_several_runs(tmp_path: Path) -> None:
    folders = [tmp_path / f"nodes-{n}" for n in (1, 2, 4)]
    for n, folder in zip((1, 2, 4), folders, strict=True):
        folder.mkdir()
        if n < 4:  # the last run failed
            report.write(synthetic.exchange_record(n, point_to_point=PointToPoint(2.0)), folder)
    drawn = curve.curve_of(folders)
    assert [row["n_nodes"] for row in drawn] == [1, 2]
    assert drawn[1]["per_node_gbit_per_s"] == pytest.approx(drawn[1]["built_gbit_per_s"] / 2)
    page = curve.write(drawn, tmp_path, "lhcb-exchange").read_text()
    assert 'href="nodes-2/report.html"' in page
    assert json.loads((tmp_path / "curve.json").read_text()) == drawn
    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(curve.table(drawn))
    assert "Against the number of nodes" in console.export_text()


def test_the_curve_against_the_size_of_messages(tmp_path: Path) -> None:
    (tmp_path / "packing-600").mkdir()
    report.write(synthetic.exchange_record(2), tmp_path / "packing-600")
    drawn = curve.curve_of([tmp_path / "packing-600"])
    assert drawn[0]["message_bytes"] == synthetic.MFP_BYTES
    page = curve.write(drawn, tmp_path, "lhcb-exchange", curve.MESSAGES).read_text()
    assert 'href="packing-600/report.html">120,000 bytes</a>' in page
    assert '"type":"log"' in page


def test_waiting_by_cause() -> None:
    drawn = figures.waiting([synthetic.node_record(0, 2)])  # half a second of two
    assert drawn is not None
    assert {bar["name"]: bar["y"] for bar in drawn.data if any(bar["y"])} == {
        "parts of packets that are being built": [25]
    }
    assert figures.waiting([]) is None


# --- Against time -------------------------------------------------------------------------------------------------
def test_credits_against_time() -> None:
    builder, other = synthetic.node_record(0, 2), replace(synthetic.node_record(1, 2), roles="ru")
    drawn = figures.credit([builder, other], 20)
    assert drawn is not None
    (line,) = drawn.data
    assert (line["name"], list(line["y"])) == ("node 0", [one.credits_free for one in builder.series])
    assert max(line["y"]) > 0
    assert figures.credit([other], 20) is None
