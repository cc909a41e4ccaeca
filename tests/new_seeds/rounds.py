# SPDX-License-Identifier: Apache-2.0
"""A search: kind after kind, round by round, each with its share of the time."""

import threading
import time
from collections.abc import Sequence

from new_seeds.account import Account
from new_seeds.cases import Finding
from new_seeds.kind import Kind
from new_seeds.program import NotRunError, Turn

ROUND_S = 600.0
LEAST_TURN_S = 1.0
LEAST_ROUND_S = 10.0  # a shorter one is no round: the search ends a little early
FOUND, NOT_SEARCHED = 1, 2


class Search:
    def __init__(self, kinds: Sequence[Kind], account: Account, stop: threading.Event) -> None:
        self._account, self._stop = account, stop
        self._findings: list[Finding] = []
        self._not_run: list[str] = []
        self._kinds = [kind for kind in kinds if self._is_there(kind)]

    def run(self, seconds: float) -> int:
        """Searches for about this time; returns the exit code."""
        if not self._kinds:
            print("nothing can be searched here")
            return NOT_SEARCHED
        until_s = time.monotonic() + seconds
        self._round(min(seconds, ROUND_S))
        while (left_s := until_s - time.monotonic()) >= LEAST_ROUND_S and self._kinds and not self._stop.is_set():
            self._round(min(left_s, ROUND_S))
        self._print_findings()
        if self._findings:
            return FOUND
        return NOT_SEARCHED if self._not_run else 0

    def _is_there(self, kind: Kind) -> bool:
        why = kind.missing()
        if why:
            print(f"  {kind.name:10} skipped: {why}", flush=True)
        return not why

    def _round(self, seconds: float) -> None:
        """If one kind takes too long, all after it have less time, but each has a turn."""
        until_s = time.monotonic() + seconds
        kinds = list(self._kinds)
        for i, kind in enumerate(kinds):
            if self._stop.is_set():
                return
            left_s = (until_s - time.monotonic()) * kind.share / sum(one.share for one in kinds[i:])
            self._turn(kind, max(left_s, LEAST_TURN_S))

    def _turn(self, kind: Kind, seconds: float) -> None:
        begun_s = time.monotonic()
        try:
            outcome = kind.search(Turn(seconds, self._stop))
        except NotRunError as error:
            print(f"  {kind.name:10} NOT searched: {error}", flush=True)
            self._not_run.append(kind.name)
            self._kinds.remove(kind)
            return
        if kind.missing():  # it has nothing left to try
            self._kinds.remove(kind)
        self._account.add(outcome.counts, len(outcome.findings))
        self._findings += outcome.findings
        print(f"  {kind.name:10} {time.monotonic() - begun_s:6.1f} s  {outcome.words}", flush=True)
        for finding in outcome.findings:
            print_finding(finding)

    def _print_findings(self) -> None:
        words = (f"{number:,} {name.replace('_', ' ')}" for name, number in self._account.ever().items())
        print(f"over all time: {', '.join(words)}")
        if self._findings:
            print(f"{len(self._findings)} FOUND; each is shown by the command above:")
            for finding in self._findings:
                print(f"  {finding.what}\n    {finding.where}")
        elif self._not_run:
            print(f"nothing found; could not be searched: {', '.join(self._not_run)}")
        else:
            print("nothing found" + (", ended early" if self._stop.is_set() else ""))


def print_finding(finding: Finding) -> None:
    print(f"    FOUND    {finding.what}\n    case     {finding.where}\n    shown by {finding.again}", flush=True)
