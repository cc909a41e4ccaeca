# SPDX-License-Identifier: Apache-2.0
"""CPU time of a run: its node's, its front ends', and that of all other programs."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTime:
    """Seconds of CPU time since some moment; a difference of two values covers wall_s of time."""

    wall_s: float
    process_s: float  # this process, all threads
    machine_s: float  # all cores and programs; time taken by a hypervisor counts as other programs' work

    @classmethod
    def now(cls) -> Self:
        return cls(time.monotonic(), time.process_time(), _machine_seconds())

    def since(self, before: "CpuTime") -> "CpuTime":
        return CpuTime(
            self.wall_s - before.wall_s, self.process_s - before.process_s, self.machine_s - before.machine_s
        )

    @property
    def machine_cores(self) -> float:
        """Average number of busy cores, for a difference."""
        return self.machine_s / max(self.wall_s, 1e-9)

    def shares(self, source_s: float) -> dict[str, float]:
        """The shares in cores: 0.8 is 0.8 s per second. source_s: CPU time of the front ends' process in the same
        time."""
        wall_s = max(self.wall_s, 1e-9)
        return {
            "wall_s": self.wall_s,
            "node_cores": self.process_s / wall_s,
            "source_cores": source_s / wall_s,
            "other_cores": max(0.0, self.machine_s - self.process_s - source_s) / wall_s,
        }


def thread_times_ns() -> dict[str, int]:
    """CPU time of every thread of this machine that this user may read, by thread number. The scheduler's own count
    is exact, while /proc/stat samples at each tick and is wrong by half for threads that sleep between ticks."""
    times_ns = {}
    for path in Path("/proc").glob("[0-9]*/task/[0-9]*/schedstat"):
        with suppress(OSError):  # the thread has ended
            times_ns[path.parent.name] = int(path.read_text().split()[0])
    return times_ns


def interrupts_s() -> float:
    """CPU time of hard and soft interrupts on all cores: no thread's time includes it."""
    return sum(_ticks()[5:7]) / CLOCK_TICKS_PER_S


def _machine_seconds() -> float:
    user, nice, system, _idle, _io_wait, *interrupts_and_stolen = _ticks()
    return (user + nice + system + sum(interrupts_and_stolen)) / CLOCK_TICKS_PER_S


def _ticks() -> list[int]:
    """Clock ticks of all cores: user, nice, system, idle, waiting, interrupts, soft interrupts, stolen."""
    return list(map(int, Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]))
