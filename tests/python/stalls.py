# SPDX-License-Identifier: Apache-2.0
"""Busy machines: how long a program may stand still, and what a test does when it stood still for longer.

Simulated front ends that stood still were silent, and their later fragments were late, for which no node is to blame.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

import pytest

from anello.account.verdict import Word

PATIENCE_MS = 10_000  # of a node, where a test says that nothing is lost: no machine stands still for that long
FARM_PATIENCE = (f"exchange.timeout_ms={PATIENCE_MS}", f"exchange.peer_timeout_ms={PATIENCE_MS}")  # of a farm's nodes
LONG_NS = 100_000_000  # well below each test's time-outs


def front_ends_stood_still(summary: Mapping[str, Any]) -> bool:
    """True if the front ends fell behind by more than LONG_NS. summary: the run's."""
    source = summary["counters"]["source"]["source"]
    return bool(source["behind_ns_max"] > LONG_NS)


def only_late(summary: Mapping[str, Any]) -> bool:
    """True if all losses without an order came after the test's deadline, and events lack them."""
    flaws = [flaw for flaw in summary["verdict"]["flaws"] if flaw["word"] != Word.GOOD and not flaw["ordered"]]
    late = [flaw for flaw in flaws if "late" in flaw["words"] or "whose end never came" in flaw["words"]]
    lacking = [flaw for flaw in flaws if flaw["word"] == Word.INCOMPLETE]
    return bool(late) and len(late) + len(lacking) == len(flaws)


def machine_stood_still(what: str) -> NoReturn:
    """Leaves the test without a verdict. The first word tells tests/second_try.py to try it again,
    alone; without a verdict then, too, it fails."""
    pytest.skip(f"machine: {what}")
