# SPDX-License-Identifier: Apache-2.0
"""Comparison of two runs: differences are found, and chance is not taken for a difference."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue_synthetic import origin
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from anello.account.run_state import RunState
from anello.catalogue.catalogue import Catalogue
from anello.catalogue.cli import runs_app
from anello.catalogue.end import End, Leg, LossCount
from anello.catalogue.show import chance
from anello.catalogue.tables import compare
from anello.catalogue.tables.database import NoSuchError

EDGES = np.geomspace(1e3, 1e9, 470)  # steps of 3 %


def leg(values_ns: np.ndarray) -> Leg:
    counts, _ = np.histogram(values_ns, EDGES)
    bins = [(float(EDGES[i]), float(EDGES[i + 1]), int(n)) for i, n in enumerate(counts) if n]
    return Leg(int(counts.sum()), bins)


def end(
    rng: np.random.Generator, *, n: int = 20_000, seconds: float = 10.0, stretch: float = 1.0, lost: int = 0,
    found: int = 800,
) -> End:  # fmt: skip
    value = found / 1000
    share = {"n": found, "total": 1000, "value": value, "low": value - 0.0126, "high": value + 0.0126}
    return End(
        RunState.ENDED, exit_code=0, balanced=True, events=n, lost=lost, bytes=100 * n, seconds=seconds, leg="whole",
        losses=[LossCount("packets lost", lost)] * bool(lost),
        latency={"whole": leg(rng.lognormal(11, 1, n) * stretch)},
        quality_found={"all": {"efficiency": share, "bias": 0.1}},
    )  # fmt: skip


def compared(catalogue: Catalogue, first: End, second: End, values: Any = ()) -> dict[str, Any]:
    numbers = [catalogue.runs.begin(origin(values={"a": 1, "b": 2, **dict(more)}), Path()) for more in ((), values)]
    for number, one in zip(numbers, (first, second), strict=True):
        catalogue.runs.end(number, one)
    return compare.compare_runs(catalogue.runs, *numbers)


# --- Runs ---------------------------------------------------------------------------------------------------------
def test_runs_that_differ_by_chance_do_not_differ(catalogue: Catalogue) -> None:
    rng = np.random.default_rng(1)
    print("seed 1")
    found = compared(catalogue, end(rng), end(rng, n=20_100, found=812))
    assert found["verdict"] == ["nothing differs beyond what chance explains"]
    assert found["n_beyond"] == 0
    assert found["configuration"] == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 21_000}, "events/s: 2,000 → 2,100"),
        ({"lost": 30}, "lost, packets lost: 0 → 30"),
        ({"stretch": 1.1}, "latency whole: p50 0.06"),
        ({"found": 900}, "all efficiency: 0.8 → 0.9"),
    ],
)
def test_what_chance_does_not_explain_is_said(catalogue: Catalogue, change: dict[str, Any], words: str) -> None:
    rng = np.random.default_rng(2)
    print("seed 2")
    verdict = compared(catalogue, end(rng), end(rng, **change))["verdict"]
    assert len(verdict) == 1
    assert verdict[0].startswith(words)


def test_a_tail_alone_is_found(catalogue: Catalogue) -> None:
    rng = np.random.default_rng(3)
    print("seed 3")
    first, second = rng.lognormal(11, 0.1, 20_000), rng.lognormal(11, 0.1, 20_000)
    second[:60] = 5e6
    ends = (End(RunState.ENDED, latency={"whole": leg(values)}) for values in (first, second))
    found = compared(catalogue, *ends)
    quantiles = {row["quantile"]: row for row in found["latency"]["whole"]["quantiles"]}
    assert list(quantiles) == ["p50", "p99", "p99.9"]  # beyond p99.99 are too few
    assert [name for name, row in quantiles.items() if row["beyond"]] == ["p99.9"]
    assert quantiles["p99.9"]["ratio"] > 40
    assert not found["latency"]["whole"]["beyond"]


def test_configurations_are_compared_key_by_key(catalogue: Catalogue) -> None:
    rng = np.random.default_rng(4)
    found = compared(catalogue, end(rng), end(rng), {"b": 3, "c": [1]})
    assert found["configuration"] == [
        {"key": "b", "first": 2, "second": 3}, {"key": "c", "first": None, "second": [1]},
    ]  # fmt: skip
    assert found["verdict"][0] == "the configuration differs in 2 keys"
    digests = [catalogue.runs.get(number)["config"] for number in (1, 2)]
    assert compare.compare_configurations(catalogue.configurations, *digests) == found["configuration"]


def test_losses_are_compared_per_event(catalogue: Catalogue) -> None:
    rng = np.random.default_rng(5)
    found = compared(catalogue, end(rng, n=10_000, lost=50), end(rng, n=20_000, lost=100))
    (row,) = found["losses"]
    assert (row["first"], row["second"], row["beyond"]) == (50, 100, False)


def test_a_run_that_crashed_can_be_compared(catalogue: Catalogue) -> None:
    found = compared(catalogue, end(np.random.default_rng(6)), End(RunState.CRASHED))
    assert found["rates"] == []
    assert found["latency"] == {}
    with pytest.raises(NoSuchError):
        compare.compare_runs(catalogue.runs, 1, 3)


def test_runs_compare_for_people_and_programs(catalogue: Catalogue, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    compared(catalogue, end(rng), end(rng, stretch=1.2, lost=30), {"b": 3})
    arguments = ["compare", "1", "2", "--in", str(tmp_path)]
    text = CliRunner().invoke(runs_app, arguments, catch_exceptions=False).stdout
    for words in ("differs in 1 key", "packets lost", "whole p99.9", "all efficiency", "beyond chance"):
        assert words in text
    assert '"n_beyond"' in CliRunner().invoke(runs_app, [*arguments, "--json"], catch_exceptions=False).stdout


def test_chance_seldom_looks_like_a_difference(catalogue: Catalogue) -> None:
    """The promised risk is 0.27 % for two runs: of 100 such comparisons no more than two may look like a difference."""
    rng = np.random.default_rng(8)
    print("seed 8")
    ends = [end(rng, n=int(rng.poisson(2000)), found=int(rng.binomial(1000, 0.8))) for _ in range(101)]
    numbers = [catalogue.runs.begin(origin(), Path()) for _ in ends]
    for number, one in zip(numbers, ends, strict=True):
        catalogue.runs.end(number, one)
    wrong = [pair for pair in itertools.pairwise(numbers) if compare.compare_runs(catalogue.runs, *pair)["n_beyond"]]
    assert len(wrong) <= 2


N_PAIRS, N_EVENTS = 1000, 2000
EFFICIENCY = {"electrons": 0.7, "muons": 0.8, "pions": 0.9}
LOST = {"late": 2e-2, "overwritten": 1e-2, "never came": 5e-3, "duplicate": 2e-3}  # of all events
LEGS = {"sent to placed": 9, "placed to built": 10, "built to decided": 11}  # logarithm of the median in ns


def made(rng: np.random.Generator, efficiency: dict[str, float] = EFFICIENCY) -> dict[str, Any]:
    """A run as an entry of the catalogue, with all numbers drawn by chance."""
    n, quality = int(rng.poisson(N_EVENTS)), {}
    for name, true in efficiency.items():
        value, error = rng.binomial(1000, true) / 1000, (true * (1 - true) / 1000) ** 0.5
        quality[name] = {"value": value, "low": value - error, "high": value + error}
    latency = {name: leg(rng.lognormal(center, 1, n)) for name, center in LEGS.items()}
    return {
        "events": n, "seconds": 10.0, "rate_hz": n / 10, "bytes": 100 * n, "quality_found": quality,
        "losses": [{"cause": cause, "ordered": 0, "n": int(rng.poisson(N_EVENTS * true))}
                   for cause, true in LOST.items()],
        "latency": {name: {"count": one.count, "bins": one.bins} for name, one in latency.items()},
    }  # fmt: skip


def comparisons(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    rows = {row["what"]: row for row in (*found["rates"], *found["quality"])}
    rows |= {row["cause"]: row for row in found["losses"]}
    for name, one in found["latency"].items():
        rows |= {name: one} | {f"{name} {row['quantile']}": row for row in one["quantiles"]}
    return rows


def beyond(found: dict[str, Any]) -> list[str]:
    """Comparisons that are said not to be chance."""
    return [name for name, row in comparisons(found).items() if row["beyond"]]


def test_of_a_thousand_pairs_of_equal_runs_no_more_differ_than_is_promised() -> None:
    """Each pair is compared in some fifteen ways; the risk holds once for all of them together."""
    rng, risk = np.random.default_rng(14), compare.RISK
    print("seed 14")
    found = [compare.judged(made(rng), made(rng)) for _ in range(N_PAIRS)]
    up_to = np.cumsum([math.comb(N_PAIRS, k) * risk**k * (1 - risk) ** (N_PAIRS - k) for k in range(30)])
    at_most = int(np.searchsorted(up_to, 0.9999))  # of pairs with that risk each, by chance alone
    assert sum(bool(beyond(one)) for one in found) <= at_most
    each_alone = sum(any(row["chance"] < risk for row in comparisons(one).values()) for one in found)
    assert each_alone > at_most, "else this could not see that many comparisons are not allowed for"


def test_a_true_difference_is_found_among_many_comparisons() -> None:
    """It is found in nearly all pairs, and nothing else is."""
    rng = np.random.default_rng(15)
    print("seed 15")
    found = [beyond(compare.judged(made(rng), made(rng, EFFICIENCY | {"pions": 0.8}))) for _ in range(50)]
    assert sum("pions" in one for one in found) >= 48
    assert sum(len(one) > 1 for one in found) <= 1


def test_rates_are_those_of_each_run_s_own_time(catalogue: Catalogue) -> None:
    rng = np.random.default_rng(16)
    print("seed 16")
    found = compared(catalogue, end(rng), end(rng, n=80_000, seconds=40.0))
    rates = {row["what"]: (row["first"], row["second"], row["ratio"], row["beyond"]) for row in found["rates"]}
    assert rates == {"events/s": (2e3, 2e3, 1.0, False), "bytes/s": (2e5, 2e5, 1.0, False)}


# --- Chance -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("counts", [(7, 20), (0, 9), (300, 400), (470, 530)])
def test_counts_are_compared_exactly(counts: tuple[int, int]) -> None:
    """The expected value is the sum over all splits that are no likelier, in whole numbers."""
    n, m = counts
    ways = [math.comb(n + m, k) * 3**k for k in range(n + m + 1)]  # equal rates, three times the time
    expected = sum(way for way in ways if way <= ways[n]) / 4 ** (n + m)
    assert chance.of_counts(n, 3.0, m, 1.0) == pytest.approx(expected, rel=1e-6)


def test_exact_and_normal_meet() -> None:
    exact, normal = chance.of_counts(450, 1, 540, 1), chance.of_counts(456, 1, 546, 1)
    assert normal == pytest.approx(exact, rel=0.15)


seconds = st.just(0.0) | st.floats(0.1, 1e6)


@given(st.integers(0, 2000), seconds, st.integers(0, 2000), seconds)
def test_a_chance_is_one_and_the_same_from_both_sides(n: int, n_of: float, m: int, m_of: float) -> None:
    one, other = chance.of_counts(n, n_of, m, m_of), chance.of_counts(m, m_of, n, n_of)
    assert 0 <= one <= 1
    assert one == pytest.approx(other, rel=1e-6, abs=1e-300)


def test_the_distance_is_that_of_the_samples() -> None:
    rng = np.random.default_rng(9)
    first, second = rng.lognormal(11, 1, 3000), rng.lognormal(11.1, 1, 2000)
    edges = EDGES[1:]
    by_hand = max(abs(np.mean(first <= edge) - np.mean(second <= edge)) for edge in edges)
    assert chance.distance(leg(first).bins, leg(second).bins) == pytest.approx(by_hand)
    assert chance.distance(leg(first).bins, leg(first).bins) == 0
    assert chance.distance([(1, 2, 5)], [(2, 3, 7)]) == 1


def test_kolmogorov_s_distribution() -> None:
    """Percentage points of the limit: N. V. Smirnov, Ann. Math. Stat. 19 (1948) 279."""
    for scaled, expected in ((1.2238, 0.1), (1.3581, 0.05), (1.6276, 0.01)):
        n = 10**8
        assert chance.of_distance(scaled / math.sqrt(n / 2), n, n) == pytest.approx(expected, rel=2e-3)
    assert chance.of_distance(0.0, 5, 5) == 1.0
    assert chance.of_distance(1.0, 0, 5) == 1.0
