# SPDX-License-Identifier: Apache-2.0
"""Latency against time and the machine's hiccups in the same bins: which late events they explain."""

import io
from typing import Any

import numpy as np
import pytest
import synthetic
from rich.console import Console

from anello.account.over_time import LONGEST_TELLING_NS, MachineActivity, Series
from anello.report import report, summary
from anello.report.html import page

MS = 1_000_000
BIN_NS = 10 * MS


def series(greatest_ms: dict[int, float], *, n_late: dict[int, int] | None = None, begin: int = 100, n_bins: int = 20,
           bin_ns: int = BIN_NS) -> dict[str, Any]:  # fmt: skip
    """begin: number of the first bin. Late: one event of each bin above 1 ms, where n_late says nothing else."""
    max_ns = np.full(n_bins, 50_000, np.uint64)
    late = np.zeros(n_bins, np.uint64)
    for index, value_ms in greatest_ms.items():
        max_ns[index] = int(value_ms * MS)
        late[index] = (n_late or {}).get(index, value_ms > 1)
    count = np.full(n_bins, 1000, np.uint64)
    return {"begin_ns": begin * bin_ns, "bin_ns": bin_ns, "count": count, "sum_ns": count * np.uint64(20_000),
            "max_ns": max_ns, "n_late": late}  # fmt: skip


def core(
    greatest_ms: dict[int, float], *, p999_ms: float = 0.2, on_the_way: bool = True, **more: Any
) -> dict[str, Any]:
    delays = synthetic.stage(np.full(100, 5000.0)) | {"p999_ns": p999_ms * MS}
    return {"delays": delays, "over_time": series(greatest_ms, **more), "is_on_the_way": on_the_way,
            "is_realtime": True}  # fmt: skip


def machine(latency: dict[str, Any], *cores: dict[str, Any], one_host: bool = True) -> MachineActivity:
    return MachineActivity.of("leg", {"leg": latency}, dict(enumerate(cores)), one_host)


def explained(latency: dict[str, Any], *cores: dict[str, Any], one_host: bool = True) -> int | None:
    together = machine(latency, *cores, one_host=one_host).together
    assert together is not None
    return together.n_explained


@pytest.mark.parametrize(
    ("hiccup", "n"),
    [
        ({5: 1.0}, 3),  # half as long as the greatest, in the same bin
        ({4: 1.0}, 3),  # or in the one before
        ({5: 0.99}, 0),  # not half as long
        ({3: 5.0}, 0),  # too early
        ({6: 5.0}, 0),  # afterwards
    ],
)
def test_a_hiccup_explains_what_is_at_most_twice_as_long_in_its_bin_and_the_next(
    hiccup: dict[int, float], n: int
) -> None:
    assert explained(series({5: 2.0}, n_late={5: 3}), core(hiccup)) == n


def test_the_greatest_latency_of_a_bin_speaks_for_all_of_it() -> None:
    """200 events of 1.1 ms and one of 9 ms: the hiccup of 2 ms is not taken for the cause of any."""
    assert explained(series({5: 9.0}, n_late={5: 201}), core({5: 2.0})) == 0


def test_bins_are_matched_by_the_clock() -> None:
    late = series({5: 2.0}, begin=100)
    assert explained(late, core({2: 2.0}, begin=103)) == 1
    assert explained(late, core({5: 2.0}, begin=103)) == 0
    assert explained(late, core({0: 2.0}, begin=104)) == 1
    assert explained(late, core({5: 2.0}, begin=500)) == 0


def test_bins_of_different_length_are_brought_to_the_longer() -> None:
    late = series({4: 2.0, 5: 1.5})  # bins 104 and 105 of 10 ms are bin 52 of 20 ms
    assert explained(late, core({2: 1.0}, begin=50, bin_ns=2 * BIN_NS)) == 2
    assert explained(late, core({2: 0.9}, begin=50, bin_ns=2 * BIN_NS)) == 0


def test_nothing_is_counted_twice_when_bins_are_merged() -> None:
    fine = Series.of(series({5: 2.0, 7: 3.0}, begin=101))
    longer = fine.over(100 * BIN_NS, 4 * BIN_NS, 6)
    assert longer.count.sum() == fine.count.sum()
    assert longer.sum_ns.sum() == fine.sum_ns.sum()
    assert longer.n_late.tolist() == [0, 1, 1, 0, 0, 0]
    assert longer.max_ns.max() == 3 * MS


def test_bins_that_are_long_do_not_tell() -> None:
    bin_ns = 8 * BIN_NS
    assert bin_ns > LONGEST_TELLING_NS
    late = machine(series({5: 2.0}, bin_ns=bin_ns), core({5: 2.0}, bin_ns=bin_ns))
    assert late.together is not None
    assert late.together.n_explained is None
    assert "too long to tell" in late.line


def test_front_ends_elsewhere_make_only_the_chains_own_cores_count() -> None:
    cores = core({}, p999_ms=0.1), core({5: 2.0}, p999_ms=0.7, on_the_way=False)
    assert explained(series({5: 2.0}), *cores, one_host=True) == 1
    assert explained(series({5: 2.0}), *cores, one_host=False) == 0
    assert machine(series({}), *cores, one_host=True).floor_ns == 0.7 * MS
    assert machine(series({}), *cores, one_host=False).floor_ns == 0.1 * MS


def test_the_line_for_people() -> None:
    late = machine(series({5: 2.0, 9: 4.0}, n_late={5: 37, 9: 3}), core({5: 1.5}, p999_ms=0.214))
    assert late.line == "machine's own floor p99.9 0.21 ms; 37 of 40 events above 1 ms in its hiccups"
    assert machine(series({}), core({})).line == "machine's own floor p99.9 0.20 ms; no event above 1 ms"
    assert machine(series({5: 2.0})).line == ""


def test_a_record_tells_it_in_summary_terminal_and_report() -> None:
    engine = {"latency_over_time": {"sent_to_decided": series({5: 2.0})}, "hiccups": {1: core({5: 1.5})}}
    record = synthetic.record(**engine)
    of_machine = summary.summary(record)["machine"]
    assert of_machine["late"] == {"leg": "sent_to_decided", "n": 1, "explained": 1, "bin_ns": BIN_NS}
    assert of_machine["cores"]["1"]["realtime"] is True
    output = io.StringIO()
    report.show(record, Console(file=output, width=160))
    assert "1 of 1 events above 1 ms in its hiccups" in output.getvalue()
    assert "<h2>Latency against time</h2>" in page(record)
    assert "the machine" in page(record)


def test_a_machine_that_was_not_watched_is_not_spoken_of() -> None:
    record = synthetic.record(latency_over_time={"sent_to_decided": series({5: 2.0})})
    assert summary.summary(record)["machine"] is None
    text = page(record)
    assert "<h2>Latency against time</h2>" in text
    assert "machine" not in text.partition("<h2>Latency against time</h2>")[2].partition("<script")[0]
