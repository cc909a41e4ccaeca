# SPDX-License-Identifier: Apache-2.0
"""The latency of one leg: a part of the way from packet to decision."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from anello.account.quantiles import QUANTILES, can_tell

Statistic = Literal["mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns"]
STATISTICS: tuple[Statistic, ...] = ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")


class LegLatency(TypedDict, total=False):
    """How long events took, in ns, with the histogram. A quantile with too few events beyond it is None
    (anello.account.quantiles)."""

    count: int
    mean_ns: float
    p50_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    p999_ns: float | None
    p9999_ns: float | None
    max_ns: float
    above_1ms: int
    bins_ns: Sequence[float] | NDArray[np.float64]  # edges: one more than bins
    bin_counts: Sequence[int] | NDArray[np.int64]


class LegOverTime(TypedDict):
    """The latency of one leg against time, in bins of the wall clock. All arrays: uint64[N]."""

    begin_ns: int
    bin_ns: int
    count: NDArray[np.uint64]
    sum_ns: NDArray[np.uint64]
    max_ns: NDArray[np.uint64]
    n_late: NDArray[np.uint64]  # above 1 ms


class CoreHiccups(TypedDict):
    """Wake-up delays of one core of the machine."""

    delays: LegLatency
    over_time: LegOverTime
    is_on_the_way: bool  # a thread of the chain is pinned to this core, or no thread is pinned
    is_realtime: bool


def honest(leg: LegLatency) -> LegLatency:
    """The leg, with None for each quantile that has too few events beyond it."""
    count = int(leg.get("count", 0))
    unknown = {name: None for name, share in QUANTILES.items() if name in leg and not can_tell(count, share)}
    return cast("LegLatency", {**leg, **unknown})


def honest_legs(legs: Mapping[str, LegLatency]) -> dict[str, LegLatency]:
    return {name: honest(leg) for name, leg in legs.items()}


def merged(stages: Sequence[LegLatency]) -> LegLatency:
    """The leg's latency over several nodes: their histograms are added bin by bin."""
    edges = [np.asarray(stage["bins_ns"], dtype=float) for stage in stages]
    counts = [np.asarray(stage["bin_counts"], dtype=np.int64) for stage in stages]
    lowers, uppers, sums = _added_up(edges, counts)
    total = sum(int(stage["count"]) for stage in stages)
    most = max((float(stage["max_ns"]) for stage in stages), default=0.0)
    found = {name: min(_quantile(uppers, sums, share), most) for name, share in QUANTILES.items()}
    weighted = sum(float(stage["mean_ns"]) * int(stage["count"]) for stage in stages)
    whole = found | {
        "count": total,
        "mean_ns": weighted / total if total else 0.0,
        "max_ns": most,
        "above_1ms": sum(int(stage["above_1ms"]) for stage in stages),
        "bins_ns": [*lowers.tolist(), float(uppers[-1])] if len(lowers) else [],
        "bin_counts": sums.tolist(),
    }
    return honest(cast("LegLatency", whole))


def _added_up(
    edges: Sequence[np.ndarray[Any, Any]], counts: Sequence[np.ndarray[Any, Any]]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Lower edges, upper edges and counts of all bins of all histograms."""
    if not any(len(one) for one in counts):
        return np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)
    low = np.concatenate([edge[: len(n)] for edge, n in zip(edges, counts, strict=True)])
    high = np.concatenate([edge[1 : len(n) + 1] for edge, n in zip(edges, counts, strict=True)])
    lowers, first, place = np.unique(low, return_index=True, return_inverse=True)
    sums = np.zeros(len(lowers), dtype=np.int64)
    np.add.at(sums, place, np.concatenate(counts))
    return lowers, high[first], sums


def _quantile(uppers: np.ndarray[Any, Any], counts: np.ndarray[Any, Any], share: float) -> float:
    """The quantile as the upper edge of its bin."""
    n = int(counts.sum())
    return float(uppers[np.searchsorted(np.cumsum(counts), share * n)]) if n else 0.0


def slim(stage: LegLatency) -> LegLatency:
    """A leg's statistics as plain values, without the empty bins below the first and above the last event."""
    edges, counts = np.asarray(stage["bins_ns"], dtype=float), np.asarray(stage["bin_counts"])
    filled = np.flatnonzero(counts)
    first, last = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 0)
    edges = edges[first : last + 1] if len(filled) else edges[:0]
    rest = {name: _plain(value) for name, value in stage.items() if name not in ("bins_ns", "bin_counts")}
    bins = {"bins_ns": edges.tolist(), "bin_counts": [int(count) for count in counts[first:last]]}
    return cast("LegLatency", rest | bins)


def _plain(value: Any) -> float | int:
    number = float(value)
    return int(number) if math.isfinite(number) and number == int(number) else number
