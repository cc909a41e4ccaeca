# SPDX-License-Identifier: Apache-2.0
"""The latency of one leg (a part of the way from packet to decision) with its histogram: count, mean_ns, p50_ns ...
max_ns, above_1ms, bins_ns (edges), bin_counts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anello.account.quantiles import QUANTILES, honest


def merged(stages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The leg's latency over several nodes: their histograms are added bin by bin."""
    edges = [np.asarray(stage["bins_ns"], dtype=float) for stage in stages]
    counts = [np.asarray(stage["bin_counts"], dtype=np.int64) for stage in stages]
    lowers, uppers, sums = _added_up(edges, counts)
    total = sum(int(stage["count"]) for stage in stages)
    most = max((float(stage["max_ns"]) for stage in stages), default=0.0)
    found = {name: min(_quantile(uppers, sums, share), most) for name, share in QUANTILES.items()}
    weighted = sum(float(stage["mean_ns"]) * int(stage["count"]) for stage in stages)
    return honest(
        found
        | {
            "count": total,
            "mean_ns": weighted / total if total else 0.0,
            "max_ns": most,
            "above_1ms": sum(int(stage["above_1ms"]) for stage in stages),
            "bins_ns": [*lowers.tolist(), float(uppers[-1])] if len(lowers) else [],
            "bin_counts": sums.tolist(),
        }
    )


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


def slim(stage: Mapping[str, Any]) -> dict[str, Any]:
    """A leg's statistics as plain values, without the empty bins below the first and above the last event."""
    edges, counts = np.asarray(stage["bins_ns"], dtype=float), np.asarray(stage["bin_counts"])
    filled = np.flatnonzero(counts)
    first, last = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 0)
    edges = edges[first : last + 1] if len(filled) else edges[:0]
    rest = {name: _plain(value) for name, value in stage.items() if name not in ("bins_ns", "bin_counts")}
    return rest | {"bins_ns": edges.tolist(), "bin_counts": [int(count) for count in counts[first:last]]}


def _plain(value: Any) -> float | int:
    number = float(value)
    return int(number) if math.isfinite(number) and number == int(number) else number
