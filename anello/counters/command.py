# SPDX-License-Identifier: Apache-2.0
"""`anello counters`: the counter pages of this machine's processes, printed once or repeatedly."""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from anello.counters.pages import Cell, Page, clear_dead, look_at, of_this_machine
from anello.errors import ConfigError
from anello.system.exit_codes import FAILED
from anello.system.interruption import interruptible

QUANTILES = {"p50_ns": "p50", "p99_ns": "p99", "p999_ns": "p99.9", "max_ns": "longest"}
WINDOWS = ("run", "10s", "1s")
CLEAR = "\033[H\033[2J"


@dataclass(frozen=True)
class Options:
    page: str | None  # None: of all running processes
    only: Sequence[str] = ()  # patterns of block.name; empty: all
    watch_s: float = 0  # 0: once
    as_json: bool = False
    keep: bool = False  # also show pages of processes that have ended


@dataclass
class Looks:
    """Reads pages one time after another, and knows the increase since the previous time."""

    options: Options
    _before: dict[tuple[str, str, str], int] = field(default_factory=dict)
    _before_ns: int = 0

    def look(self, pages: Sequence[Page], now_ns: int) -> list[dict[str, Any]]:
        """Reads each page: page, time_ns, header, cells, latency, threads, buffers. From the second call on a
        counter has its rate_hz."""
        seconds = (now_ns - self._before_ns) * 1e-9 if self._before_ns else 0.0
        found = list(self._those_there(pages, now_ns, seconds))
        self._before = {
            (each["page"], cell["block"], cell["name"]): cell["value"] for each in found for cell in each["cells"]
        }
        self._before_ns = now_ns
        return found

    def _those_there(self, pages: Sequence[Page], now_ns: int, seconds: float) -> Iterator[dict[str, Any]]:
        for page in pages:
            with suppress(ConfigError, OSError):  # a process may end, and remove its page, at any moment
                yield self._one(page, now_ns, seconds)

    def _one(self, page: Page, now_ns: int, seconds: float) -> dict[str, Any]:
        cells = [asdict(cell) | self._rate(page, cell, seconds) for cell in page.cells() if self._wanted(cell)]
        latency = {
            leg: {
                window: {key: value for key, value in windows[window].items() if not key.startswith("bin")}
                for window in WINDOWS
            }
            for leg, windows in page.latency().items()
        }
        return {
            "page": page.name,
            "time_ns": now_ns,
            "header": asdict(page.header),
            "cells": cells,
            "latency": latency,
            "threads": [asdict(thread) for thread in page.threads()],
            "buffers": [asdict(buffers) for buffers in page.buffers()],
        }

    def _wanted(self, cell: Cell) -> bool:
        name = f"{cell.block}.{cell.name}"
        return not self.options.only or any(fnmatchcase(name, pattern) for pattern in self.options.only)

    def _rate(self, page: Page, cell: Cell, seconds: float) -> dict[str, float]:
        before = self._before.get((page.name, cell.block, cell.name))
        if before is None or seconds <= 0 or cell.kind == "gauge":
            return {}
        return {"rate_hz": (cell.value - before) / seconds}


# --- For people ---------------------------------------------------------------------------------------------------
def lines_of(look: Mapping[str, Any], *, watched: bool = False) -> Iterator[str]:
    """The lines for one page. watched: with rates, and without counters that are 0."""
    yield f"[{look['page']}] {_who(look)}"
    for cell in look["cells"]:
        if cell["kind"] != "histogram" and (cell["value"] or not watched):
            yield _cell(cell, watched=watched)
    for leg, windows in look["latency"].items():
        for window, figures in windows.items():
            if figures["count"]:
                quantiles = ", ".join(f"{name} {figures[key] * 1e-3:,.3g} us" for key, name in QUANTILES.items())
                yield f"latency.{leg} {window}: {figures['count']:,} values, {quantiles}"
    for thread in look["threads"]:
        yield (
            f"thread {thread['name']}: {'works' if thread['runs'] else 'ended; worked'} {thread['busy_1s']:.0%} of its "
            f"time, longest step {thread['longest_1s_ns'] * 1e-3:,.3g} us in the last second, "
            f"{thread['longest_ns'] * 1e-3:,.3g} us in the run"
        )
    for buffers in look["buffers"]:
        yield f"buffers {buffers['stage']}: {buffers['n_free']:,} of {buffers['n_buffers']:,} free"


def _who(look: Mapping[str, Any]) -> str:
    header = look["header"]
    number = f"run {header['run_number']}" if header["run_number"] else "in no catalogue"
    parts = (
        number,
        header["run_name"],
        header["chain"],
        header["state"],
        f"process {header['process']}",
        f"heartbeat {max(0.0, (look['time_ns'] - header['heartbeat_ns']) * 1e-9):.2f} s ago",
    )
    return ", ".join(filter(None, parts))


def _cell(cell: Mapping[str, Any], *, watched: bool) -> str:
    value = f"{cell['block']}.{cell['name']} = {cell['value']}"
    value += f" {cell['unit']}" if cell["unit"] else ""
    if watched and "rate_hz" in cell:
        value += f", {cell['rate_hz']:,.4g} {cell['unit']}/s".replace(" /s", "/s")
    return f"{value:<56}  {cell['meaning']}"


# --- The command --------------------------------------------------------------------------------------------------
def run(options: Options) -> int:
    """Prints the pages. Returns the exit code."""
    if not options.keep and not options.page:
        _report_ended(clear_dead(), "was removed")
    looks = Looks(options)
    if not options.watch_s:
        return _look(looks)
    with interruptible() as interrupted:
        while (code := _look(looks)) == 0 and not interrupted.wait(options.watch_s):
            pass
    return code


def _look(looks: Looks) -> int:
    options = looks.options
    pages = [look_at(options.page)] if options.page else of_this_machine()
    if not options.watch_s:
        ended = [page for page in pages if not page.runs]
        _report_ended(ended, "is kept for a while; to print it: anello counters NAME")
    shown = [page for page in pages if page.runs or options.page]
    if not shown:
        print("no anello process is running on this machine", file=sys.stderr)
        return FAILED
    now_ns = time.time_ns()
    found = looks.look(shown, now_ns)
    if options.as_json:
        print(json.dumps({"time_ns": now_ns, "pages": found}), flush=True)
        return 0
    lines = [line for look in found for line in lines_of(look, watched=bool(options.watch_s))]
    _print(lines, redraw=bool(options.watch_s) and sys.stdout.isatty())
    return 0


def _report_ended(pages: Sequence[Page], what: str) -> None:
    for page in pages:
        header = page.header
        said = f"run {header.run_number} was {header.state or 'without a state'}; " if header.run_number else ""
        print(f"{page.name}: its process, {page.process}, has ended; {said}the page {what}", file=sys.stderr)


def _print(lines: Sequence[str], *, redraw: bool) -> None:
    """Prints lines. redraw: over the previous lines, at most as many as the terminal has."""
    if not redraw:
        print("\n".join(lines), flush=True)
        return
    width, height = os.get_terminal_size()
    print(CLEAR + "\n".join(line[: width - 1] for line in lines[: height - 1]), flush=True)
