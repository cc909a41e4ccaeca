# SPDX-License-Identifier: Apache-2.0
"""Runs one benchmark and appends what it measured to bench/results/NAME.jsonl: `python bench/record.py NAME
[OPTION...]`; options are a system benchmark's own.

A micro benchmark (bench/micro/NAME_bench.cpp) is a Google Benchmark program, run REPETITIONS times; its line holds the
median, the spread (standard deviation / mean) and the samples of each case. A system benchmark
(bench/system/NAME_bench.py) prints one JSON object per line itself; every other line it prints is for the reader. Each
line is completed with where, when and from which commit it was measured: a number without those is no number.

page.py makes docs/measured.md of the lines.
"""

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
REPETITIONS = 5
RATES = ("bytes_per_second", "items_per_second")


def _first_line(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0].strip()


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def context() -> dict[str, Any]:
    """Machine, commit and time of a measurement."""
    return {
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _first_line("git", "rev-parse", "--short", "HEAD") or "unknown",
        "changed": bool(_first_line("git", "status", "--porcelain", "--untracked-files=no")),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
    }


def micro_results(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One line per case of a Google Benchmark report with repetitions: median time, its spread, and its rates."""
    cases: dict[str, dict[str, dict[str, Any]]] = {}
    samples: dict[str, list[dict[str, float]]] = {}
    for row in report["benchmarks"]:
        if row["run_type"] == "aggregate":
            cases.setdefault(row["run_name"], {})[row["aggregate_name"]] = row
        else:
            one = {key: row[key] for key in ("cpu_time", "real_time", *RATES) if key in row}
            samples.setdefault(row["run_name"], []).append(one)
    for name, aggregates in cases.items():
        median = aggregates["median"]
        rates: dict[str, Any] = {key: median[key] for key in RATES if key in median}
        spread = aggregates["stddev"]["cpu_time"] / aggregates["mean"]["cpu_time"]
        yield {"case": name, "cpu_time": median["cpu_time"], "unit": median["time_unit"], "spread": spread, **rates,
               "samples": samples.get(name, [])}  # fmt: skip


def _run_micro(name: str) -> Iterator[dict[str, Any]]:
    program = ROOT / f"build/release/bench/{name}_bench"
    options = [f"--benchmark_repetitions={REPETITIONS}"]
    done = subprocess.run(
        [program, "--benchmark_format=json", *options], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    yield from micro_results(json.loads(done.stdout))


def _run_system(name: str, options: Sequence[str]) -> Iterator[dict[str, Any]]:
    command = [sys.executable, str(ROOT / f"bench/system/{name}_bench.py"), *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "bench")}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for line in program.stdout:
            if line.startswith("{"):
                yield json.loads(line)
            else:
                print(line, end="", flush=True)
    if program.returncode != 0:
        raise SystemExit(f"{name}: exit {program.returncode}")


def _words(result: dict[str, Any]) -> str:
    numbers = {key: f"{value:.4g}" if isinstance(value, float) else str(value) for key, value in result.items()}
    return "  ".join(f"{key}={value}" for key, value in numbers.items())


def main() -> int:
    name, *options = sys.argv[1:]
    is_micro = (ROOT / f"bench/micro/{name}_bench.cpp").exists()
    results = _run_micro(name) if is_micro else _run_system(name, options)
    target = ROOT / f"bench/results/{name}.jsonl"
    target.parent.mkdir(exist_ok=True)
    where = {"command": shlex.join(["./dev", "bench", *sys.argv[1:]]), **context()}
    with target.open("a") as lines:
        for result in results:
            print(f"{name}: {_words(result)}", flush=True)
            lines.write(json.dumps({"bench": name, **result, **where}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
