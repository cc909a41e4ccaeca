# SPDX-License-Identifier: Apache-2.0
"""The page of figures is made of what benchmarks recorded, and of nothing else."""

import json
from pathlib import Path
from typing import Any

import page
import pytest
from page import Figure, Measurement

ROOT = Path(__file__).parents[2]
LATENCY = Figure("./dev bench chain", "event to decision", "samples/us", "us", {"case": "run *"}, at_most=100.0)
RATE = Figure("./dev bench chain", "rate", "median", "M/s", {"case": "rate", "mode": 1}, times=1e-6, at_least=2.0)


def line(case: str = "run 1", **changes: Any) -> dict[str, Any]:
    return {
        "bench": "chain", "case": case, "command": "./dev bench chain", "utc": "2026-05-01T10:00:00+00:00",
        "cpu": "A CPU", "cores": 2, "kernel": "6.1", "samples": {"us": [90.0, 120.0]},
    } | changes  # fmt: skip


def rows(figure: Figure, *lines: dict[str, Any]) -> list[list[str]]:
    return [page.row(figure, one) for one in page.measured(figure, lines)]


def test_all_numbers_of_a_run_make_a_row() -> None:
    (row,) = rows(LATENCY, line(), line("run 2", samples={"us": 60}), line("other", samples={"us": 1}))
    assert row == ["event to decision", "`./dev bench chain`", "A CPU, 2 cores, Linux 6.1", "2026-05-01", "90 us",
                   "60 to 120", "3", "at most 100 us", "met"]  # fmt: skip


@pytest.mark.parametrize(
    ("figure", "median", "verdict"),
    [(LATENCY, 100.0, "met"), (LATENCY, 100.1, "missed"), (RATE, 2.0, "met"), (RATE, 1.9, "missed")],
)
def test_what_is_wanted_is_met_or_missed(figure: Figure, median: float, verdict: str) -> None:
    assert figure.verdict(median) == verdict


def test_a_single_number_has_no_spread_and_gets_its_unit() -> None:
    (row,) = rows(RATE, line("rate", median=1_234_567, mode=1), line("rate", median=9e6, mode=2))
    assert row[4:] == ["1.23 M/s", "", "1", "at least 2 M/s", "missed"]


def test_the_newest_run_of_each_machine_counts() -> None:
    old = line(samples={"us": 1.0}, utc="2026-04-30T10:00:00+00:00")
    found = rows(LATENCY, line(), old, line(samples={"us": 5.0}, kernel="6.2"))
    assert [(row[2], row[4]) for row in found] == [
        ("A CPU, 2 cores, Linux 6.1", "105 us"), ("A CPU, 2 cores, Linux 6.2", "5 us")]  # fmt: skip


def test_another_command_makes_no_row() -> None:
    assert rows(LATENCY, line(command="./dev bench chain --quick")) == []


def test_what_a_run_did_not_know_is_left_out() -> None:
    assert rows(LATENCY, line(samples=[{"us": 7.0}, {"us": None}, {}]))[0][4:7] == ["7 us", "", "1"]
    assert rows(LATENCY, line(samples=[])) == []


def test_the_page_says_which_commands_lack_a_result() -> None:
    text = page.page([LATENCY, RATE], list(page.measured(LATENCY, [line()])))
    assert text.startswith("# Measured\n")
    assert "`./dev bench --page`" in text
    assert text.count("\n| event to decision | ") == 1
    assert text.endswith("\nNo result was at hand of `./dev bench chain`.\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [('{"bench": "chain", "ca', "is no JSON ("), ("[1]", "is no JSON object"), ("", "is no JSON ("),
     (json.dumps({"command": "x", "utc": "x"}), "does not say its cpu, cores, kernel")],
)  # fmt: skip
def test_damaged_lines_are_named_and_the_others_count(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "chain.jsonl").write_text(f"{json.dumps(line())}\n{text}\n{json.dumps(line())}\n")
    lines, (damaged,) = page.read(tmp_path.glob("*.jsonl"))
    assert len(lines) == 2
    assert damaged.startswith(f"{tmp_path}/chain.jsonl:2: the line {why}")


def test_a_page_keeps_what_was_measured_before_and_elsewhere(tmp_path: Path) -> None:
    before, elsewhere, again = (Measurement(LATENCY.command, LATENCY.what, machine, utc, [value])
                                for machine, utc, value in (("one", "2026-01-01", 1.0), ("other", "2026-01-01", 2.0),
                                                            ("one", "2026-02-01", 3.0)))  # fmt: skip
    undeclared = Measurement("./dev bench gone", "a figure that went", "one", "2026-03-01", [4.0])
    kept = tmp_path / "kept.jsonl"
    kept.write_text("".join(json.dumps(vars(one)) + "\n" for one in (before, elsewhere, undeclared)))
    assert page.newest_of([RATE, LATENCY], [*page.kept(kept), again]) == [again, elsewhere]
    assert page.newest_of([LATENCY], [again, *page.kept(kept)]) == [again, elsewhere]
    assert page.kept(tmp_path / "none.jsonl") == []


def test_numbers_have_three_digits() -> None:
    assert [page.number(one) for one in (0, 0.01234, 0.5, 12.345, 1234.5)] == ["0", "0.0123", "0.5", "12.3", "1,234"]


# --- The figures that are declared ------------------------------------------------------------------------------------
def benches() -> set[str]:
    return {path.stem.removesuffix("_bench") for path in (ROOT / "bench").glob("*/*_bench.*") if path.suffix != ".hpp"}


def test_every_benchmark_has_a_figure_and_every_figure_a_benchmark() -> None:
    assert {figure.bench for figure in page.figures()} == benches()


def test_a_figure_is_declared_once_and_wants_one_thing() -> None:
    declared = page.figures()
    places = [(one.command, one.value, tuple(one.where.items())) for one in declared]
    assert len(places) == len(set(places))
    assert [one.what for one in declared if one.at_most is not None and one.at_least is not None] == []
    assert [one.what for one in declared if "|" in one.what] == []


def test_the_page_holds_nothing_but_figures() -> None:
    declared = {(one.what, f"`{one.command}`") for one in page.figures()}
    table = [text for text in (ROOT / "docs/measured.md").read_text().splitlines() if text.startswith("| ")][1:]
    assert [text for text in table if tuple(text[2:].split(" | ")[:2]) not in declared] == []
