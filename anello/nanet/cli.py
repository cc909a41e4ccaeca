# SPDX-License-Identifier: Apache-2.0
"""The commands `anello nanet ...`: docs/how-to/card-core.md."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

nanet_app = typer.Typer(
    help="The network card's core in SystemVerilog: check, simulate, synthesise.", no_args_is_help=True
)

AsJson = Annotated[bool, typer.Option("--json", help="The same as JSON, for programs.")]
Parts = Annotated[str, typer.Option("--parts", help="Comma-separated; all: each of them.")]


@nanet_app.callback()
def _nanet() -> None:
    """The network card's core in SystemVerilog: check, simulate, synthesise."""


@nanet_app.command("registers")
def registers(*, as_json: AsJson = False) -> None:
    """Prints all registers: address, name, bits, access, meaning."""
    from rich.table import Table

    from anello.nanet import registers as made
    from anello.output import console

    rows = [asdict(one) for one in made.REGISTERS]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    table = Table("address", "register", "n", "bits", "access", "meaning", box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            f"{row['address']:#06x}", row["name"], str(row["n"]), str(row["bits"]), row["access"], row["about"]
        )
    console().print(table)


@nanet_app.command("tools")
def tools() -> None:
    """Installs what the other commands need, where that has not been done, and prints where it is."""
    from anello.output import console

    console().print(str(_ready("all")[1].folder), highlight=False, soft_wrap=True)


@nanet_app.command("lint")
def lint(*, parts: Parts = "all", as_json: AsJson = False) -> None:
    """Reads the sources with Verilator and yosys; the first call installs them."""
    from anello.nanet.lint import lint as look_at
    from anello.output import console

    card, tools, chosen = _ready(parts)
    found = [look_at(card, tools, part) for part in chosen]
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    for one in () if as_json else found:
        words = "nothing to complain of" if not one.complaints else f"{len(one.complaints)} complaints"
        console().print(f"{one.part:<12} {one.n_modules:>3} files  {words}", highlight=False)
        for line in one.complaints:
            console().print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(any(one.complaints for one in found))


@nanet_app.command("synthesis")
def synthesis(
    *, parts: Parts = "all", families: Annotated[str, typer.Option(help="xcup, ecp5.")] = "xcup,ecp5",
    route: Annotated[bool, typer.Option(help="Place and route for ECP5, for its clock: minutes.")] = True,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON goes there, too.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Prints how large each part is, and how fast on ECP5; the first call installs yosys and nextpnr."""
    from rich.table import Table

    from anello.nanet.synthesis import FAMILIES, synthesise
    from anello.output import console

    wanted = families.split(",")
    if unknown := set(wanted) - set(FAMILIES):
        raise typer.BadParameter(f"must be of {', '.join(FAMILIES)} (given: {', '.join(sorted(unknown))})")
    card, tools, chosen = _ready(parts)
    found = []
    for part in chosen:
        for family in wanted:
            console(stderr=True).print(f"{part.name}, {family} ...", highlight=False)
            found.append(synthesise(card, tools, part, family, route=route))
    text = json.dumps([asdict(one) for one in found], indent=1)
    if out:
        out.write_text(text + "\n")
    if as_json:
        print(text)
        return
    table = Table("part", "family", "LUTs", "registers", "RAMs", "MHz", box=None, pad_edge=False)
    for one in found:
        mhz = f"{one.mhz:.1f}" if one.mhz else "-"
        table.add_row(one.part, one.family, f"{one.luts:,}", f"{one.registers:,}", f"{one.rams:g}", mhz)
    console().print(table)
    console().print("simulated and synthesised, not run on a board", style="dim")


def _ready(parts: str) -> Any:
    """Card, tools, and the parts that were named. Raises InputError, ToolError."""
    from anello.nanet.card import Card
    from anello.nanet.tools import Tools
    from anello.output import console

    card = Card.here()
    names = list(card.parts) if parts == "all" else parts.split(",")
    if unknown := set(names) - card.parts.keys():
        raise typer.BadParameter(f"--parts must be of {', '.join(card.parts)} (given: {', '.join(sorted(unknown))})")
    return card, Tools.ready(card, console(stderr=True)), [card.parts[name] for name in names]
