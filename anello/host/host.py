# SPDX-License-Identifier: Apache-2.0
"""The host as checks see it: the files of /proc and /sys below a root, and the running machine. Tests can replace
both."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

PIECE_BYTES, MAX_PIECES = 1 << 16, 64  # /proc/sys refuses larger reads; /proc/interrupts of a large machine is a MiB
MAX_CORES = 4096
CPU = "sys/devices/system/cpu"


class CannotTell(Exception):  # noqa: N818  (it is an answer, not a fault)
    """Raised by a check that was not possible; str() is the reason."""


@dataclass(frozen=True)
class ReceiveCost:
    """CPU time of a datagram of 1 kB over loopback, ns; with_gro is None where the kernel does not do it."""

    plain_ns: float
    with_gro_ns: float | None


@dataclass(frozen=True)
class PageCost:
    """Time of one read at a random place in 64 MiB, ns; huge_ns is None where no huge page is available."""

    small_ns: float
    huge_ns: float | None
    huge_kind: str


class Machine(Protocol):
    """Facts about a machine that no file contains. Each method raises CannotTell with the reason, or OSError, if its
    fact is not available."""

    def interface_with(self, address: str) -> str: ...  # empty: no interface has it
    def features(self, interface: str) -> Mapping[str, bool]: ...  # named as in `ethtool -k`
    def rx_ring(self, interface: str) -> tuple[int, int]: ...  # descriptors now, and at most
    def socket_buffer(self, wanted_bytes: int) -> int: ...  # the size that a socket gets
    def udp_gso(self) -> bool: ...
    def memory_lock_bytes(self) -> int | None: ...  # None: unlimited
    def allowed_cores(self) -> frozenset[int]: ...
    def is_real_time(self) -> bool: ...
    def huge_page_refusal(self) -> str: ...  # empty: a huge page is available
    def receive_backends(self, interface: str) -> list[dict[str, object]]: ...
    def fabric_transports(self) -> list[dict[str, object]]: ...
    def cuda_refusal(self) -> str: ...  # empty: a device can be used

    def hiccup_s(self) -> float: ...  # p99.9 of the wake-up delay of a thread that naps, over 1 s
    def real_time_delays_s(self) -> tuple[float, float] | None: ...  # the same, without and with the priority
    def wake_up_s(self) -> float: ...  # median wake-up delay after naps that are long enough for deep sleep
    def clock_ns(self) -> float: ...
    def page_cost(self) -> PageCost: ...
    def receive_cost(self) -> ReceiveCost: ...


@dataclass
class Host:
    """A machine described by its files."""

    root: Path
    machine: Machine
    _earlier: dict[str, str] = field(default_factory=dict)

    def text(self, path: str) -> str:
        """A file's text, stripped. Raises CannotTell."""
        try:
            with (self.root / path).open("rb") as file:
                pieces = [file.read(PIECE_BYTES) for _ in range(MAX_PIECES)]
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise CannotTell(f"/{path}: {reason}") from error
        return b"".join(pieces).decode(errors="replace").strip()

    def number(self, path: str) -> int:
        text = self.text(path)
        try:
            return int(text.split()[0], 0)
        except (ValueError, IndexError) as error:
            raise CannotTell(f"/{path} holds no number: {text[:40]!r}") from error

    def has(self, path: str) -> bool:
        return (self.root / path).exists()

    def names(self, path: str) -> list[str]:
        """The names in a directory, in order; empty where there is none."""
        try:
            return sorted(one.name for one in (self.root / path).iterdir())
        except OSError:
            return []

    def real(self, path: str) -> str:
        """The path with its links resolved, relative to the root."""
        whole = (self.root / path).resolve()
        return str(whole.relative_to(self.root.resolve())) if whole.is_relative_to(self.root.resolve()) else path

    def cores_in(self, path: str) -> frozenset[int]:
        """The cores in a file of the kernel's list format, such as 0-3,8."""
        return parse_cores(self.text(path))

    def remember(self, *paths: str) -> None:
        """Stores the present values of counters, so that a later check sees which of them increase."""
        for path in paths:
            try:
                self._earlier[path] = self.text(path)
            except CannotTell:
                self._earlier.pop(path, None)

    def earlier(self, path: str) -> str:
        """The file's contents when they were stored, or else its present contents."""
        return self._earlier.get(path) or self.text(path)

    def online_cores(self) -> frozenset[int]:
        return self.cores_in(f"{CPU}/online")


def parse_cores(text: str) -> frozenset[int]:
    """Reads the kernel's lists of cores: `0-3,8`. Raises CannotTell."""
    cores: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if not match:
            raise CannotTell(f"not a list of cores: {text[:40]!r}")
        cores.update(range(int(match[1]), min(int(match[2] or match[1]), MAX_CORES) + 1))
    return frozenset(cores)


def show_cores(cores: Iterable[int]) -> str:
    """Writes the same list in its shortest form."""
    parts: list[list[int]] = []
    for core in sorted(set(cores)):
        if parts and core == parts[-1][-1] + 1:
            parts[-1].append(core)
        else:
            parts.append([core])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
