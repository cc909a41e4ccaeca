# SPDX-License-Identifier: Apache-2.0
"""The numbers of a run in summary.json."""

import json
import math
from pathlib import Path
from typing import Any

from anello.account.leg import LegLatency
from anello.account.record import Record
from anello.nanet import stages
from anello.registry import presentation_of
from anello.report.share import Share


def write(record: Record, path: Path) -> None:
    """Writes all results as JSON."""
    path.write_text(json.dumps(no_nan(summary(record)), indent=1) + "\n")


def line(record: Record) -> str:
    """The summary on one line, for a program that started the run."""
    return json.dumps(no_nan(summary(record)))


def summary(record: Record) -> dict[str, Any]:
    """All results as plain values; docs/reference/summary.md explains them."""
    return {
        "name": record.config.run.name,
        "origin": record.origin.as_dict() if record.origin else None,
        "balanced": record.ledger().balanced,
        "verdict": record.verdict().as_dict(),
        "interrupted": record.interrupted,
        "wall_s": record.wall_s,
        **presentation_of(record).results(),
        "latency": {name: _statistics(stage) for name, stage in record.latency.items()},
        "machine": record.machine.as_dict(),
        "ledger": record.ledger().as_dict(),
        "card": stages.results(record.node),
        "cpu": record.cpu,
        "one_host": record.one_host,
        "interface": record.interface,
        "states": dict(record.states),
        "notices": [notice.as_dict() for notice in record.notices],
        "counters": {"node": record.node, "source": record.source},
        "config": record.config.flat(),
    }


def _statistics(stage: LegLatency) -> dict[str, object]:
    return {name: value for name, value in stage.items() if name not in ("bins_ns", "bin_counts")}


def no_nan(value: Any) -> Any:
    """The value without NaN, which JSON does not have: it becomes null."""
    if isinstance(value, dict):
        return {key: no_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [no_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def in_percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.4g} %"


def percent(share: Share) -> str:
    """A share with its interval of one standard deviation, rounded to significant digits."""
    if not share.total:
        return "-"
    return f"{100 * share.value:.1f} ± {50 * (share.high - share.low):.1f} %"
