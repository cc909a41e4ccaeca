# SPDX-License-Identifier: Apache-2.0
"""Made-up runs for the catalogue."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

from anello.catalogue.process import Process
from anello.configuration.origin import Origin, digest

START_NS = 1_800_000_000_000_000_000


class Clock:
    """Wall clock that stands still until it is set."""

    def __init__(self, now_ns: int = START_NS) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def origin(**other: Any) -> Origin:
    values = other.pop("values", {"run.name": "made", "source.rate_hz": 5e4})
    made = Origin(
        name="made", chain="made-up", started_ns=START_NS, host="here", user="shift", version="0.1.0", commit="",
        command="anello run made.toml", config_digest=digest(values), configuration="", values=values,
    )  # fmt: skip
    return replace(made, **other)


def ended_process() -> Process:
    """A process of this machine that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        return Process.of(child.pid)
