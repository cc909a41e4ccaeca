# SPDX-License-Identifier: Apache-2.0
"""Memory of front ends and node during a run of `anello run`: it must not grow.

    python bench/record.py memory [--seconds 60] [--warm-up 10] [--set KEY=VALUE]

Resident memory of both processes every 0.5 s; after the warm-up, greatest minus least. What the run keeps for its
report on purpose (events for displays, true rings) is switched off. Writes bench/results/memory.html.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import page

from anello.system.exit_codes import LOST

ROOT = Path(__file__).parents[2]
PAGE_BYTES = 4096
KEPT_FOR_REPORT_OFF = ("run.n_report_events=0", "source.max_truth_samples=0", "run.display=off")
Sample = tuple[float, float]  # seconds since the start, resident MiB


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory of front ends and node during a run.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=10.0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--quick", action="store_true", help="10 s, of which 5 s warm-up")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.warm_up = 10.0, 5.0
    series = watch(options)
    figure = page.lines([page.Series(name, *zip(*samples, strict=True)) for name, samples in series.items()],
                        x="seconds", y="resident memory, MiB", log_x=False)  # fmt: skip
    about = "Resident memory of both processes of one run, read from outside every 0.5 s."
    print(f"plot: {page.write(page.RESULTS / 'memory.html', 'Memory during a run', about, [('', '', figure)])}")
    for name, samples in series.items():
        result = judge(samples, options.warm_up)
        print(f"{name}: {result['median']:.1f} MiB, within {result['range_mib']:.2f} MiB after {options.warm_up:g} s, "
              f"trend {result['trend_kib_per_s']:+.2f} KiB/s over {result['n_samples']} samples")  # fmt: skip
        print(json.dumps({"case": name, "seconds": options.seconds, "settings": options.set, **result}), flush=True)


def watch(options: argparse.Namespace) -> dict[str, list[Sample]]:
    """Runs the demo's configuration and reads the memory of the processes it consists of."""
    with tempfile.TemporaryDirectory() as folder:
        settings = [f"run.duration_s={options.seconds}", *KEPT_FOR_REPORT_OFF, *options.set]
        command = [sys.executable, "-m", "anello", "run", "detectors/rich/na62-rich.toml", "--report-dir", folder]
        command += [part for setting in settings for part in ("--set", setting)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
            series = sample_while_sending(run.pid, options.seconds)
            output, _ = run.communicate()
        if run.returncode not in (0, LOST):  # what was lost takes no memory
            raise SystemExit(f"anello run: exit {run.returncode}\n{output}")
        return series


def sample_while_sending(leader: int, seconds: float) -> dict[str, list[Sample]]:
    """Until the front ends have ended or the time is over: what follows is the report."""
    series: dict[str, list[Sample]] = {"node": [], "front ends": []}
    child = None
    while child is None:
        child = child_of(leader)
        time.sleep(0.1)
    began_s = time.monotonic()
    while (now_s := time.monotonic() - began_s) < seconds:
        try:
            read = {"node": resident_mib(leader), "front ends": resident_mib(child)}
        except OSError:
            break
        for name, value in read.items():
            series[name].append((now_s, value))
        time.sleep(0.5)
    return series


def child_of(leader: int) -> int | None:
    children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
    return int(children[0]) if children else None


def resident_mib(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_BYTES / 2**20


def judge(samples: list[Sample], warm_up_s: float) -> dict[str, float | int | str]:
    """Of what was read after the warm-up: median, spread, range, and the slope of a straight line through it."""
    late = [(at_s, mib) for at_s, mib in samples if at_s >= warm_up_s]
    mib = [value for _, value in late]
    slope = float(np.polyfit([at_s for at_s, _ in late], mib, 1)[0]) * 1024
    return {
        "unit": "MiB", "median": statistics.median(mib), "spread": statistics.pstdev(mib) / statistics.fmean(mib),
        "range_mib": max(mib) - min(mib), "trend_kib_per_s": slope, "n_samples": len(mib),
    }  # fmt: skip


if __name__ == "__main__":
    main()
