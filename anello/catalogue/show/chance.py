# SPDX-License-Identifier: Apache-2.0
"""The probability that chance alone makes two runs differ as much. Events are taken as independent: where losses and
late events come in bursts, chance makes larger differences than this says."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 1000  # sum of the counts up to which the calculation is exact; above it uses the normal distribution
TERMS = 100  # number of terms of Kolmogorov's series

Bins = Sequence[Sequence[float]]  # lower edge, upper edge, count


def of_counts(first: int, first_of: float, second: int, second_of: float) -> float:
    """Two counts of rare events, in so many tries or so much time each: the probability that equal rates give a
    split at least as uneven. 1 where there is nothing to compare."""
    total, share = first + second, first_of / (first_of + second_of) if first_of + second_of > 0 else 0.0
    if not total or not 0.0 < share < 1.0:
        return 1.0
    if total > EXACT_UP_TO:
        return of_sigma((first - total * share) / math.sqrt(total * share * (1 - share)))
    likely = _binomial(total, share)
    return min(1.0, float(likely[likely <= likely[first] * (1 + 1e-9)].sum()))


def of_shares(first: int, first_of: int, second: int, second_of: int) -> float:
    """Two counts out of so many each: the probability of a difference at least as great in the share."""
    if not first_of or not second_of:
        return 1.0
    pooled = (first + second) / (first_of + second_of)
    if first + second <= EXACT_UP_TO:
        return of_counts(first, first_of, second, second_of)
    error = math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / first_of + 1 / second_of))
    return of_sigma((first / first_of - second / second_of) / error) if error else 1.0


def of_sigma(sigma: float) -> float:
    """The probability of a value at least so many sigma from 0, on either side, in a normal distribution."""
    return math.erfc(abs(sigma) / math.sqrt(2))


def of_distance(distance: float, n_first: int, n_second: int) -> float:
    """The probability by Kolmogorov and Smirnov, for many events; with binned data the true one is higher."""
    if not n_first or not n_second:
        return 1.0
    root = math.sqrt(n_first * n_second / (n_first + n_second))
    scaled = (root + 0.12 + 0.11 / root) * distance  # M. A. Stephens, J. R. Stat. Soc. B 32 (1970) 115
    if scaled < 0.2:  # below this the series converges slowly, and the result is 1
        return 1.0
    terms = ((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, TERMS))
    return float(min(1.0, max(0.0, 2 * sum(terms))))


def distance(first: Bins, second: Bins) -> float:
    """The greatest difference between two cumulative distributions, at the bins' edges."""
    edges = np.unique([bin_[1] for bin_ in (*first, *second)])
    return float(np.abs(_below(first, edges) - _below(second, edges)).max(initial=0.0))


def n_from(bins: Bins, edge: float) -> int:
    """Number of events in the bin that ends at this edge, and in all bins above."""
    return int(sum(bin_[2] for bin_ in bins if bin_[1] >= edge))


def quantile(bins: Bins, share: float) -> float:
    """The upper edge of the bin that holds this quantile. Raises ValueError where there is no event."""
    total, seen = sum(bin_[2] for bin_ in bins), 0.0
    for _, upper, count in sorted(bins, key=lambda bin_: bin_[1]):
        seen += count
        if seen >= share * total:
            return upper
    raise ValueError("there are no events")


def _below(bins: Bins, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of the events in bins that end at or below each edge."""
    ordered = sorted(bins, key=lambda bin_: bin_[1])
    sums = np.concatenate(([0.0], np.cumsum([bin_[2] for bin_ in ordered])))
    below = sums[np.searchsorted([bin_[1] for bin_ in ordered], edges, side="right")]
    return np.asarray(below / max(float(sums[-1]), 1.0))


def _binomial(n: int, share: float) -> NDArray[np.float64]:
    """The binomial probability of each number from 0 to n."""
    ways = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    k = np.arange(n + 1)
    return np.asarray(np.exp(np.asarray(ways) + k * math.log(share) + (n - k) * math.log1p(-share)))
