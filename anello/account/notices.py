# SPDX-License-Identifier: Apache-2.0
"""Messages of a run to its operator: each has its time and appears at once, but the same message at most once a
second."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self, get_args

# detail: for the log file and for users who ask for more; the other words are those of engine/core/notice.hpp
Severity = Literal["detail", "info", "warning", "bad"]
Line = str | tuple[str, Severity]  # a line of the engine carries its severity
MOST_KEPT = 1000  # in summary and report; the log file has all
MOST_LETTERS = 1000
REPEAT_NS = 1_000_000_000
NUMBER = re.compile(r"\d[\d.,]*")


def printable(text: str) -> str:
    """Replaces characters that a terminal must not receive: a text from outside may hold any."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:MOST_LETTERS]


@dataclass(frozen=True)
class Notice:
    """One message. time_ns: wall clock. times: how many equal messages it stands for."""

    time_ns: int
    text: str
    severity: Severity = "warning"
    times: int = 1

    @property
    def words(self) -> str:
        """The message without its time."""
        times = f" ({self.times:,} times)" if self.times > 1 else ""
        return f"{'' if self.severity in ('info', 'detail') else self.severity + ': '}{self.text}{times}"

    @property
    def when(self) -> datetime:
        return datetime.fromtimestamp(self.time_ns * 1e-9).astimezone()

    @property
    def line(self) -> str:
        """For the terminal."""
        return f"{self.when:%H:%M:%S} {self.words}"

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        when = self.when.isoformat(timespec="milliseconds")
        return {
            "time": when,
            "time_ns": self.time_ns,
            "severity": self.severity,
            "text": self.text,
            "times": self.times,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The notice that as_dict() of another process returned. Raises ValueError, TypeError, KeyError."""
        if values["severity"] not in get_args(Severity):
            raise ValueError(f"{values['severity']!r} is no severity of a notice")
        time_ns = min(max(int(values["time_ns"]), 0), 2**62)
        return cls(time_ns, printable(str(values["text"])), values["severity"], max(1, int(values["times"])))


def each_once(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Notices of several nodes in the order of their times; equal ones, which each node may send, appear once."""
    first: dict[str, Notice] = {}
    for notice in sorted(notices, key=lambda one: one.time_ns):
        first.setdefault(notice.text, notice)
    return tuple(first.values())[:MOST_KEPT]


@dataclass
class _Held:
    """The state of one kind of message: when the last one was passed on, and which have waited since."""

    passed_ns: int
    latest: Notice | None = None


class Notices:
    """Passes notices on to its listeners and keeps them. clock: wall clock, ns."""

    def __init__(self, *listeners: Callable[[Notice], None], clock: Callable[[], int] = time.time_ns) -> None:
        self.listeners = list(listeners)
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._kept: list[Notice] = []
        self._n_more = 0

    def report(self, text: str, severity: Severity = "warning") -> None:
        now_ns, kind = self._clock(), _kind(text)
        notice = Notice(now_ns, printable(text), severity)
        held = self._held.get(kind)
        if held and 0 <= now_ns - held.passed_ns < REPEAT_NS:
            held.latest = _with_those_before(notice, held.latest)
            return
        self._pass_on(kind, _with_those_before(notice, held.latest if held else None))

    def report_all(self, lines: Iterable[Line], severity: Severity = "warning") -> None:
        """Passes on several lines. severity: for the lines that carry none."""
        for line in lines:
            text, own = (line, severity) if isinstance(line, str) else line
            self.report(text, own)

    def look(self) -> None:
        """Passes on the notices that have waited for one second."""
        now_ns = self._clock()
        for kind, held in list(self._held.items()):
            if 0 <= now_ns - held.passed_ns < REPEAT_NS:
                continue
            if held.latest:
                self._pass_on(kind, held.latest)
            else:
                del self._held[kind]

    def close(self) -> None:
        """Passes on all notices that still wait."""
        for kind, held in list(self._held.items()):
            if held.latest:
                self._pass_on(kind, held.latest)

    def _pass_on(self, kind: str, notice: Notice) -> None:
        self._held[kind] = _Held(self._clock())
        for listener in self.listeners:
            listener(notice)
        if notice.severity == "detail":
            return
        if len(self._kept) < MOST_KEPT:
            self._kept.append(notice)
        else:
            self._n_more += notice.times

    def kept(self) -> tuple[Notice, ...]:
        """All notices except details, for readers who did not follow the run."""
        more = [Notice(self._clock(), f"and {self._n_more:,} more, which the log has", "info")] if self._n_more else []
        return (*self._kept, *more)


def _kind(text: str) -> str:
    """The kind of a notice: two notices are of one kind if, after the name they begin with, only numbers differ:
    "board 3: 12 late"."""
    about, colon, rest = text.partition(": ")
    return about + colon + NUMBER.sub("#", rest)


def _with_those_before(notice: Notice, before: Notice | None) -> Notice:
    times = before.times + 1 if before else 1
    return Notice(notice.time_ns, notice.text, notice.severity, times)
