# SPDX-License-Identifier: Apache-2.0
"""The commands `anello nanet ...`: docs/how-to/nanet-io.md."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from anello.nanet import simulation

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
    from anello.system.output import console

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
    from anello.system.output import console

    console().print(str(_ready("all")[1].folder), highlight=False, soft_wrap=True)


@nanet_app.command("lint")
def lint(*, parts: Parts = "all", as_json: AsJson = False) -> None:
    """Reads the sources with Verilator and yosys; the first call installs them."""
    from anello.nanet.lint import lint as look_at
    from anello.system.output import console

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
    *,
    parts: Parts = "all",
    families: Annotated[str, typer.Option(help="xcup, ecp5.")] = "xcup,ecp5",
    route: Annotated[bool, typer.Option(help="Place and route for ECP5, for its clock: minutes.")] = True,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON goes there, too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Prints how large each part is, and how fast on ECP5; the first call installs yosys and nextpnr."""
    from rich.table import Table

    from anello.nanet.synthesis import FAMILIES, synthesise
    from anello.system.output import console

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
    for one in found:
        if one.slowest:
            console().print(f"{one.part}, slowest: {one.slowest}", highlight=False, markup=False, soft_wrap=True)
    console().print("simulated and synthesised, not run on a board", style="dim")


@nanet_app.command("simulate")
def simulate(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE.pcap]", help="Ethernet frames; none: of simulated front ends.")
    ] = None,
    *,
    ports: Annotated[str, typer.Option(help="UDP ports of streams 0, 1, ...; none: those in the file.")] = "",
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge the four boards' fragments; compare with the software.")
    ] = False,
    cut_through: Annotated[
        bool, typer.Option("--cut-through", help="Payload leaves while its frame still comes.")
    ] = False,
    paced: Annotated[
        bool, typer.Option("--paced", help="Frames as far apart as captured, not as close as the line allows.")
    ] = False,
    events: Annotated[int, typer.Option(min=10, max=1_000_000, help="Without a file: events to simulate.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Without a file: of the simulated events.")] = 1,
    frames: Annotated[int | None, typer.Option(min=1, metavar="N", help="The first N frames alone.")] = None,
    waveform: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="A picture of the ports in the first cycles.")
    ] = None,
    cycles: Annotated[int, typer.Option(min=10, max=2000, help="Of the picture.")] = 120,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON goes there, too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Sends frames through the Verilated card, and prints each one's outcome, and its number of cycles.

    Exit code 1 where something does not add up: a frame without a verdict, a record that differs from its frame, an
    event that differs from the software's.
    """
    import tempfile

    from anello.nanet import capture, simulation
    from anello.system.output import console

    card, tools, _ = _ready("nanet_io")
    with tempfile.TemporaryDirectory() as folder:
        chosen = [_port(word) for word in ports.split(",")] if ports else []
        if file is None:
            file = Path(folder) / "front-ends.pcap"
            console(stderr=True).print("simulated front ends send ...", highlight=False)
            chosen = list(capture.make(file, n_events=events, rate_hz=EVENT_HZ, seed=seed))
        console(stderr=True).print("the card's model; the first time it is compiled, minutes ...", highlight=False)
        found = simulation.simulate(
            card,
            tools,
            file,
            chosen or simulation.ports_in(file),
            merge=merge,
            cut_through=cut_through,
            paced=paced,
            n_frames=frames,
            n_traced=cycles if waveform else 0,
        )
    if waveform:
        from anello.nanet.waveform import picture

        waveform.write_text(picture(found.said["trace"], "The card's ports, simulated at 156.25 MHz"))
    text = json.dumps(found.as_dict(), indent=1)
    if out:
        out.write_text(text + "\n")
    if as_json:
        print(text)
    else:
        _show(found)
    raise typer.Exit(bool(found.problems))


EVENT_HZ = 20_000.0  # slow enough that recording them misses nothing


def _port(word: str) -> int:
    if not (word.isdecimal() and 0 < int(word) < 65536):
        raise typer.BadParameter(f"--ports must be UDP ports, 1 to 65535 (given: {word})")
    return int(word)


def _show(found: "simulation.CardRun") -> None:
    from rich.table import Table

    from anello.nanet.stages import CLOCK_HZ, CYCLE_NS
    from anello.system.output import console

    said, print_line = found.said, console().print
    table = Table("cycles", "n", "least", "median", "p99", "most", "median, us", box=None, pad_edge=False)
    for name, one in said["cycles_of"].items():
        is_time = name != "records_in_a_buffer"
        if one["n"]:
            values = (f"{one[key]:,}" for key in ("n", "min", "p50", "p99", "max"))
            median_us = f"{one['p50'] * CYCLE_NS * 1e-3:.2f}" if is_time else ""
            table.add_row(name.replace("_", " "), *values, median_us)
    counted = {name: n for name, n in found.counts.items() if n}
    for name, n in counted.items():
        print_line(f"{n:>12,}  {name.replace('_', ' ')}", highlight=False)
    if found.merges:
        print_line(
            f"{said['events']:>12,}  events in memory, the software's {said['software_events']:,}; "
            f"{said['differing_events']:,} differ",
            highlight=False,
        )
    print_line(table)
    print_line(
        f"{said['frames']:,} frames, {said['bytes']:,} bytes, in {said['cycles']:,} cycles: "
        f"{said['cycles'] / CLOCK_HZ * 1e3:.3f} ms at 156.25 MHz; simulated at "
        f"{said['cycles'] / max(said['seconds'], 1e-9) * 1e-6:.2f} Mcycle/s",
        highlight=False,
    )
    for problem in found.problems:
        print_line(f"problem: {problem}", style="bold red", highlight=False)
    print_line("simulated, not run on a board", style="dim")


@nanet_app.command("library")
def library() -> None:
    """Compiles the card for receive.backend = "nanet", and prints where its library is. At first it takes minutes."""
    from anello.nanet import simulation
    from anello.system.output import console

    card, tools, _ = _ready("nanet_io")
    console(stderr=True).print("the card's model is compiled, minutes ...", highlight=False)
    console().print(str(simulation.library(card, tools)), highlight=False, soft_wrap=True)


@nanet_app.command("mutants")
def mutants(
    *,
    only: Annotated[str, typer.Option(metavar="N,...", help="These faults only, by number or name.")] = "",
    as_json: AsJson = False,
) -> None:
    """Puts faults into copies of the sources, one at a time: the test named for each must fail. Takes minutes."""
    from rich.table import Table

    from anello.nanet.mutants import chosen, read_mutants, try_each
    from anello.system.output import console

    card, tools, _ = _ready("all")
    found = []
    for one in try_each(card, tools, chosen(read_mutants(card), only)):
        console(stderr=True).print(f"{one.name}: {one.outcome}", highlight=False)
        found.append(one)
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        table = Table("fault", "what is wrong", "test", "outcome", "without", box=None, pad_edge=False)
        for one in found:
            table.add_row(one.name, one.about, one.test, one.outcome, "passes" if one.passes_without else "fails")
        console().print(table)
        console().print(f"{sum(one.is_good for one in found)} of {len(found)} faults caught", highlight=False)
    raise typer.Exit(not all(one.is_good for one in found))


def _ready(parts: str) -> Any:
    """Card, tools, and the parts that were named. Raises InputError, ToolError."""
    from anello.nanet.card import CardSources
    from anello.nanet.tools import Tools
    from anello.system.output import console

    card = CardSources.here()
    names = list(card.parts) if parts == "all" else parts.split(",")
    if unknown := set(names) - card.parts.keys():
        raise typer.BadParameter(f"--parts must be of {', '.join(card.parts)} (given: {', '.join(sorted(unknown))})")
    return card, Tools.ready(card, console(stderr=True)), [card.parts[name] for name in names]
