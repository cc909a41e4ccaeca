# SPDX-License-Identifier: Apache-2.0
"""Which quantiles a histogram of latencies supports: its bins are 3 % wide, and a quantile is an estimate from the
few events above it."""

import math

QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999, "p9999_ns": 0.9999}
LEAST_BEYOND = 10  # events above a quantile; with 10 the estimate scatters by a third
DIGITS = 3


def can_tell(count: int, share: float) -> bool:
    """Whether the quantile has enough events beyond it: p99.99 takes 100,000."""
    return count * (1 - share) > LEAST_BEYOND - 1e-6


def rounded(value: float | None) -> str:
    """The value with three digits, including trailing zeros: 0.0512, 8.10, 445,000; None: -."""
    if value is None:
        return "-"
    value = float(f"{value:.{DIGITS}g}")
    decimals = DIGITS - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(0, decimals)}f}"


def microseconds(value_ns: float | None) -> str:
    """The value in microseconds, without the unit."""
    return rounded(None if value_ns is None else value_ns * 1e-3)
