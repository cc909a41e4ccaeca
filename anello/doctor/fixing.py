# SPDX-License-Identifier: Apache-2.0
"""Fixes as a shell script to read, or carried out one by one. No other part of the doctor changes anything."""

import errno
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from anello.doctor.checks import examine
from anello.doctor.finding import Finding
from anello.doctor.subject import Subject
from anello.host.host import Host

TIMEOUT_S = 30


@dataclass(frozen=True)
class FixOutcome:
    """The result of one command; failure is empty if it worked."""

    check: str
    command: str
    failure: str

    def as_dict(self) -> dict[str, Any]:
        return {"check": self.check, "command": self.command, "failure": self.failure}


def script(findings: Sequence[Finding]) -> Iterator[str]:
    """Lines of a shell script. Commands that keep a setting over a reboot, and advice, are comments."""
    yield "#!/bin/sh"
    yield "# run as root; settings last until the next boot unless the commented line under them is run too"
    for finding in findings:
        if finding.fix is None:
            continue
        yield ""
        yield f"# {finding.check}, {finding.result}: {finding.what}"
        yield from finding.fix.commands
        if finding.fix.persist:
            yield f"# to keep it: {finding.fix.persist}"
        if finding.fix.advice:
            yield f"# {finding.fix.advice}"


def require_root() -> None:
    if os.geteuid() != 0:
        raise PermissionError(errno.EPERM, "only root may change the host: sudo anello doctor --fix --yes")


def carry_out(findings: Sequence[Finding]) -> list[FixOutcome]:
    """Runs the commands of all fixes, as they stand in the script."""
    return [
        FixOutcome(finding.check, command, _run(command))
        for finding in findings
        if finding.fix is not None
        for command in finding.fix.commands
    ]


def _run(command: str) -> str:
    """Runs a command and returns why it failed; empty where it worked."""
    try:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"it took longer than {TIMEOUT_S} s"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def examine_again(
    host: Host, subject: Subject, findings: Sequence[Finding], outcomes: Sequence[FixOutcome]
) -> list[Finding]:
    """The findings; those for which a command was run are examined again."""
    touched = {outcome.check for outcome in outcomes}
    if not touched:
        return list(findings)
    renewed = {finding.check: finding for finding in examine(host, subject, sorted(touched))}
    return [renewed.get(finding.check, finding) for finding in findings]
