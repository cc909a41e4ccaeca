# SPDX-License-Identifier: Apache-2.0
"""`anello stream bench`: bandwidth and latency of each transport between two processes.

Each measurement uses two processes, driven through bench/system/stream_transfer.cpp. Rounds are interleaved, so that a
slow minute of the machine affects all transports alike; the tables show medians and the spread of the rounds. "memcpy"
is the upper limit: both processes copy through the same memory as the ring and never wait for each other.
"""

import itertools
import json
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anello.errors import InputError
from anello.system import output

BUILDS = ("release", "lead", "dev")
TIMEOUT_S = 600
PACED_INTERVAL_US = 100
DEFAULT_WAIT = "spin_then_sleep"


@dataclass(frozen=True)
class Options:
    transports: Sequence[str]  # empty: all
    chunks: Sequence[int]
    n_bytes: int
    latency: Sequence[int]
    rounds: int
    ring: int
    grain: int
    cores: str


@dataclass(frozen=True)
class Case:
    """One number that is measured repeatedly."""

    kind: str  # bandwidth, latency (ping-pong, half the round trip), paced (one way), idle
    transport: str
    wait: str  # of the ring; empty elsewhere
    n_bytes: int

    @property
    def name(self) -> str:
        return self.transport if self.wait in ("", DEFAULT_WAIT) else f"{self.transport} {self.wait}"


Results = dict[Case, list[dict[str, Any]]]


def size(text: str) -> int:
    """A size such as `64`, `4k`, `16M`, in bytes. Raises InputError."""
    factor = {"k": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
    digits = text[:-1] if factor > 1 else text
    if not digits.isdigit() or int(digits) == 0:
        raise InputError(f"{text!r}: a size is a number of bytes, with or without k or M after the number")
    return int(digits) * factor


def sizes(text: str) -> list[int]:
    return [size(part) for part in text.split(",") if part]


def find_program(given: Path | None) -> Path:
    root = Path(__file__).parents[2]
    places = [given] if given else [root / "build" / build / "bench/stream_transfer" for build in BUILDS]
    for place in places:
        if place.exists():
            return place
    raise InputError(f"{places[0]}: no such program. ./dev bench stream builds it")


def run(options: Options, program: Path, directory: Path) -> Results:
    """Measures, prints tables, writes stream.jsonl and stream.html."""
    known = _call(program, ["list"]).split()
    transports = list(options.transports) or known
    if unknown := set(transports) - set(known):
        raise InputError(f"{', '.join(sorted(unknown))}: no such transport; this program has {', '.join(known)}")
    results: Results = defaultdict(list)
    cases = list(all_cases(options, transports))
    for number in range(options.rounds):
        start = number * len(cases) // options.rounds
        for case in cases[start:] + cases[:start]:
            results[case].append(measure(program, case, options, verify=not results[case]))
    show(results)
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "stream.jsonl").open("a") as lines:
        for result in summaries(results):
            lines.write(json.dumps(result) + "\n")
    (directory / "stream.html").write_text(page(results))
    print(f"plot: {directory / 'stream.html'}")
    return results


def all_cases(options: Options, transports: Sequence[str]) -> Iterator[Case]:
    """All measurements; for each size all transports in turn, since measurements close in time are compared."""
    for chunk, transport in itertools.product(options.chunks, transports):
        yield Case("bandwidth", transport, DEFAULT_WAIT if transport == "ring" else "", chunk)
    waits = {"ring": ("spin", DEFAULT_WAIT, "block")}
    for n_bytes, transport in itertools.product(options.latency, transports):
        if transport != "memcpy":
            for wait in waits.get(transport, ("",)):
                yield Case("latency", transport, wait, n_bytes)
                yield Case("paced", transport, wait, n_bytes)
    if "ring" in transports and options.latency:
        yield Case("idle", "ring", "block", 8)


def measure(program: Path, case: Case, options: Options, *, verify: bool) -> dict[str, Any]:
    arguments = [
        f"transport={case.transport}",
        f"chunk={case.n_bytes}",
        f"ring={options.ring}",
        f"grain={options.grain}",
    ]
    if case.wait:
        arguments.append(f"wait={case.wait}")
    if options.cores:
        arguments.append(f"cores={options.cores}")
    if case.kind == "bandwidth":
        arguments += [f"bytes={max(options.n_bytes, case.n_bytes)}", f"verify={int(verify)}"]
    if case.kind == "paced":
        arguments += [f"interval_us={PACED_INTERVAL_US}", "rounds=3000"]
    measured: dict[str, Any] = json.loads(_call(program, [case.kind, *arguments]))
    if measured.get("wrong_words"):
        raise InputError(f"{case}: {measured['wrong_words']} words came out wrong")
    return measured


