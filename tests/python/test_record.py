# SPDX-License-Identifier: Apache-2.0
"""A benchmark's results are recorded with their spread, and with the machine that they were measured on."""

import pytest
import record


def row(aggregate: str, cpu_time: float) -> dict[str, object]:
    return {
        "run_type": "aggregate", "run_name": "parse/1472", "aggregate_name": aggregate, "cpu_time": cpu_time,
        "time_unit": "ns", "bytes_per_second": 2e9,
    }  # fmt: skip


def test_one_line_per_case_with_median_and_spread() -> None:
    report = {"benchmarks": [row("mean", 200.0), row("median", 190.0), row("stddev", 10.0)]}
    once = {"run_type": "iteration", "run_name": "parse/1472"}
    report["benchmarks"] += [once | {"cpu_time": 210.0}, once | {"cpu_time": 190.0}]
    (line,) = record.micro_results(report)
    assert line == {
        "case": "parse/1472", "cpu_time": 190.0, "unit": "ns", "spread": pytest.approx(0.05), "bytes_per_second": 2e9,
        "samples": [{"cpu_time": 210.0}, {"cpu_time": 190.0}],
    }  # fmt: skip


def test_single_runs_are_not_results() -> None:
    assert list(record.micro_results({"benchmarks": [{"run_type": "iteration", "run_name": "parse/1472"}]})) == []


def test_context_names_machine_and_commit() -> None:
    assert {"utc", "commit", "changed", "cpu", "cores", "kernel"} == set(record.context())
