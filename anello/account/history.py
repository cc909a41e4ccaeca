# SPDX-License-Identifier: Apache-2.0
"""A run against time, as it was seen at each look: latency since the look before, and what was lost so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.account.leg import LegLatency
from anello.account.quantiles import QUANTILES, can_tell

MOST = 600  # moments; of a longer run every second one goes, again and again


@dataclass(frozen=True)
class Moment:
    """quantiles_ns: of the leg that judges the run, since the moment before; those that its events can tell."""

    time_s: float
    n_events: int  # since the moment before
    quantiles_ns: Mapping[str, float] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)  # by cause, so far
    free: Mapping[str, float] = field(default_factory=dict)  # by stage: share of its buffers


class History:
    """legs: those that may judge the run, the first that has events does."""

    def __init__(self, *legs: str) -> None:
        self._legs = legs
        self._counts: dict[str, NDArray[Any]] = {}
        self._moments: list[Moment] = []
        self._stride, self._n_looks = 1, 0

    def look(
        self,
        time_s: float,
        latency: Mapping[str, LegLatency],
        lost: Mapping[str, int],
        free: Mapping[str, float] | None = None,
    ) -> None:
        """Adds a sample. latency: of the run so far, as in ChainNode.latency."""
        self._n_looks += 1
        if self._n_looks % self._stride:
            return
        n_events, quantiles_ns = self._since_the_last(latency)
        self._moments.append(Moment(time_s, n_events, quantiles_ns, dict(lost), dict(free or {})))
        if len(self._moments) >= MOST:
            self._moments = self._moments[1::2]
            self._stride *= 2

    def _since_the_last(self, latency: Mapping[str, LegLatency]) -> tuple[int, dict[str, float]]:
        leg = next((one for one in self._legs if latency.get(one, {}).get("count")), "")
        if not leg:
            return 0, {}
        counts = np.asarray(latency[leg]["bin_counts"], np.int64)
        gained = counts - self._counts.get(leg, np.zeros_like(counts))
        self._counts[leg] = counts
        return int(gained.sum()), quantiles_of(gained, np.asarray(latency[leg]["bins_ns"], float))

    def moments(self) -> tuple[Moment, ...]:
        return tuple(self._moments)


def quantiles_of(counts: NDArray[np.int64], edges_ns: NDArray[np.float64]) -> dict[str, float]:
    """Quantiles as the upper edges of their bins; those with too few events are left out. counts: int[N], edges_ns:
    float[N + 1]."""
    n, up_to = int(counts.sum()), np.cumsum(counts)
    return {
        name: float(edges_ns[1:][np.searchsorted(up_to, share * n)])
        for name, share in QUANTILES.items()
        if can_tell(n, share)
    }
