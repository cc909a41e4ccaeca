# SPDX-License-Identifier: Apache-2.0
"""Alarms of a control room: by the rules of the configuration, and when a run did not end in order."""

import time
from collections.abc import Callable
from typing import Protocol

from anello.configuration.alarm_figures import Sample
from anello.configuration.alarm_rules import Rule, Watch, parse
from anello.configuration.base import Config
from anello.control.hook import Hook
from anello.control.operator import Status
from anello.control.states import State

RUN_LOST = "run lost"  # the rule of runs that failed


class Keeps(Protocol):
    """Where alarms are stored: in the catalogue (AlarmTable)."""

    def raise_alarm(self, rule: str, text: str, *, run: int | None = None, severity: str = "alarm") -> int: ...
    def clear_alarm(self, rule: str) -> bool: ...


class Alarms:
    """Raises and clears alarms; one thread uses it. notify: receives messages about the hook. clock: never goes back,
    s."""

    def __init__(
        self, keeps: Keeps, notify: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keeps, self._notify, self._clock = keeps, notify, clock
        self._config: Config | None = None
        self._watch, self._hook = Watch([]), Hook("", 1.0, notify)
        self._is_lost = False

    def follow(self, config: Config | None) -> None:
        """Uses the configuration's rules from now on; alarms of other rules are cleared."""
        if config is None or config is self._config:
            return
        rules = [parse(text) for text in config.alarms.rules]
        for rule in self._watch.raised - set(rules):
            self._clear(rule.text, None)
        self._config, self._watch = config, Watch(rules)
        self._hook = Hook(config.alarms.hook, config.alarms.hook_timeout_s, self._notify)

    def look(self, status: Status, sample: Sample) -> None:
        """Checks the rules against a sample. Raises CatalogueError."""
        self._look_at_state(status)
        for change in self._watch.look(sample, self._clock()):
            if change.is_raised:
                self._raise(change.rule, change.words, status.run)
            else:
                self._clear(change.rule.text, status.run)

    def wait(self) -> None:
        """Waits for the commands that were started."""
        self._hook.wait()

    def _look_at_state(self, status: Status) -> None:
        """Raises the alarm for a failed run, which stays until somebody resets."""
        was_lost, self._is_lost = self._is_lost, status.state is State.ERROR
        if self._is_lost and not was_lost:
            self._keeps.raise_alarm(RUN_LOST, status.cause, run=status.run)
            self._run_hook(RUN_LOST, "raised", "alarm", status.cause, status.run)
        if was_lost and not self._is_lost:
            self._clear(RUN_LOST, status.run)

    def _raise(self, rule: Rule, words: str, run: int | None) -> None:
        severity = "warning" if rule.is_warning else "alarm"
        self._keeps.raise_alarm(rule.text, words, run=run, severity=severity)
        self._run_hook(rule.text, "raised", severity, words, run)

    def _clear(self, rule: str, run: int | None) -> None:
        self._keeps.clear_alarm(rule)
        self._run_hook(rule, "cleared", "", "", run)

    def _run_hook(self, rule: str, state: str, severity: str, words: str, run: int | None) -> None:
        self._hook.run(
            {
                "ANELLO_ALARM": rule,
                "ANELLO_ALARM_STATE": state,
                "ANELLO_ALARM_SEVERITY": severity,
                "ANELLO_ALARM_WORDS": words,
                "ANELLO_RUN": "" if run is None else str(run),
            }
        )
