# SPDX-License-Identifier: Apache-2.0
"""The options of `anello simulate`; explained in docs/explanation/simulation.md."""

from pathlib import Path
from typing import Annotated

import typer


def simulate(
    config_file: Annotated[
        Path | None,
        typer.Argument(metavar="[CONFIG]", help="What it decides, all runs get: of the exchange, or of a detector."),
    ] = None,
    *,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any configuration key. Repeatable.")
    ] = None,
    chain: Annotated[str, typer.Option(metavar="NAME", help="Chains of this detector's node, all drawn.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Farms, or chains, to be drawn and run.")] = 1000,
    minutes: Annotated[float, typer.Option(min=0, help="Run for these minutes instead; 0: by --seeds.")] = 0.0,
    first: Annotated[
        int | None, typer.Option(min=0, max=2**63, help="First seed; default: a new one, which is printed.")
    ] = None,
    faults: Annotated[
        str, typer.Option(metavar="KINDS", help="What may go wrong, separated by commas; all, or none.")
    ] = "all",
    max_faults: Annotated[int, typer.Option(min=0, max=50, help="Faults of a run, at most.")] = 4,
    nodes: Annotated[int, typer.Option(min=1, max=64, help="Nodes of a farm, at most.")] = 5,
    world: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="What all have, whatever is drawn: gbps=1. Repeatable."),
    ] = None,
    replay: Annotated[
        int | None,
        typer.Option(metavar="SEED", min=0, max=2**64 - 1, help="Only this one, and print what happens."),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="With --replay: made after all was drawn. Repeatable."),
    ] = None,
    ledger: Annotated[
        bool, typer.Option("--ledger", help="Judge every farm by its ledger, too, which takes longer; else one in 16.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=0, max=1024, help="Runs at a time; 0: one per core.")] = 0,
    timeline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --replay: what happened, as a page with a lane for each node or board."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result for programs.")] = False,
) -> None:
    """Runs the exchange's own code, or a detector's, in virtual time, with faults drawn by seed, and judges each run by
    its outcome."""
    from anello.system import output
    from anello.virtual_farm import command

    drawn = command.Drawn(config_file, tuple(settings or ()), tuple(world or ()), faults, max_faults, nodes, chain)
    console = output.console(stderr=as_json)
    if replay is not None:
        code = command.replay(drawn, replay, tuple(change or ()), timeline, console, as_json=as_json)
    else:
        order = command.Options(seeds, minutes, first, jobs, ledger)
        code = command.search(drawn, order, console, as_json=as_json)
    raise typer.Exit(code)
