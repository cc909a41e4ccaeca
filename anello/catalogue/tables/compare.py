# SPDX-License-Identifier: Apache-2.0
"""Compares two runs: what differs, and which differences chance does not explain."""

from collections.abc import Iterator, Mapping
from typing import Any

from anello.catalogue.show import chance
from anello.catalogue.tables.configurations import ConfigurationTable
from anello.catalogue.tables.database import Row
from anello.catalogue.tables.runs import RunTable

RISK = 0.0027  # probability that a comparison reports at least one difference that is due to chance: 3 sigma
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
LEAST_BEYOND = 10  # events that each run needs beyond a quantile to test it
BESIDE = ("losses", "latency", "files", "counters", "notices", "configuration", "alarms", "log")  # of RunTable.get


def compare_runs(runs: RunTable, first: int, second: int) -> Row:
    """Compares two runs. Raises NoSuchError, CatalogueError.

    runs: the columns of both. For values that both runs have: first, second, ratio, chance (that equal runs differ as
    much) and beyond (chance does not explain it, all comparisons taken together).
    configuration: [key, first, second] of keys that differ, None where one run has no such key.
    rates: [what, ...]; losses: [cause, ordered, ...], compared per event; quality: [what, ...].
    latency: leg -> first, second: counts; distance (Kolmogorov, Smirnov), chance, beyond; quantiles, in ns: [quantile,
    ...].
    verdict: lines for people; n_beyond.
    """
    one, other = runs.get(first), runs.get(second)
    compared = judged(one, other)
    configuration = _differing(*(run["configuration"]["values"] for run in (one, other)))
    lines = list(_verdict(compared, len(configuration)))
    return {
        "runs": [{name: value for name, value in run.items() if name not in BESIDE} for run in (one, other)],
        "configuration": configuration, **compared, "verdict": lines,
        "n_beyond": sum(row["beyond"] for row in _judged(compared)),
    }  # fmt: skip


def compare_configurations(configurations: ConfigurationTable, first: str, second: str) -> list[Row]:
    """The keys in which two configurations, given by their digests, differ: [key, first, second]. Raises
    NoSuchError, CatalogueError."""
    return _differing(*(configurations.get(digest)["values"] for digest in (first, second)))


def judged(one: Row, other: Row) -> Row:
    """rates, losses, latency and quality of two runs (from RunTable.get), paired, each with its verdict."""
    compared = {
        "rates": list(_rates(one, other)),
        "losses": list(_losses(one, other)),
        "latency": {leg: _leg(one, other, leg) for leg in one["latency"] if leg in other["latency"]},
        "quality": list(_quality(one["quality_found"], other["quality_found"])),
    }
    _judge(compared)
    return compared


# --- Parts --------------------------------------------------------------------------------------------------------
def _differing(first: Row, second: Row) -> list[Row]:
    return [
        {"key": key, "first": first.get(key), "second": second.get(key)}
        for key in sorted(first.keys() | second.keys())
        if first.get(key) != second.get(key)
    ]


def _pair(first: float | None, second: float | None, probability: float = 1.0) -> Row:
    ratio = second / first if first and second is not None else None
    return {"first": first, "second": second, "ratio": ratio, "chance": probability}


def _rates(one: Row, other: Row) -> Iterator[Row]:
    if one["rate_hz"] is None or other["rate_hz"] is None:
        return
    likely = chance.of_counts(one["events"], one["seconds"], other["events"], other["seconds"])
    yield {"what": "events/s"} | _pair(one["rate_hz"], other["rate_hz"], likely)
    yield {"what": "bytes/s"} | _pair(*((run["bytes"] or 0) / run["seconds"] for run in (one, other)))


def _losses(one: Row, other: Row) -> Iterator[Row]:
    first, second = ({(row["cause"], bool(row["ordered"])): row["n"] for row in run["losses"]} for run in (one, other))
    for cause, ordered in sorted(first.keys() | second.keys()):
        n, m = first.get((cause, ordered), 0), second.get((cause, ordered), 0)
        likely = chance.of_counts(n, one["events"] or 0, m, other["events"] or 0)
        yield {"cause": cause, "ordered": ordered} | _pair(n, m, likely)


