# SPDX-License-Identifier: Apache-2.0
"""No more digits than bins of 3 % have, no quantile for too few events, and the same numbers at each place."""

import dataclasses
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from rich.console import Console

from anello.account.leg import honest, merged, slim
from anello.account.quantiles import QUANTILES, can_tell, microseconds, rounded
from anello.report import report, summary
from anello.report.html import page
from anello.search.bisection import Outcome, Rules
from anello.search.trial import Trial


@pytest.mark.parametrize(("share", "least"), [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000), (0.9999, 100_000)])
def test_a_quantile_takes_ten_events_beyond_it(share: float, least: int) -> None:
    assert can_tell(least, share)
    assert not can_tell(least - 1, share)


@pytest.mark.parametrize(
    ("value", "said"),
    [(444_596.2, "445,000"), (1114.1, "1,110"), (999.6, "1,000"), (96.3, "96.3"), (8.1, "8.10"), (0.0512, "0.0512"),
     (0.0, "0"), (100.0, "100"), (None, "-")],
)  # fmt: skip
def test_three_digits_are_said_and_no_more(value: float | None, said: str) -> None:
    assert rounded(value) == said
    assert microseconds(None if value is None else value * 1e3) == said


def of(count: int) -> dict[str, Any]:
    return honest(synthetic.stage(1e5 * np.random.default_rng(3).random(count)))


def test_fifty_events_tell_their_median_alone() -> None:
    known = {name for name in QUANTILES if of(50)[name] is not None}
    assert known == {"p50_ns"}
    assert {name for name in QUANTILES if of(9)[name] is not None} == set()
    assert of(50)["max_ns"] > 0


def test_summary_terminal_and_report_leave_out_the_same(tmp_path: Path) -> None:
    one = dataclasses.replace(synthetic.record(30), latency={"sent_to_decided": of(50)})
    leg = summary.summary(one)["latency"]["sent_to_decided"]
    assert (leg["p99_ns"], leg["p9999_ns"]) == (None, None)
    assert "NaN" not in summary.line(one)
    assert json.loads(summary.line(one))["latency"]["sent_to_decided"]["p999_ns"] is None
    output = io.StringIO()
    report.show(one, Console(file=output, width=200))
    row = next(line for line in output.getvalue().splitlines() if line.startswith("sent → decided"))
    assert row.split()[3:] == [microseconds(leg["p50_ns"]), "-", "-", "-", microseconds(leg["max_ns"]), "0"]
    cells = page(one).split("<tr><td>sent → decided</td>")[1].split("</tr>")[0]
    assert cells.count(">-<") == 4
    assert f">{microseconds(leg['p50_ns'])}<" in cells


def test_nodes_of_a_farm_are_counted_together() -> None:
    parts = [slim(synthetic.stage(1e5 * np.random.default_rng(3).random(60))) for _ in range(2)]
    together = merged(parts)
    assert together["p90_ns"] is not None, "120 events, 12 beyond"
    assert together["p99_ns"] is None


def trial(**latency_us: float) -> Trial:
    known = {name.replace("_", "."): value for name, value in latency_us.items()}
    return Trial(1000.0, 2.0, n_events=2000, latency_us=known)


def test_a_search_holds_the_latest_event_against_the_deadline_where_no_quantile_is_known() -> None:
    rules = Rules(deadline_us=1000.0)
    assert rules.judge(trial(p50=10.0, p99_9=900.0, max=5000.0)) is Outcome.PASSES
    assert rules.judge(trial(p50=10.0, max=900.0)) is Outcome.PASSES
    assert rules.judge(trial(p50=10.0, max=1100.0)) is Outcome.DEADLINE
    assert rules.lateness(trial()) == ("max", math.inf)
