# SPDX-License-Identifier: Apache-2.0
"""Whether simulated front ends stood still during a run: then boards were silent, and what came later was late, for
which no node is to blame."""

from collections.abc import Mapping
from typing import Any

LONG_NS = 100_000_000  # well below each test's time-outs


def front_ends_stood_still(summary: Mapping[str, Any]) -> bool:
    """summary: of the run. On a machine whose cores others take."""
    source = summary["counters"]["source"]["source"]
    return bool(source["behind_ns_max"] > LONG_NS)
