# SPDX-License-Identifier: Apache-2.0
"""Rules for alarms: `[warning:] FIGURE > VALUE [for SECONDS s]`, or <. One line each, in the configuration."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from anello.configuration.alarm_figures import FIGURES, Sample

FORM = re.compile(
    r"(?P<warning>warning:)?\s*(?P<figure>\w+)\s*(?P<sign>[<>])\s*(?P<value>[-+.\deE]+)(\s+for\s+(?P<seconds>[.\d]+)\s*s)?"
)


@dataclass(frozen=True)
class Rule:
    figure: str
    is_above: bool
    value: float
    seconds: float = 0.0  # s; how long the condition must hold
    is_warning: bool = False

    @property
    def text(self) -> str:
        """The rule as it is written."""
        kept = f" for {self.seconds:g} s" if self.seconds else ""
        before = "warning: " if self.is_warning else ""
        return f"{before}{self.figure} {'>' if self.is_above else '<'} {self.value:g}{kept}"

    def is_met(self, sample: Sample) -> bool:
        """True if the sample meets the rule. False where the figure is not there."""
        value = sample.get(self.figure)
        return value is not None and (value > self.value if self.is_above else value < self.value)

    def words(self, sample: Sample) -> str:
        """The rule with the sample's value, in words."""
        figure = FIGURES[self.figure]
        return f"{figure.meaning}: {sample[self.figure]:.4g} {figure.unit}".rstrip() + f" ({self.text})"


def parse(text: str) -> Rule:
    """Reads a rule. Raises ValueError with a description of the form."""
    found = FORM.fullmatch(text.strip())
    try:
        assert found is not None
        value, seconds = float(found["value"]), float(found["seconds"] or 0)
    except (AssertionError, ValueError):
        raise ValueError("must have the form FIGURE > VALUE [for SECONDS s], or <") from None
    if found["figure"] not in FIGURES:
        raise ValueError(f"must begin with one of {', '.join(FIGURES)}")
    return Rule(found["figure"], found["sign"] == ">", value, seconds, bool(found["warning"]))


@dataclass(frozen=True)
class Change:
    """A rule's alarm is raised, or cleared."""

    rule: Rule
    is_raised: bool
    words: str


class Watch:
    """Checks rules against one sample after another. A rule whose condition changes often keeps its alarm until it
    has not been met for as long as it had to be met, at least a second."""

    LEAST_CLEAR_S = 1.0

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._since_s: dict[Rule, float] = {}  # since when a rule is met and not raised, or raised and not met
        self._raised: set[Rule] = set()

    @property
    def raised(self) -> frozenset[Rule]:
        return frozenset(self._raised)

    def look(self, sample: Sample, now_s: float) -> list[Change]:
        """Checks one sample. now_s: on any clock that never goes back."""
        return [change for rule in self._rules if (change := self._look(rule, sample, now_s))]

    def _look(self, rule: Rule, sample: Sample, now_s: float) -> Change | None:
        is_met, is_raised = rule.is_met(sample), rule in self._raised
        if is_met == is_raised:
            self._since_s.pop(rule, None)
            return None
        needed_s = max(rule.seconds, self.LEAST_CLEAR_S) if is_raised else rule.seconds
        if now_s - self._since_s.setdefault(rule, now_s) < needed_s:
            return None
        del self._since_s[rule]
        if is_met:
            self._raised.add(rule)
            return Change(rule, True, rule.words(sample))
        self._raised.discard(rule)
        return Change(rule, False, rule.text)
