# SPDX-License-Identifier: Apache-2.0
"""What a message and a byte cost a processor, from the summaries of runs of `anello exchange --local`.

A run tells how much processor time its nodes used and how many messages and bytes they moved. Each message and each
byte is paid for twice, at its sender and at its receiver. Two runs with messages of different sizes tell both costs;
one run tells the cost of a byte, when that of a message is taken as given.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from anello.errors import InputError
from anello.plan.farm import Costs

SIDES = 2
SAME_SIZE = 1.2  # messages of two runs tell nothing apart when their sizes are nearer than this


@dataclass(frozen=True)
class Measured:
    """Of one run: all its nodes together."""

    n_messages: float
    n_bytes: float
    cpu_ns: float


def read(path: Path) -> Measured:
    """Raises InputError."""
    try:
        summary = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}") from error
    except ValueError as error:
        raise InputError(f"{path}: this is no JSON: {error}") from error
    try:
        return _measured(summary)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: this is no summary of an exchange that moved anything ({error!r})") from error


def _measured(summary: Any) -> Measured:
    builders = [block for name, block in summary["counters"]["node"].items() if name.endswith(".builder")]
    n_messages = sum(float(block["mfps_received"]) for block in builders)
    n_bytes = sum(float(block["bytes_built"]) for block in builders)
    cpu_ns = sum(float(node["cores"]) * float(node["wall_s"]) for node in summary["nodes"]) * 1e9
    if not all(0 < value < math.inf for value in (n_messages, n_bytes, cpu_ns)):
        raise ValueError("messages, bytes and processor time must be above 0")
    return Measured(n_messages, n_bytes, cpu_ns)


def calibrate(paths: Sequence[Path], given: Costs) -> Costs:
    """The costs that fit these runs best, never below 0. Raises InputError."""
    runs = [read(path) for path in paths]
    if not runs:
        return given
    source = "measured: " + ", ".join(str(path) for path in paths)
    sizes = [run.n_bytes / run.n_messages for run in runs]
    if max(sizes) < SAME_SIZE * min(sizes):
        spent_ns = sum(run.cpu_ns / SIDES - run.n_messages * given.per_message_ns for run in runs)
        per_byte_ns = max(0.0, spent_ns / sum(run.n_bytes for run in runs))
        return replace(given, per_byte_ns=per_byte_ns, source=f"{source}; a message's own cost as given")
    per_message_ns, per_byte_ns = _fit(runs)
    return Costs(per_message_ns, per_byte_ns, per_control_ns=per_message_ns, source=source)


def _fit(runs: Sequence[Measured]) -> tuple[float, float]:
    """Least squares of the relative error; where one cost came out negative, it is 0 and the other is fitted alone."""
    shares = np.array([[SIDES * run.n_messages / run.cpu_ns, SIDES * run.n_bytes / run.cpu_ns] for run in runs])
    ones = np.ones(len(runs))
    both = np.linalg.lstsq(shares, ones, rcond=None)[0]
    if both.min() >= 0:
        return float(both[0]), float(both[1])
    alone = [float(column @ ones / (column @ column)) for column in shares.T]
    return (0.0, alone[1]) if both[0] < 0 else (alone[0], 0.0)
