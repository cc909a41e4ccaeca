# SPDX-License-Identifier: Apache-2.0
"""Shares with their error bars, which count independent trials: trials that vary together are counted together."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Share:
    """A share: n of total, with the Wilson interval of one standard deviation (68.3 %) for that many independent
    trials."""

    n: int
    total: int
    value: float
    low: float
    high: float
    independent: float = 0.0


def share(n: int, total: int, independent: float | None = None) -> Share:
    """Makes a share. independent: the number of independent trials that the trials are worth; None: all. Raises
    ValueError unless 0 <= n <= total; a share of nothing is NaN, anything between 0 and 1."""
    if not 0 <= n <= total:
        raise ValueError(f"a share of {n} of {total} does not exist")
    if total == 0:
        return Share(0, 0, math.nan, 0.0, 1.0)
    p, m = n / total, float(total if independent is None else independent)
    middle = (p + 0.5 / m) / (1 + 1 / m)
    half = math.sqrt(p * (1 - p) / m + 0.25 / m**2) / (1 + 1 / m)
    # At 0 and 1 the interval ends at the share; rounding must not put it inside.
    return Share(n, total, p, max(0.0, min(p, middle - half)), min(1.0, max(p, middle + half)), m)


def share_by_event(is_so: NDArray[np.bool_], event: NDArray[Any]) -> Share:
    """The share of trials for which is_so holds. is_so: bool[T], of T trials; event: int[T], which of them vary
    together. Raises ValueError on other shapes.

    The trials are worth p (1 - p) / s^2 independent ones, where s^2 is the variance of the share p as a ratio of two
    sums over events (Cochran, Sampling Techniques, 1977, ch. 6); where all have the same outcome, as many as there are
    events.
    """
    if is_so.ndim != 1 or is_so.shape != event.shape:
        raise ValueError(f"trials of shape {is_so.shape} cannot be those of events of shape {event.shape}")
    n, total = int(is_so.sum()), len(is_so)
    if total == 0:
        return share(0, 0)
    _, index = np.unique(event, return_inverse=True)
    n_trials = np.bincount(index).astype(float)
    n_so, n_events, p = np.bincount(index, weights=is_so), len(n_trials), n / total
    variance = float(((n_so - p * n_trials) ** 2).sum()) / total**2
    if n_events < 2 or variance == 0.0:
        return share(n, total, n_events)
    variance *= n_events / (n_events - 1)
    return share(n, total, min(p * (1 - p) / variance, float(total)))
