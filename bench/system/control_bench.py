# SPDX-License-Identifier: Apache-2.0
"""What a control room costs the node that it watches, and how soon it knows.

    python bench/record.py control [--pairs 5] [--seconds 10] [--kills 20] [--browsers 5] [--set KEY=VALUE]

Runs of `./dev demo`'s configuration in turns: without a control room, with one that nobody looks at, and with the live
page open in browsers (Chromium, headless, on the same machine: what they draw is paid by these cores, too; --clients
takes programs that read the page's stream instead). Of each: the node's CPU time for each event, latency, losses. Then
the node is killed again and again, and the control room: how long until the alarm stands, until a new control room has
the run again, and whether events were lost.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from idle_bench import ROOT
from trials import table

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.control.access.tokens import Tokens
from anello.control.client import Client
from anello.control.control_server import whereabouts
from anello.control.states import State

CONFIG = str(ROOT / "detectors/rich/na62-rich.toml")
ANELLO = [sys.executable, "-m", "anello"]
CHROMIUM = "/usr/bin/chromium"
MODES = ("without", "control room", "viewers")
HEAD = ["mode", "CPU us/event", "p50 us", "p99.9 us", "lost"]


def main() -> None:
    parser = argparse.ArgumentParser(description="A control room's cost, and how soon it knows.")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--browsers", type=int, default=5)
    parser.add_argument("--clients", action="store_true", help="programs that read the stream instead of browsers")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--quick", action="store_true", help="one of each, 2 s")
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.seconds, options.kills = 1, 2.0, 1
    print_cost(options)
    print_times("control room ready, no run", [started() for _ in range(options.kills)])
    print_times("alarm after the node was killed", [time_of(kill_node) for _ in range(options.kills)])
    print_times("run found again after control was killed", [time_of(kill_control) for _ in range(options.kills)])


# --- The cost -----------------------------------------------------------------------------------------------------
def print_cost(options: argparse.Namespace) -> None:
    """In turns, so that what else the machine does meets all of them."""
    found: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
    for number in range(options.pairs):
        for mode in MODES[number % 3 :] + MODES[: number % 3]:
            found[mode].append(one_run(mode, options))
            print(f"{mode}: {found[mode][-1]}", flush=True)
    print(table(HEAD, [row(mode, found[mode]) for mode in MODES]), flush=True)
    for mode in MODES:
        print(json.dumps({"case": mode, "unit": "us of CPU per event", "median": middle(found[mode], "cpu_us"),
                          "runs": found[mode], "browsers": options.browsers}), flush=True)  # fmt: skip


def row(mode: str, runs: list[dict[str, float]]) -> list[str]:
    def spread(name: str, digits: int) -> str:
        values = sorted(run[name] for run in runs)
        return f"{statistics.median(values):.{digits}f} ({values[0]:.{digits}f} to {values[-1]:.{digits}f})"

    return [mode, spread("cpu_us", 3), spread("p50_us", 0), spread("p999_us", 0), f"{sum(r['lost'] for r in runs):.0f}"]


def middle(runs: list[dict[str, float]], name: str) -> float:
    return statistics.median(run[name] for run in runs)


def one_run(mode: str, options: argparse.Namespace) -> dict[str, float]:
    settings = [f"run.duration_s={options.seconds}", "run.display=off", *options.set]
    with tempfile.TemporaryDirectory() as folder:
        if mode == "without":
            given = [part for one in settings for part in ("--set", one)]
            subprocess.run([*ANELLO, "run", CONFIG, *given, "--report-dir", folder], check=False, cwd=ROOT,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            return figures(Path(folder))
        with control_room(Path(folder)) as (client, _):
            with viewers(Path(folder), options if mode == "viewers" else None):
                directory = lead(client, settings)
            return figures(directory)


def lead(client: Client, settings: list[str]) -> Path:
    """One run, to its end; its directory."""
    client.order("configure", {"file": CONFIG, "settings": settings})
    client.order("arm")
    client.order("start")
    return Path(client.wait(State.CONFIGURED, 200)["directory"])


def figures(directory: Path) -> dict[str, float]:
    summary = json.loads((directory / "summary.json").read_text())
    latency = summary["latency"]["event_to_decided"]
    n_events = summary["counters"]["node"]["trigger"]["events"]
    return {
        "cpu_us": summary["cpu"]["node_cores"] * summary["cpu"]["wall_s"] * 1e6 / n_events,
        "p50_us": latency["p50_ns"] * 1e-3, "p999_us": latency["p999_ns"] * 1e-3,
        "lost": sum(loss["n"] for loss in summary["ledger"]["losses"]),
    }  # fmt: skip


@contextmanager
def viewers(runs: Path, options: argparse.Namespace | None) -> Iterator[None]:
    """The live page, open so many times."""
    if options is None:
        yield
        return
    address = f"{whereabouts(runs)['address']}/#token={Tokens.of(runs).viewer}"
    if options.clients:
        with readers(runs, options.browsers):
            yield
        return
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    with tempfile.TemporaryDirectory() as profiles:
        shown = [
            subprocess.Popen([*command, f"--user-data-dir={profiles}/{number}", address], stderr=subprocess.DEVNULL,
                             start_new_session=True)
            for number in range(options.browsers)
        ]  # fmt: skip
        try:
            time.sleep(5)  # until they are drawn
            yield
        finally:
            for browser in shown:
                with suppress(ProcessLookupError):
                    os.killpg(browser.pid, signal.SIGKILL)
                browser.wait()


@contextmanager
def readers(runs: Path, n_readers: int) -> Iterator[None]:
    """Each takes the stream that the page takes."""
    request = urllib.request.Request(f"{whereabouts(runs)['address']}/api/v1/stream")
    request.add_header("Authorization", f"Bearer {Tokens.of(runs).viewer}")
    opened = [urllib.request.urlopen(request) for _ in range(n_readers)]
    for stream in opened:
        threading.Thread(target=read_all, args=(stream,), daemon=True).start()
    yield
    for stream in opened:
        stream.close()


def read_all(stream: Any) -> None:
    with suppress(OSError, ValueError, AttributeError):
        while stream.readline():
            pass


# --- How soon it knows --------------------------------------------------------------------------------------------
def print_times(what: str, seconds: list[float]) -> None:
    middle_s = statistics.median(seconds)
    print(f"{what}: {middle_s:.2f} s ({min(seconds):.2f} to {max(seconds):.2f}), {len(seconds)} times")
    print(json.dumps({"case": what, "unit": "s", "median": middle_s, "runs": seconds}), flush=True)


def time_of(killing: Callable[[Path, Client, "subprocess.Popen[str]"], float]) -> float:
    """Time that `killing` measures, in s, during a run at the demo's rate."""
    with tempfile.TemporaryDirectory() as folder, control_room(Path(folder)) as (client, process):
        client.order("configure", {"file": CONFIG, "settings": ["run.duration_s=0", "run.display=off"]})
        client.order("arm")
        client.order("start")
        time.sleep(0.5)
        return killing(Path(folder), client, process)


