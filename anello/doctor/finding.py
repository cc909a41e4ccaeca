# SPDX-License-Identifier: Apache-2.0
"""The outcome of a check: a grade, the finding, its cost on this host, and how to fix it."""

from dataclasses import dataclass, replace
from enum import StrEnum
from shlex import quote
from typing import Any


class Grade(StrEnum):
    """Worst first: the order in which findings are shown."""

    BAD = "bad"
    COULD_BE_BETTER = "could be better"
    CANNOT_TELL = "cannot tell"
    GOOD = "good"
    NOT_APPLICABLE = "not applicable"


class NotApplicable(Exception):  # noqa: N818  (it is an answer, not a fault)
    """Raised by a check that has nothing to examine; str() is the reason."""


@dataclass(frozen=True)
class Price:
    """A number measured on this host, now."""

    value: float
    unit: str
    of: str

    def __str__(self) -> str:
        digits = ",.0f" if abs(self.value) >= 100 else ".3g"
        return f"{self.of} {self.value:{digits}} {self.unit}"


class Basis(StrEnum):
    """The source of a cost's number."""

    MEASURED = "measured"  # on this host, now
    ESTIMATED = "estimated"  # the most that the mechanism can take at once
    LOSSES = "losses"  # no number: it delays nothing, it loses data


@dataclass(frozen=True)
class Cost:
    """The latency that the finding adds to p99.9, us."""

    basis: Basis
    us: float = 0.0
    of: str = ""

    def __str__(self) -> str:
        number = f"{self.us:,.0f} µs" if self.us >= 10 else f"{self.us:.2g} µs"
        return {Basis.MEASURED: number, Basis.ESTIMATED: f"≤ {number}", Basis.LOSSES: "losses"}[self.basis]

    def as_dict(self) -> dict[str, Any]:
        return {"basis": str(self.basis), "us": None if self.basis == Basis.LOSSES else self.us, "of": self.of}


@dataclass(frozen=True)
class Fix:
    """commands: shell, as root, until the next boot. persist: shell, for later boots. advice: not for a shell."""

    commands: tuple[str, ...] = ()
    persist: str = ""
    advice: str = ""


@dataclass(frozen=True)
class CheckResult:
    """The return value of a check."""

    result: Grade
    what: str
    fix: Fix | None = None
    prices: tuple[Price, ...] = ()
    cost: Cost | None = None


@dataclass(frozen=True)
class Finding:
    """A verdict with the check's name and the reason why it matters."""

    check: str
    why: str
    result: Grade
    what: str
    fix: Fix | None = None
    prices: tuple[Price, ...] = ()
    cost: Cost | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "result": str(self.result),
            "what": self.what,
            "why": self.why,
            "fix": None
            if self.fix is None
            else {
                "commands": list(self.fix.commands),
                "persist": self.fix.persist,
                "advice": self.fix.advice,
            },
            "prices": [{"of": price.of, "value": price.value, "unit": price.unit} for price in self.prices],
            "p99.9": None if self.cost is None else self.cost.as_dict(),
        }


def good(what: str, *prices: Price) -> CheckResult:
    return CheckResult(Grade.GOOD, what, None, prices)


def not_applicable(what: str, *prices: Price) -> CheckResult:
    return CheckResult(Grade.NOT_APPLICABLE, what, None, prices)


def better(what: str, fix: Fix, *prices: Price) -> CheckResult:
    """A finding that works, and would work better after the fix."""
    return CheckResult(Grade.COULD_BE_BETTER, what, fix, prices)


def bad(what: str, fix: Fix, *prices: Price) -> CheckResult:
    """A finding that loses data or misses deadlines until it is fixed."""
    return CheckResult(Grade.BAD, what, fix, prices)


def costing(verdict: CheckResult, us: float, of: str) -> CheckResult:
    """The verdict with its measured cost."""
    return replace(verdict, cost=Cost(Basis.MEASURED, us, of))


def sysctl(check: str, **values: int | str) -> Fix:
    """Sets kernel parameters; a key's dots are written as two underscores."""
    settings = {name.replace("__", "."): value for name, value in values.items()}
    lines = "".join(f"{name} = {value}\\n" for name, value in settings.items())
    return Fix(
        tuple(f"sysctl -w {quote(f'{name}={value}')}" for name, value in settings.items()),
        f"printf '{lines}' > /etc/sysctl.d/90-anello-{check}.conf",
    )


def sysfs(check: str, value: object, *paths: str) -> Fix:
    """Writes one value into the files of /sys that match the paths, which may contain stars."""
    lines = "".join(f"w /{path} - - - - {value}\\n" for path in paths)
    return Fix(
        (f"echo {value} | tee {' '.join(f'/{path}' for path in paths)}",),
        f"printf '{lines}' > /etc/tmpfiles.d/90-anello-{check}.conf",
    )