def _leg(one: Row, other: Row, leg: str) -> Row:
    first, second = one["latency"][leg], other["latency"][leg]
    distance = chance.distance(first["bins"], second["bins"])
    return {
        "first": first["count"], "second": second["count"], "distance": distance,
        "chance": chance.of_distance(distance, first["count"], second["count"]),
        "quantiles": list(_quantiles(first, second)),
    }  # fmt: skip


def _quantiles(first: Row, second: Row) -> Iterator[Row]:
    """Compares quantiles: each is tested by the number of events that either run has at and above the bin of the
    quantile of both runs together."""
    n, m = first["count"], second["count"]
    for name, share in QUANTILES.items():
        if min(n, m) * (1 - share) < LEAST_BEYOND:
            continue
        edge = chance.quantile([*first["bins"], *second["bins"]], share)
        likely = chance.of_shares(chance.n_from(first["bins"], edge), n, chance.n_from(second["bins"], edge), m)
        values = [chance.quantile(leg["bins"], share) for leg in (first, second)]
        yield {"quantile": name} | _pair(values[0], values[1], likely)


def _quality(first: Any, second: Any, path: str = "") -> Iterator[Row]:
    """Compares every share that both runs have with an interval, at any depth."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return
    if {"value", "low", "high"} <= first.keys() & second.keys():
        errors = [(share["high"] - share["low"]) / 2 for share in (first, second)]
        error = (errors[0] ** 2 + errors[1] ** 2) ** 0.5
        if error and first["value"] is not None and second["value"] is not None:
            likely = chance.of_sigma((first["value"] - second["value"]) / error)
            yield {"what": path.strip()} | _pair(first["value"], second["value"], likely)
        return
    for key in first:
        if key in second:
            yield from _quality(first[key], second[key], f"{path} {key}")


# --- The verdict --------------------------------------------------------------------------------------------------
def _judged(compared: Mapping[str, Any]) -> list[Row]:
    legs = compared["latency"].values()
    rows = [*compared["rates"], *compared["losses"], *compared["quality"], *legs]
    return [*rows, *(row for leg in legs for row in leg["quantiles"])]


def _judge(compared: Mapping[str, Any]) -> None:
    rows = _judged(compared)
    for row in rows:
        row["beyond"] = row["chance"] < RISK / len(rows)


def _verdict(compared: Mapping[str, Any], n_keys: int) -> Iterator[str]:
    if n_keys:
        yield f"the configuration differs in {n_keys} key{'s' if n_keys > 1 else ''}"
    beyond = [*_beyond(compared)]
    yield from beyond or ["nothing differs beyond what chance explains"]


def _beyond(compared: Mapping[str, Any]) -> Iterator[str]:
    for row in compared["rates"]:
        if row["beyond"]:
            yield f"{row['what']}: {_change(row, '{:,.4g}')}"
    for row in compared["losses"]:
        if row["beyond"]:
            yield f"lost, {row['cause']}{' (as configured)' * row['ordered']}: {_change(row, '{:,}')}"
    for leg, row in compared["latency"].items():
        beyond = [one for one in row["quantiles"] if one["beyond"]]
        if row["beyond"] or beyond:
            words = [f"{one['quantile']} {_change(one, '{:.3g}', 1e-6)} ms" for one in beyond]
            yield f"latency {leg}: " + ", ".join([*words, f"distance {row['distance']:.2g}"])
    for row in compared["quality"]:
        if row["beyond"]:
            yield f"{row['what']}: {_change(row, '{:.3g}')}"


def _change(row: Row, form: str, scale: float = 1) -> str:
    first, second = (form.format(row[side] * scale if scale != 1 else row[side]) for side in ("first", "second"))
    return f"{first} → {second}"
