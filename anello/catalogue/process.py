# SPDX-License-Identifier: Apache-2.0
"""The process of a run. The system uses process numbers again; together with the process's start, the machine's
start and the process namespace they are unique."""

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    host: str
    boot: str  # identifies the machine's start
    number_space: int  # the process namespace in which `number` counts
    number: int
    start_ticks: int  # since the machine's start, in clock ticks

    @classmethod
    def this(cls) -> "Process":
        return cls.of(os.getpid())

    @classmethod
    def of(cls, number: int) -> "Process":
        """Describes a process that runs on this machine. Raises OSError."""
        return cls(socket.gethostname(), boot(), _number_space(), number, _start_ticks(number))

    def has_ended(self) -> bool:
        """True if the process has ended. False where that cannot be known: on another host, in another container."""
        if self.host != socket.gethostname():
            return False
        if self.boot != boot():
            return True
        if self.number_space != _number_space():
            return False
        try:
            return _start_ticks(self.number) != self.start_ticks
        except (FileNotFoundError, ProcessLookupError):
            return True
        except OSError:
            return False


@cache
def boot() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _number_space() -> int:
    return (PROC / "self/ns/pid").stat().st_ino


def _start_ticks(number: int) -> int:
    """Start time of a process. A zombie counts as ended, although the system still lists it."""
    fields = (PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        raise ProcessLookupError
    return int(fields[19])