def _call(program: Path, arguments: Sequence[str]) -> str:
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise InputError(f"{program.name} {' '.join(arguments)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


# --- Showing ------------------------------------------------------------------------------------------------------
KEYS = {"bandwidth": "megabytes_per_s", "latency": "p50_us", "paced": "p50_us", "idle": "cpu_share"}
WAITS = ("ring_full", "ring_empty", "sleeps")  # counted on both sides, including helper threads
UNITS = {"bandwidth": "MB/s", "latency": "us", "paced": "us", "idle": "cores"}


def middle(results: Results, case: Case, key: str = "") -> float:
    return float(statistics.median(one[key or KEYS[case.kind]] for one in results[case]))


def spread(values: Sequence[float]) -> float:
    """(highest - lowest) / median, of few rounds."""
    return (max(values) - min(values)) / statistics.median(values) if statistics.median(values) else 0.0


def summaries(results: Results) -> Iterator[dict[str, Any]]:
    for case, taken in results.items():
        values = [one[KEYS[case.kind]] for one in taken]
        yield {
            "case": f"{case.kind}/{case.name}/{case.n_bytes}",
            "unit": UNITS[case.kind],
            "median": statistics.median(values),
            "spread": spread(values),
            "n_repeats": len(values),
            "samples": values,
            "verified_bytes": sum(one.get("verified_bytes", 0) for one in taken),
            **{key: middle(results, case, key) for key in WAITS if case.name.startswith("ring") and key in taken[0]},
            **({"p99_us": middle(results, case, "p99_us")} if "p99_us" in taken[0] else {}),
        }


def words(n_bytes: int) -> str:
    for factor, unit in ((1 << 20, "MB"), (1 << 10, "kB")):
        if n_bytes >= factor:
            return f"{n_bytes // factor} {unit}"
    return f"{n_bytes} B"


def show(results: Results) -> None:
    from rich.table import Table

    console = output.console()
    titles = {
        "bandwidth": "Bandwidth, MB/s: median (spread); ring over memcpy and over ZeroMQ TCP",
        "latency": "Ping-pong, half a round trip, us: p50 / p99",
        "paced": f"One way, a message each {PACED_INTERVAL_US} us, us: p50 / p99",
    }
    for kind, title in titles.items():
        cases = [case for case in results if case.kind == kind]
        names = list(dict.fromkeys(case.name for case in cases))
        if not cases:
            continue
        table = Table(title=title, title_justify="left", box=None)
        for head in ("bytes", *names, *(["/memcpy", "/zmq_tcp"] if kind == "bandwidth" else [])):
            table.add_column(head, justify="right")
        for n_bytes in sorted({case.n_bytes for case in cases}):
            row = {case.name: case for case in cases if case.n_bytes == n_bytes}
            cells = [_cell(results, row[name]) if name in row else "" for name in names]
            if kind == "bandwidth":
                cells += [_ratio(results, row, "memcpy"), _ratio(results, row, "zmq_tcp")]
            table.add_row(words(n_bytes), *cells)
        console.print(table)
    for case in results:
        if case.kind == "bandwidth" and case.name.startswith("ring"):
            n_full, n_empty, n_sleeps = (middle(results, case, key) for key in WAITS)
            name = f"{case.name}, {words(case.n_bytes)}"
            console.print(f"{name}: found full {n_full:.0f}, empty {n_empty:.0f}, slept {n_sleeps:.0f} times")
        if case.kind == "idle":
            console.print(
                f"CPU of a receiver that blocks and to which nothing comes: {middle(results, case):.5f} cores"
            )
    verified = sum(one.get("verified_bytes", 0) for taken in results.values() for one in taken)
    console.print(f"verified outside the timed part: {verified:,} bytes, none wrong")


def _cell(results: Results, case: Case) -> str:
    if case.kind == "bandwidth":
        values = [one["megabytes_per_s"] for one in results[case]]
        return f"{statistics.median(values):.0f} ({spread(values) * 100:.0f}%)"
    return f"{middle(results, case):.2f}/{middle(results, case, 'p99_us'):.1f}"


def _ratio(results: Results, row: dict[str, Case], other: str) -> str:
    ring = next((case for case in row.values() if case.transport == "ring"), None)
    if ring is None or other not in row:
        return ""
    return f"{middle(results, ring) / middle(results, row[other]):.2f}"


def page(results: Results) -> str:
    """Bandwidth against chunk size, latency against message size, as one HTML file."""
    import plotly.graph_objects as go
    from plotly.offline import get_plotlyjs

    from anello.report import plot

    sections = []
    for kind, title, y in (
        ("bandwidth", "Bandwidth", "MB/s"),
        ("latency", "Latency, half a round trip", "µs"),
        ("paced", "Latency, one way under light load", "µs"),
    ):
        figure = go.Figure()
        cases = [case for case in results if case.kind == kind]
        for index, name in enumerate(dict.fromkeys(case.name for case in cases)):
            line = sorted((case for case in cases if case.name == name), key=lambda case: case.n_bytes)
            figure.add_scatter(
                x=[case.n_bytes for case in line],
                y=[middle(results, case) for case in line],
                name=name,
                mode="lines+markers",
                line={"color": plot.SERIES[index % len(plot.SERIES)], "width": 2},
            )
        plot.styled(figure, x="bytes per send", y=y)
        ticks = sorted({case.n_bytes for case in cases})
        figure.update_xaxes(type="log", tickvals=ticks, ticktext=[words(tick) for tick in ticks])
        figure.update_yaxes(type="log")
        if cases:
            sections.append(f"<h2>{title}</h2>{figure.to_html(full_html=False, include_plotlyjs=False)}")
    style = f"body{{font:15px/1.55 {plot.FONT};color:{plot.INK};max-width:960px;margin:2em auto;padding:0 1em}}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Streams between two processes</title>'
        f"<style>{style}</style><script>{get_plotlyjs()}</script></head><body><h1>Streams between two processes</h1>"
        f"{''.join(sections)}</body></html>\n"
    )
