# SPDX-License-Identifier: Apache-2.0
"""`anello rings` finds rings in a file of hits, without the network."""

import csv
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anello.errors import ConfigError, InputError
from anello.report.summary import percent

from ..analysis import physics
from ..analysis.events_csv import HitEvents
from ..analysis.finding import ALGORITHMS, find_rings
from ..analysis.rings import Rings

MAX_HITS = 64  # largest number of hits of an event that a ring finder uses


def check(algorithm: str, threads: int | None) -> None:
    """Raises ConfigError when an option of the command line is wrong."""
    if algorithm not in ALGORITHMS:
        rule = f"must be one of {', '.join(ALGORITHMS)}"
        raise ConfigError("--algorithm", rule, algorithm, "The default is multiring")
    if threads is not None and threads < 1:
        raise ConfigError("--threads", "must be at least 1", str(threads), "Leave it out to use all cores")


def usable(events: HitEvents, path: Path) -> HitEvents:
    """Returns the hits that a ring finder can use; reports on standard error what it leaves out. Raises InputError."""
    distinct = events.only_distinct()
    if n := len(events.x_mm) - len(distinct.x_mm):
        print(f"{n:,} hits are a second one of the same photomultiplier: left out", file=sys.stderr)
    try:
        used = distinct.at_most(MAX_HITS)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if n := len(distinct.x_mm) - len(used.x_mm):
        print(f"{n:,} hits of events with more than {MAX_HITS}: left out, the farthest in time", file=sys.stderr)
    return used


def find_and_show(
    used: HitEvents, n_hits: int, algorithm: str, params: Mapping[str, Any], threads: int | None
) -> Rings:
    """Finds the rings of these hits (the file has n_hits) and prints their number. params: as in find_rings()."""
    found = find_rings(
        used.x_mm, used.y_mm, used.event_offset, algorithm=algorithm, params=params, threads=threads, progress=True
    )
    print(f"{used.n_events} events, {len(used.x_mm):,} of {n_hits:,} hits used")
    print(f"{len(found)} rings, {len(found) / used.n_events:.2f} per event, algorithm {algorithm}")
    return found


def compare(reference: Rings, found: Rings, events: HitEvents) -> None:
    """Prints the number of reference rings that were found, and lists the others."""
    result = physics.agreement(reference, found)
    window = f"centre within {physics.NEAR_CENTRE_MM:g} mm, radius within {physics.NEAR_RADIUS_MM:g} mm"
    print(f"{result.near.n} of {result.near.total} reference rings found ({percent(result.near)}): {window}")
    missed = [events.name(event) for event in result.event_index[~result.is_near].tolist()]
    if missed:
        print(f"not found in events {', '.join(missed)}")


def write_rings(path: Path, rings: Rings, events: HitEvents) -> None:
    """Writes a line per ring, in the format that events_csv.read_rings reads."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow((*events.key_columns, "ring_x_mm", "ring_y_mm", "ring_radius_mm", "n_hits"))
        lengths = zip(rings.x_mm.tolist(), rings.y_mm.tolist(), rings.radius_mm.tolist(), strict=True)
        rows = zip(events.event_key[rings.event_index].tolist(), lengths, rings.n_hits.tolist(), strict=True)
        writer.writerows((*key, *(f"{value:.2f}" for value in ring), n_hits) for key, ring, n_hits in rows)