def started() -> float:
    """Time in s with both cores idle: the part of the time below that is not spent waiting for a core."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        with control_room(Path(folder)) as (client, _):
            client.status()
            return time.monotonic() - began


def kill_node(runs: Path, _client: Client, _control: "subprocess.Popen[str]") -> float:
    with Catalogue(of_runs_in(runs)) as catalogue:
        began = time.monotonic()
        os.kill(catalogue.runs.get(1)["process"], signal.SIGKILL)
        while not any(row["rule"] == "run lost" for row in catalogue.alarms.newest(raised_only=True)):
            time.sleep(0.005)
        took = time.monotonic() - began
        assert catalogue.runs.get(1)["state"] == "crashed"
    return took


def kill_control(runs: Path, _client: Client, control: "subprocess.Popen[str]") -> float:
    """From the start of the new one."""
    control.kill()
    control.wait()
    began = time.monotonic()
    with control_room(runs) as (client, _):
        status = client.status()
        took = time.monotonic() - began
        assert (status["state"], status["run"]) == ("running", 1), status
        client.order("stop")
        client.wait(State.CONFIGURED, 60)
    with Catalogue(of_runs_in(runs)) as catalogue:
        row = catalogue.runs.get(1)
        assert (row["state"], row["lost"], row["balanced"]) == ("ended", 0, True), row["verdict"]
    return took


@contextmanager
def control_room(runs: Path) -> Iterator[tuple[Client, "subprocess.Popen[str]"]]:
    command = [*ANELLO, "control", "--in", str(runs), "--bind", "127.0.0.1:0", "--no-doctor"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield Client(runs), process
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
