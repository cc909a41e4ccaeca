# SPDX-License-Identifier: Apache-2.0
"""Progress while a run goes on: a live table on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from anello.record import CounterDict, receive_blocks
from anello.summary import LOSSES

PLAIN_INTERVAL_S = 2.0


@dataclass(frozen=True)
class Progress:
    """The state of a run at one moment, and rates since the one before."""

    time_s: float
    burst: int
    n_bursts: int
    n_events: int
    events_per_s: float
    gbit_per_s: float
    rings_per_event: float
    p50_us: float
    p999_us: float
    losses: dict[str, int]
    silent: tuple[str, ...]


class ProgressMeter:
    """Differences of counters between two looks."""

    def __init__(self, n_bursts: int) -> None:
        self._n_bursts = n_bursts
        self._began = self._last_time = time.monotonic()
        self._last = (0, 0, 0)

    def look(self, node: CounterDict, stage: Mapping[str, Any], states: Mapping[str, str]) -> Progress:
        now = time.monotonic()
        blocks, trigger = receive_blocks(node), node.get("trigger", {})
        sums = (trigger.get("events", 0), sum(b.get("bytes", 0) for b in blocks.values()), trigger.get("rings", 0))
        events, n_bytes, rings = (new - old for new, old in zip(sums, self._last, strict=True))
        seconds = max(now - self._last_time, 1e-3)
        self._last, self._last_time = sums, now
        return Progress(
            time_s=now - self._began,
            burst=max((block.get("bursts_ended", 0) for block in blocks.values()), default=0),
            n_bursts=self._n_bursts,
            n_events=sums[0],
            events_per_s=events / seconds,
            gbit_per_s=n_bytes * 8e-9 / seconds,
            rings_per_event=rings / events if events else 0.0,
            p50_us=float(stage.get("p50_ns", 0)) * 1e-3,
            p999_us=float(stage.get("p999_ns", 0)) * 1e-3,
            losses=_losses(node),
            silent=tuple(name for name, state in states.items() if state == "silent"),
        )


def _losses(node: CounterDict) -> dict[str, int]:
    """Packets not used by now. Those that never came are left out: gaps may close while the run goes on."""
    blocks = receive_blocks(node)
    causes = {name: label for name, label in LOSSES.items() if name != "lost_sequences"}
    counts = {label: sum(block.get(name, 0) for block in blocks.values()) for name, label in causes.items()}
    verdicts = [node.get(f"{block}.verdict", {}) for block in blocks]
    counts["malformed"] = sum(n for verdict in verdicts for name, n in verdict.items() if name != "ok")
    counts["late fragments"] = node.get("build", {}).get("fragments_late", 0)
    counts["incomplete events"] = node.get("build", {}).get("events_incomplete", 0)
    return {label: n for label, n in counts.items() if n}


class Display(Protocol):
    """Shows progress between __enter__ and __exit__."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self, progress: Progress) -> None: ...


class LiveDisplay:
    """A table that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, progress: Progress) -> None:
        self._live.update(_table(progress), refresh=True)


class PlainDisplay:
    """A line every two seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, progress: Progress) -> None:
        if progress.time_s >= self._next_s:
            self._next_s = progress.time_s + PLAIN_INTERVAL_S
            self._console.print(_line(progress), soft_wrap=True, highlight=False, markup=False)


class NoDisplay:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, progress: Progress) -> None:
        pass


def make(kind: str, console: Console) -> Display:
    """kind as run.display says."""
    if kind == "off":
        return NoDisplay()
    if kind == "live" or (kind == "auto" and console.is_terminal):
        return LiveDisplay(console)
    return PlainDisplay(console)


def _rows(progress: Progress) -> list[tuple[str, str]]:
    bursts = f"{progress.burst} of {progress.n_bursts or '∞'}"
    lost = ", ".join(f"{n:,} {label}" for label, n in progress.losses.items()) or "none"
    silent = [("silent", ", ".join(progress.silent))] if progress.silent else []
    return [
        ("time", f"{progress.time_s:.1f} s, bursts ended {bursts}"),
        ("events", f"{progress.n_events:,}, now {progress.events_per_s:,.0f} /s, {progress.gbit_per_s:.2f} Gb/s"),
        ("rings", f"{progress.rings_per_event:.2f} per event"),
        ("latency", f"p50 {progress.p50_us:,.0f} µs, p99.9 {progress.p999_us:,.0f} µs"),
        ("not used", lost),
        *silent,
    ]


def _table(progress: Progress) -> Table:
    table = Table.grid(padding=(0, 2))
    for label, value in _rows(progress):
        bad = label == "silent" or (label == "not used" and progress.losses)
        table.add_row(f"[dim]{label}[/]", f"[bold red]{value}[/]" if bad else f"[bold]{value}[/]")
    return table


def _line(progress: Progress) -> str:
    return "  ".join(f"{label}: {value};" for label, value in _rows(progress)).rstrip(";")
