# SPDX-License-Identifier: Apache-2.0
"""The counter pages of this machine's processes, in shared memory: docs/reference/counter-page.md. A process that is
killed leaves its page with its last values; after a minute the next program that reads pages removes it."""

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anello.account.leg import LegLatency
from anello.errors import ConfigError, engine_errors

FOLDER = Path("/dev/shm")
# Time for others to read a dead page, counted from its process's last update. The page of a run in a catalogue is
# removed by the program that closes the run there; any other program leaves it for a day.
KEPT_S, KEPT_OF_RUN_S = 60.0, 86_400.0


@dataclass(frozen=True)
class Header:
    """A process and its state. Times are of the wall clock, in ns."""

    process: int
    runs: bool  # that process runs, and not another one that has its number
    started_ns: int  # the process
    run_number: int  # the run's number in the catalogue; 0: the run is in none
    run_name: str
    chain: str
    state: str  # of the run (RunState); empty: it has not been set
    config_digest: str
    heartbeat_ns: int  # when the slowest of its threads last updated it; without threads the same as control_ns
    control_ns: int  # when the thread that leads the run last updated it

    def age_s(self, now_ns: int | None = None) -> float:
        """Seconds since the last heartbeat."""
        return ((time.time_ns() if now_ns is None else now_ns) - self.heartbeat_ns) * 1e-9

    def is_old(self, now_ns: int | None = None) -> bool:
        return self.age_s(now_ns) > (KEPT_OF_RUN_S if self.run_number else KEPT_S)


@dataclass(frozen=True)
class Cell:
    block: str
    name: str
    kind: str  # counter: only rises; gauge: a current value; histogram: of ns, here the number of values in it
    unit: str  # ns, bytes; empty: a plain number
    meaning: str
    value: int


@dataclass(frozen=True)
class Thread:
    """A thread's load. busy: the share of its time, 0..1, that it works; longest: its longest step. Both of the run,
    and of the last second or two."""

    name: str
    runs: bool
    seen_ns: int  # wall clock, its last update
    busy: float
    busy_1s: float
    longest_ns: int
    longest_1s_ns: int


@dataclass(frozen=True)
class Buffers:
    stage: str
    n_buffers: int
    n_free: int


@dataclass(frozen=True)
class Event:
    kind: str  # kind of the payload
    wall_ns: int
    payload: bytes


@dataclass(frozen=True)
class Page:
    """A counter page. header: at the time when the page was opened. The methods return current values; they raise
    ConfigError, OSError where the page has been removed since."""

    name: str
    header: Header

    @property
    def process(self) -> int:
        return self.header.process

    @property
    def runs(self) -> bool:
        return self.header.runs

    def counters(self) -> dict[str, dict[str, int]]:
        """block -> counter -> value"""
        counters: dict[str, dict[str, int]] = self._read("read_counters")
        return counters

    def cells(self) -> list[Cell]:
        """Counters, gauges and the histograms of the legs."""
        cells = [Cell(*cell) for cell in self._read("page_cells")]
        legs = (
            Cell("latency", leg, "histogram", "ns", f"latency of the leg {leg}", windows["run"]["count"])
            for leg, windows in self.latency().items()
        )
        return [*cells, *legs]

    def latency(self) -> dict[str, dict[str, LegLatency]]:
        """leg -> "run", "10s" or "1s" -> the latency. A window may hold one second more;
        a quantile is the upper edge of its bin, which is 3 % wide."""
        latency: dict[str, dict[str, LegLatency]] = self._read("page_latency")
        return latency

    def threads(self) -> list[Thread]:
        return [Thread(**thread) for thread in self._read("page_threads")]

    def buffers(self) -> list[Buffers]:
        return [Buffers(*buffers) for buffers in self._read("page_buffers")]

    def event(self) -> Event | None:
        """The last event; None where there is none yet."""
        event = self._read("page_event")
        return event and Event(*event)

    def remove(self) -> None:
        (FOLDER / self.name).unlink(missing_ok=True)

    def _read(self, what: str) -> Any:
        return _read(what, self.name)


def standing(name: str) -> str:
    """The name of that process's page: it has a suffix after a dash where another process had taken the name."""
    name = name.removeprefix("/")
    known = [path for path in (FOLDER / name, *sorted(FOLDER.glob(f"{name}-*"))) if _may_be_believed(path)]
    return known[0].name if known else name


def _may_be_believed(path: Path) -> bool:
    """True if the file belongs to this user or root; the engine checks its contents."""
    with suppress(OSError):
        found = path.lstat()
        return stat.S_ISREG(found.st_mode) and found.st_uid in (0, os.geteuid())
    return False


def _read(what: str, name: str) -> Any:
    from anello.engine import _engine

    read: Callable[[str], Any] = getattr(_engine, what)
    with engine_errors():
        return read(f"/{name}")


def look_at(name: str) -> Page:
    """Opens a page. Raises ConfigError where it is no page of this version, OSError where there is none."""
    name = standing(name)
    return Page(name, Header(**_read("page_header", name)))


def of_this_machine() -> list[Page]:
    """All pages that can be read; a file that is no page of this version belongs to other software."""
    found = []
    for path in sorted(FOLDER.glob("anello.*")):
        try:
            found.append(look_at(path.name))
        except (ConfigError, OSError):
            continue
    return found


def clear_dead(now_ns: int | None = None) -> list[Page]:
    """Removes old pages of processes that ended without removing them, and returns those pages."""
    dead = [page for page in of_this_machine() if not page.runs and page.header.is_old(now_ns)]
    for page in dead:
        with suppress(OSError):  # the page belongs to another user
            page.remove()
    return dead
