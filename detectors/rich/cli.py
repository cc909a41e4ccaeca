# SPDX-License-Identifier: Apache-2.0
"""Commands of the RICH, and what `anello version` says of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer


def rings(
    hits_file: Annotated[Path, typer.Argument(metavar="HITS.csv", help="Columns event, x_mm, y_mm, [in_time].")],
    *,
    rings_file: Annotated[
        Path | None, typer.Option("--rings", help="Rings to compare with; default: X_rings.csv.")
    ] = None,
    algorithm: Annotated[str, typer.Option(help="Ring finder.")] = "multiring",
    all_hits: Annotated[bool, typer.Option("--all-hits", help="Use out-of-time hits too.")] = False,
    threads: Annotated[int | None, typer.Option(help="Threads; without it, as many as there are cores.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the rings to this file (CSV).")] = None,
) -> None:
    """Finds rings in a file of hits and compares them with another reconstruction's rings."""
    from anello import events_csv

    from . import offline

    offline.check(algorithm, threads)
    events = events_csv.read(events_csv.read_hits, hits_file)
    beside = rings_file or events_csv.rings_beside(hits_file)
    reference = events_csv.read(events_csv.read_rings, beside, events.event_id) if beside else None
    used = events if all_hits else events.only_in_time()
    found = offline.find_and_show(used, len(events.x_mm), algorithm, threads)
    if reference is not None:
        offline.compare(reference, found, used)
    if output:
        offline.write_rings(output, found, used)
        print(f"rings: {output}")


def versions() -> Iterator[str]:
    from .engine import engine

    yield f"ring finders: {', '.join(engine().algorithms())}"
    yield f"cuda: {engine().cuda_unavailable_reason() or 'a device can be used'}"
