# SPDX-License-Identifier: Apache-2.0
"""Which process a run is of. Process numbers are used again; with their start, the machine's and the name space that
they count in they are unique."""

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    host: str
    boot: str  # the machine's start
    number_space: int  # that `number` counts in
    number: int
    start_ticks: int  # since the machine's start

    @classmethod
    def this(cls) -> "Process":
        return cls.of(os.getpid())

    @classmethod
    def of(cls, number: int) -> "Process":
        """One that runs here. Raises OSError."""
        return cls(socket.gethostname(), boot(), _number_space(), number, _start_ticks(number))

    def has_ended(self) -> bool:
        """False where that cannot be known from here: on another host, in another container."""
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
    """A zombie has ended, though it is still listed."""
    fields = (PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        raise ProcessLookupError
    return int(fields[19])
