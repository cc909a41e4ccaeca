# SPDX-License-Identifier: Apache-2.0
"""The figures that are sampled during a run for the page, the history and the rules of alarms. All share one list; a
chain leaves out the figures that it does not have."""

from collections.abc import Mapping
from dataclasses import dataclass

Sample = Mapping[str, float]  # values at one moment


@dataclass(frozen=True)
class AlarmFigure:
    unit: str
    meaning: str


FIGURES: Mapping[str, AlarmFigure] = {
    "bytes_per_s": AlarmFigure("B/s", "bytes received a second"),
    "built_hz": AlarmFigure("Hz", "events built a second"),
    "decided_hz": AlarmFigure("Hz", "events decided a second"),
    "kept_hz": AlarmFigure("Hz", "events kept a second"),
    "lost_hz": AlarmFigure(
        "Hz", "packets, fragments and events a second that were lost for a cause that nobody ordered"
    ),
    "lost": AlarmFigure("", "the same since the run began"),
    "on_the_way": AlarmFigure("", "packets, fragments and events that are between input and output, by the ledger"),
    "p50_us": AlarmFigure("us", "median of the latency, last 10 s"),
    "p99_us": AlarmFigure("us", "p99 of the latency, last 10 s"),
    "p999_us": AlarmFigure("us", "p99.9 of the latency, last 10 s"),
    "rows_off": AlarmFigure("", "rows of the ledger that cannot balance any more"),
    "silent_boards": AlarmFigure("", "boards that are not waited for any more"),
    "nodes_gone": AlarmFigure("", "nodes of a farm that are gone"),
    "files_refusing": AlarmFigure("", "files that do not take what they are given: the disk is full or fails"),
    "disk_free_gb": AlarmFigure("GB", "free where the run's directory is"),
    "busy_share": AlarmFigure("", "share of its time that the busiest thread works"),
    "heartbeat_age_s": AlarmFigure("s", "since the node last showed that it lives"),
}
