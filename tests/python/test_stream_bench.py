# SPDX-License-Identifier: Apache-2.0
"""Results of `anello stream bench` from measurements, and the program itself where it is built."""

import json
from pathlib import Path

import pytest

from anello.errors import InputError
from anello.stream import bench
from anello.stream.bench import Case, Options


def test_sizes_are_read_as_they_are_written() -> None:
    assert bench.sizes("64,4k,16M") == [64, 4096, 16 << 20]
    assert bench.words(4096) == "4 kB"
    for wrong in ("", "k", "-1", "1G", "0"):
        with pytest.raises(InputError):
            bench.size(wrong)


def test_cases_lie_side_by_side_so_that_neighbours_are_compared() -> None:
    options = Options([], [4096, 8192], 1 << 20, [64], 1, 1 << 20, 4096, "")
    cases = list(bench.all_cases(options, ["memcpy", "ring", "pipe"]))
    assert [case.transport for case in cases[:3]] == ["memcpy", "ring", "pipe"]
    assert {case.n_bytes for case in cases[:3]} == {4096}
    assert not any(case.transport == "memcpy" for case in cases if case.kind == "latency")
    assert cases[-1].kind == "idle"


def test_a_summary_has_the_median_and_the_spread() -> None:
    case = Case("bandwidth", "ring", "block", 4096)
    taken = [{"megabytes_per_s": value, "verified_bytes": n} for value, n in ((100.0, 7), (400.0, 0), (200.0, 0))]
    (line,) = bench.summaries({case: taken})
    assert line["median"] == 200.0
    assert line["spread"] == 1.5
    assert line["verified_bytes"] == 7


def test_a_program_that_is_not_there_is_an_error_that_tells_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="builds it"):
        bench.find_program(tmp_path / "none")


@pytest.mark.process
def test_a_short_run_verifies_every_byte(tmp_path: Path) -> None:
    try:
        program = bench.find_program(None)
    except InputError as missing:
        pytest.skip(str(missing))
    options = Options(["memcpy", "ring", "pipe"], [4096], 1 << 20, [], 2, 1 << 16, 4096, "")
    bench.run(options, program, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "stream.jsonl").read_text().splitlines()]
    assert {line["verified_bytes"] for line in lines if "memcpy" not in line["case"]} == {1 << 20}
    assert "Bandwidth" in (tmp_path / "stream.html").read_text()
