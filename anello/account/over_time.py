# SPDX-License-Identifier: Apache-2.0
"""Latency against time, together with the delay with which the machine woke a thread: which late events that explains.

Both are series of bins that begin at whole multiples of their length (latency_series.hpp of the engine), so that bins
of both series coincide. The rule by which the machine explains an event is conservative: see explained().
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anello.account.leg import CoreHiccups, LegLatency, LegOverTime, Statistic

LIMIT_MS = 1  # the engine counts an event above this latency as late
# longest bin for which a hiccup explains a late event: in longer bins a chance coincidence is too likely
LONGEST_TELLING_NS = 40_000_000


@dataclass(frozen=True)
class Series:
    """A series of bins of bin_ns from begin_ns (wall clock) on. count, sum_ns, max_ns, n_late: uint64[N]."""

    begin_ns: int
    bin_ns: int
    count: NDArray[np.uint64]
    sum_ns: NDArray[np.uint64]
    max_ns: NDArray[np.uint64]
    n_late: NDArray[np.uint64]

    @classmethod
    def of(cls, values: LegOverTime) -> Self:
        return cls(**values)

    @property
    def end_ns(self) -> int:
        return self.begin_ns + self.bin_ns * len(self.count)

    def over(self, begin_ns: int, bin_ns: int, n_bins: int) -> Self:
        """The same series in coarser bins, which begin at a multiple of bin_ns; bin_ns: a multiple of this series'
        own."""
        at = (self.begin_ns + self.bin_ns * np.arange(len(self.count)) - begin_ns) // bin_ns
        inside = (at >= 0) & (at < n_bins)

        def added(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
            sums = np.zeros(n_bins, np.uint64)
            np.add.at(sums, at[inside], values[inside])
            return sums

        greatest = np.zeros(n_bins, np.uint64)
        np.maximum.at(greatest, at[inside], self.max_ns[inside])
        return type(self)(begin_ns, bin_ns, added(self.count), added(self.sum_ns), greatest, added(self.n_late))


@dataclass(frozen=True)
class Hiccups:
    """Wake-up delays of one core. delays: statistics, as of a leg."""

    core: int
    delays: LegLatency
    series: Series
    is_on_the_way: bool  # a thread of the chain is pinned to this core, or no thread is pinned
    is_realtime: bool

    @classmethod
    def of(cls, by_core: Mapping[int, CoreHiccups]) -> tuple[Self, ...]:
        """The wake-up delays of every core in ChainNode.hiccups."""
        return tuple(
            cls(core, one["delays"], Series.of(one["over_time"]), one["is_on_the_way"], one["is_realtime"])
            for core, one in sorted(by_core.items())
            if one["delays"]["count"]
        )


@dataclass(frozen=True)
class Together:
    """A leg and the machine's longest hiccup on any core, in the same bins."""

    latency: Series
    hiccup_ns: NDArray[np.uint64]

    @classmethod
    def of(cls, latency: Series, hiccups: Iterable[Hiccups]) -> Self | None:
        """Puts both series into common bins. None where one of them is empty."""
        if not len(latency.count):
            return None
        watched = [one.series for one in hiccups if len(one.series.count)]
        bin_ns = max(one.bin_ns for one in (latency, *watched))
        begin_ns = latency.begin_ns // bin_ns * bin_ns
        n_bins = -(-(latency.end_ns - begin_ns) // bin_ns)
        greatest = np.zeros(n_bins, np.uint64)
        for one in watched:
            greatest = np.maximum(greatest, one.over(begin_ns, bin_ns, n_bins).max_ns)
        return cls(latency.over(begin_ns, bin_ns, n_bins), greatest)

    @property
    def explained(self) -> NDArray[np.bool_]:
        """Bins whose late events the machine explains: a hiccup that ended in the bin, or in the one before, was at
        least half as long as the bin's greatest latency."""
        before = np.concatenate(([0], self.hiccup_ns[:-1])).astype(np.uint64)
        return np.asarray(2 * np.maximum(self.hiccup_ns, before) >= self.latency.max_ns)

    @property
    def n_late(self) -> int:
        return int(self.latency.n_late.sum())

    @property
    def n_explained(self) -> int | None:
        """Number of late events in the explained bins; None where bins are too long to decide."""
        if self.latency.bin_ns > LONGEST_TELLING_NS:
            return None
        return int(self.latency.n_late[self.explained].sum())


@dataclass(frozen=True)
class MachineActivity:
    """What a run recorded of the machine's own delays."""

    leg: str
    together: Together | None
    hiccups: tuple[Hiccups, ...]  # of the cores that the leg depends on

    @classmethod
    def of(
        cls,
        leg: str,
        latency: Mapping[str, LegOverTime],
        hiccups: Mapping[int, CoreHiccups],
        one_host: bool,
    ) -> Self:
        """Built from a node's records. one_host: the front ends ran here too, so that a latency also depends on
        other cores than the chain's."""
        watched = tuple(one for one in Hiccups.of(hiccups) if one_host or one.is_on_the_way)
        return cls(leg, Together.of(Series.of(latency[leg]), watched) if leg in latency else None, watched)

    @property
    def floor_ns(self) -> float | None:
        """Lower limit of any p99.9 of the latency: the p99.9 of the worst core's wake-up delay. None: unknown."""
        known = [one.delays["p999_ns"] for one in self.hiccups if one.delays["p999_ns"] is not None]
        return max(known, default=None)

    def as_dict(self) -> dict[str, Any] | None:
        """The values for summary.json; None where the machine was not watched."""
        if not self.hiccups:
            return None
        late = (
            {
                "leg": self.leg,
                "n": self.together.n_late,
                "explained": self.together.n_explained,
                "bin_ns": self.together.latency.bin_ns,
            }
            if self.together
            else None
        )
        keys: tuple[Statistic, ...] = ("p50_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")
        return {
            "floor_p999_ns": self.floor_ns,
            "late": late,
            "cores": {
                str(one.core): {"count": one.delays["count"]}
                | {key: one.delays[key] for key in keys}
                | {"on_the_way": one.is_on_the_way, "realtime": one.is_realtime}
                for one in self.hiccups
            },
        }

    @property
    def line(self) -> str:
        """The delays in words; empty where nothing is known."""
        if self.floor_ns is None:
            return ""  # too few wake-ups were recorded, or none
        words = f"machine's own floor p99.9 {self.floor_ns * 1e-6:.2f} ms"
        if self.together is None:
            return words
        n_late, n_explained = self.together.n_late, self.together.n_explained
        if not n_late:
            return f"{words}; no event above {LIMIT_MS} ms"
        if n_explained is None:
            return f"{words}; {n_late:,} events above {LIMIT_MS} ms, in a run too long to tell which are in its hiccups"
        return f"{words}; {n_explained:,} of {n_late:,} events above {LIMIT_MS} ms in its hiccups"
