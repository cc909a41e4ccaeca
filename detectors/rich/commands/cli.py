# SPDX-License-Identifier: Apache-2.0
"""Commands of the RICH, and its lines of `anello version`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer


def rings(
    hits_file: Annotated[
        Path,
        typer.Argument(metavar="HITS.csv", help="Columns event, x_mm, y_mm, [run, burst, pmt_seq, time_ns, in_time]."),
    ],
    *,
    rings_file: Annotated[
        Path | None, typer.Option("--rings", help="Rings to compare with; default: X_rings.csv.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Ring finder; without it, that of trigger.algorithm.", show_default=False)
    ] = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", help="Configuration of a RICH, whose parameters of finders are taken.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key, e.g. trigger.multiring.yield_hits=11.6. Repeatable."),
    ] = None,
    all_hits: Annotated[bool, typer.Option("--all-hits", help="Use out-of-time hits too.")] = False,
    threads: Annotated[int | None, typer.Option(help="Threads; without it, as many as there are cores.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the rings to this file (CSV).")] = None,
) -> None:
    """Finds rings in a file of hits and compares them with another reconstruction's rings."""
    from ..analysis import events_csv
    from ..configuration.of_config import finder_params, load_rich, refuse_what_no_finder_reads
    from . import offline

    config = load_rich(config_file, settings or ())
    refuse_what_no_finder_reads(settings or ())
    algorithm = algorithm or config.trigger.algorithm
    offline.check(algorithm, threads)
    params = finder_params(config)
    events = events_csv.read(events_csv.read_hits, hits_file)
    beside = rings_file or events_csv.rings_beside(hits_file)
    reference = events_csv.read(events_csv.read_rings, beside, events) if beside else None
    used = offline.usable(events if all_hits else events.only_in_time(), hits_file)
    found = offline.find_and_show(used, len(events.x_mm), algorithm, params, threads)
    if reference is not None:
        offline.compare(reference, found, used)
    if output:
        offline.write_rings(output, found, used)
        print(f"rings: {output}")


def tune(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="Configuration of a RICH; none: the usual one.")
    ] = None,
    *,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key, e.g. source.simulation.noise_hits=5. Repeatable."),
    ] = None,
    events: Annotated[int, typer.Option(min=100, max=1_000_000, help="Events of each of the two samples.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Fitted to this seed, judged by the next.")] = 1,
    ghost_weight: Annotated[float, typer.Option(min=0, help="What a ghost costs, in rings within 5 mm.")] = 1.0,
    parameters: Annotated[
        str, typer.Option(metavar="A,B", help="Of trigger.multiring, which are fitted; empty: the usual ones.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the section [trigger.multiring] to this file (TOML).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result for programs.")] = False,
) -> None:
    """Fits the ring finder's parameters to a simulated detector, and judges them by events of another seed."""
    from . import tune_command

    tune_command.run(
        tune_command.Options(
            config_file,
            tuple(settings or ()),
            events,
            seed,
            ghost_weight,
            tuple(filter(None, parameters.split(","))),
            output,
            as_json,
        )
    )


def identify(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="Configuration of a RICH; none: the usual one.")
    ] = None,
    *,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key, e.g. trigger.multiring.yield_hits=11.6. Repeatable."),
    ] = None,
    events: Annotated[int, typer.Option(min=1, max=10_000_000, help="Events to be simulated.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of the simulation.")] = 1,
    max_pull: Annotated[
        float, typer.Option(min=0.1, help="Standard deviations within which a ring is as large as an electron's.")
    ] = 2.5,
    as_json: Annotated[bool, typer.Option("--json", help="The result for programs.")] = False,
) -> None:
    """How often rings, electron-like rings, and particles by their momentum are identified: confusion matrices."""
    from . import identify_command

    identify_command.run(identify_command.Options(config_file, tuple(settings or ()), events, seed, max_pull, as_json))


def versions() -> Iterator[str]:
    from ..engine import engine

    yield f"ring finders: {', '.join(engine().algorithms())}"
    yield f"cuda: {engine().cuda_unavailable_reason() or 'a device can be used'}"
