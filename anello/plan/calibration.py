# SPDX-License-Identifier: Apache-2.0
"""Processor time per message and per byte, from the summaries of runs of `anello exchange --local`.

A run gives the processor time of its nodes and the number of messages and bytes they moved. Each message between nodes
costs twice, at its sender and at its receiver. Two runs with messages of different sizes give the costs of a message
and of a byte; one run gives the cost of a byte, when that of a message is taken as given. A message that stays on its
node needs no transport: a run of one node gives its cost.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from anello.errors import InputError
from anello.exchange.report.summary import WAITED
from anello.plan.farm import Costs

SIDES = 2
IDLE = 0.3  # share of idle time above which a run cannot be used
SAME_SIZE = 1.2  # ratio of message sizes below which two runs cannot separate the two costs


@dataclass(frozen=True)
class Measured:
    """The measurement of one run: all its nodes together."""

    n_moved: float  # messages between nodes
    n_own: float  # messages that stayed on their node
    message_bytes: float
    cpu_ns: float


def read(path: Path) -> Measured:
    """Reads a summary. Raises InputError."""
    try:
        summary = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}") from error
    except ValueError as error:
        raise InputError(f"{path}: this is no JSON: {error}") from error
    try:
        _refuse_idle(path, summary)
        return _measured(summary)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: this is no summary of an exchange that moved anything ({error!r})") from error


def _measured(summary: Any) -> Measured:
    counters, nodes = summary["counters"]["node"], summary["nodes"]
    builders = [block for name, block in counters.items() if name.endswith(".builder")]
    n_messages = sum(float(block["mfps_received"]) for block in builders)
    n_bytes = sum(float(block["bytes_built"]) for block in builders)
    cpu_ns = sum(float(node["cores"]) * float(node["wall_s"]) for node in nodes) * 1e9
    n_own = sum(float(node["meps_complete"]) for node in nodes if {"ru", "bu"} <= set(node["roles"].split("+")))
    if not all(0 < value < math.inf for value in (n_messages, n_bytes, cpu_ns)) or not 0 <= n_own <= n_messages:
        raise ValueError("messages, bytes and processor time must be above 0")
    return Measured(n_messages - n_own, n_own, n_bytes / n_messages, cpu_ns)


def _refuse_idle(path: Path, summary: Any) -> None:
    """Raises InputError for a run with too much idle time: its processor time is the cost of waiting."""
    rate_hz = summary.get("config", {}).get("generator.rate_hz", 0)
    if rate_hz:
        raise InputError(f"{path}: its generator was held to {rate_hz:g} events/s. Take a run with generator.rate_hz=0")
    node_s = sum(float(node["wall_s"]) for node in summary["nodes"])
    idle_s = float(summary.get("waited_s", {}).get(WAITED["waited_for_data_ns"], 0))
    if idle_s > IDLE * node_s:
        share = f"{100 * idle_s / node_s:.0f} %"
        raise InputError(f"{path}: its nodes had nothing to do for {share} of their time. Take a run at full load")


def calibrate(paths: Sequence[Path], given: Costs) -> Costs:
    """The costs that fit these runs best, never below 0. Raises InputError."""
    if not paths:
        return given
    runs = [read(path) for path in paths]
    source = "measured: " + ", ".join(map(str, paths))
    own_per_byte_ns = _own_per_byte_ns(runs)
    moved = [_without_own(run, own_per_byte_ns) for run in runs if run.n_moved]
    if not moved or any(run.cpu_ns <= 0 for run in moved):
        raise InputError(f"{source}: these runs give no cost of moving messages. Add a run of two nodes")
    costs = _costs(moved, given)
    size = sum(run.message_bytes for run in moved) / len(moved)
    moved_ns = SIDES * (costs.per_message_ns + costs.per_byte_ns * size)
    own_share = given.own_share if own_per_byte_ns is None else own_per_byte_ns * size / moved_ns
    return replace(costs, own_share=own_share, source=source + costs.source)


def _own_per_byte_ns(runs: Sequence[Measured]) -> float | None:
    """Total cost of a message that stays on its node, per byte; None: no run had one node."""
    alone = [run for run in runs if not run.n_moved]
    n_bytes = sum(run.n_own * run.message_bytes for run in alone)
    return sum(run.cpu_ns for run in alone) / n_bytes if alone else None


def _without_own(run: Measured, own_per_byte_ns: float | None) -> Measured:
    """The cost of messages between nodes; where that of others is unknown, it is taken as equal."""
    if own_per_byte_ns is None:
        return replace(run, n_moved=run.n_moved + run.n_own, n_own=0)
    return replace(run, n_own=0, cpu_ns=run.cpu_ns - run.n_own * run.message_bytes * own_per_byte_ns)


def _costs(runs: Sequence[Measured], given: Costs) -> Costs:
    """The costs. source: their description for the reader."""
    sizes = [run.message_bytes for run in runs]
    if max(sizes) < SAME_SIZE * min(sizes):
        spent_ns = sum(run.cpu_ns / SIDES - run.n_moved * given.per_message_ns for run in runs)
        per_byte_ns = max(0.0, spent_ns / sum(run.n_moved * run.message_bytes for run in runs))
        return replace(given, per_byte_ns=per_byte_ns, source="; a message's own cost as given")
    per_message_ns, per_byte_ns = _fit(runs)
    return Costs(per_message_ns, per_byte_ns, source="")


def _fit(runs: Sequence[Measured]) -> tuple[float, float]:
    """Least squares of the relative error; where one cost is negative, it is set to 0 and the other is fitted alone."""
    shares = np.array([[1.0, run.message_bytes] for run in runs])
    shares *= np.array([[SIDES * run.n_moved / run.cpu_ns] for run in runs])
    ones = np.ones(len(runs))
    both = np.linalg.lstsq(shares, ones, rcond=None)[0]
    if both.min() >= 0:
        return float(both[0]), float(both[1])
    alone = [float(column @ ones / (column @ column)) for column in shares.T]
    return (0.0, alone[1]) if both[0] < 0 else (alone[0], 0.0)
