# SPDX-License-Identifier: Apache-2.0
"""Cost of starting: CPU seconds, user and system, of `anello --help` and of a whole run of 0.1 s of data.

    python bench/record.py start [--runs 7] [--anello COMMAND]

The run is that of `./dev demo` with one short burst, without display, its report in a temporary directory; both its
processes count, and git, which it asks for the commit. --anello: another command to be
compared with, such as that of another checkout (env PYTHONPATH=/other/checkout python -m anello); the runs of all are
interleaved.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trials import interleaved, of_repeats, table

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "detectors/rich/na62-rich.toml"
CASES = ("help", "run")
# No deadline: a run that is degraded because the machine is busy ends with another exit code, and costs the same.
SETTINGS = ("run.duration_s=0.1", "source.burst_ms=100", "run.display=off", "trigger.deadline_us=0")


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU seconds of a start and of a short run.")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--anello", action="append", default=[], metavar="COMMAND", help="also of this command")
    parser.add_argument("--quick", action="store_true", help="3 runs")
    options = parser.parse_args()
    commands = [f"{shlex.quote(sys.executable)} -m anello", *options.anello]
    cases = [(command, what) for command in commands for what in CASES]
    taken_s: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    for command, what in interleaved(cases, 3 if options.quick else options.runs):
        taken_s[command, what].append(once(command, what))
    rows = []
    for (command, what), all_s in taken_s.items():
        rows.append([f"{what}, {command}", *(f"{of(all_s):.2f}" for of in (statistics.median, min, max))])
        print(json.dumps({"case": what, "anello": command, "unit": "CPU s", **of_repeats(all_s)}), flush=True)
    print(table(["", "CPU s", "least", "most"], rows), flush=True)


def once(command: str, what: str) -> float:
    """CPU time of the process, and of its children that it has waited for."""
    with tempfile.TemporaryDirectory() as folder:
        if what == "help":
            return cpu_s([*shlex.split(command), "--help"], folder)
        given = (f"run.directory={folder}", *SETTINGS)
        settings = [part for one in given for part in ("--set", one)]
        run = [*shlex.split(command), "run", str(CONFIG), "--report-dir", f"{folder}/report", *settings]
        return cpu_s(run, folder)


def cpu_s(command: Sequence[str], folder: str) -> float:
    """folder: away from the source tree, whose package Python would else prefer to the command's own."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)}: exit {process.returncode}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
