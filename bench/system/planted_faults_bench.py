# SPDX-License-Identifier: Apache-2.0
"""How many runs in virtual time find a fault: each of planted_faults.toml is planted for itself, in farms of
the exchange or in chains of a detector's node, and searched for by `anello simulate`.

    python bench/record.py planted_faults [--seeds 1000] [--first 1] [--only TEXT]

The unit of the build that holds the faulty file is compiled as the build does, and linked into an engine of its own
before the library that has the sound one. One JSON line for each fault. Exits 1 if a fault is not found, and the file
gives no reason.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials import table

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/release"
FARMS = "farms"
SEEDS_AT_A_TIME = 250
HEAD = ["fault, planted", "in", "runs until it is found", "found by"]


@dataclass(frozen=True)
class Fault:
    """sound: text that the file holds once; faulty: the text that replaces it; reason: why no judge can see it."""

    words: str
    where: str  # FARMS, or a detector
    file: str
    sound: str
    faulty: str
    reason: str = ""

    def text(self) -> str:
        """The file with the fault. Raises RuntimeError if the sound text is no longer there."""
        before = (ROOT / self.file).read_text()
        if before.count(self.sound) != 1:
            raise RuntimeError(f"{self.file} holds {before.count(self.sound)} times: {self.sound}")
        return before.replace(self.sound, self.faulty)


@dataclass(frozen=True)
class Found:
    fault: Fault
    runs: int | None  # None: not found
    finding: str
    wall_s: float

    def as_json(self) -> dict[str, Any]:
        return {"case": self.fault.words, "in": self.fault.where, "runs": self.runs, "finding": self.finding,
                "wall_s": self.wall_s}  # fmt: skip

    def row(self, n_seeds: int) -> list[str]:
        runs = f"not by {n_seeds:,}" if self.runs is None else f"{self.runs:,}"
        return [self.fault.words, self.fault.where, runs, self.finding or self.fault.reason]


def faults() -> list[Fault]:
    listed = tomllib.loads(Path(__file__).with_name("planted_faults.toml").read_text())["fault"]
    return [Fault(where=one.pop("in"), **one) for one in listed]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose words hold this")
    options = parser.parse_args()
    results = []
    for fault in faults():
        if options.only in fault.words:
            results.append(searched_for(fault, options.first, options.seeds))
            print(json.dumps(results[-1].as_json()), flush=True)
    n_found = sum(one.runs is not None for one in results)
    print(json.dumps({"case": "all", "found": n_found, "planted": len(results)}), flush=True)
    print(table(HEAD, [result.row(options.seeds) for result in results]), flush=True)
    missed = [one.fault.words for one in results if one.runs is None and not one.fault.reason]
    if missed:
        print(f"not found, and no reason is given: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


def searched_for(fault: Fault, first: int, n_seeds: int) -> Found:
    """Searches with the faulty engine. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "anello"
        shutil.copytree(ROOT / "anello", package, ignore=shutil.ignore_patterns("_engine*.so", "__pycache__"))
        (Path(folder) / "detectors").symlink_to(ROOT / "detectors")
        link(fault, Path(folder), package)
        begun_s = time.monotonic()
        for begin in range(first, first + n_seeds, SEEDS_AT_A_TIME):
            search = simulated(fault, Path(folder), begin)
            if search["failed"]:
                finding = search["shown"][0]["findings"][0]
                return Found(fault, min(search["failed"]) - first + 1, finding, time.monotonic() - begun_s)
        return Found(fault, None, "", time.monotonic() - begun_s)


def simulated(fault: Fault, folder: Path, begin: int) -> dict[str, Any]:
    chain = [] if fault.where == FARMS else ["--chain", fault.where]
    options = [*chain, "--first", str(begin), "--seeds", str(SEEDS_AT_A_TIME), "--ledger", "--json"]
    command = [sys.executable, "-c", "from anello.cli import main; raise SystemExit(main())", "simulate", *options]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        raise RuntimeError(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def link(fault: Fault, folder: Path, package: Path) -> None:
    """The engine's extension with the faulty file."""
    path = ROOT / fault.file
    mutant = folder / path.name
    mutant.write_text(fault.text())
    commands = subprocess.run(
        ["ninja", "-t", "commands", "_engine"], cwd=BUILD, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    compiler, source = next(compilers_of(path, commands))
    if source != path:  # a unit of several files, which includes each
        mutant = folder / "unit.cpp"
        mutant.write_text(source.read_text().replace(f'"{path}"', f'"{folder / path.name}"'))
    words = without_dependencies(compiler)
    subprocess.run(
        [*words[: words.index("-o")], "-I", str(path.parent), "-c", str(mutant), "-o", str(folder / "mutant.o")],
        cwd=BUILD, check=True,
    )  # fmt: skip
    linker = shlex.split(commands[-1].removeprefix(": && ").partition(" && ")[0])
    place = linker.index("-o")
    name = Path(linker[place + 1]).name
    linker[place + 1 : place + 2] = [str(package / name), str(folder / "mutant.o")]
    subprocess.run(linker, cwd=BUILD, check=True)


def compilers_of(path: Path, commands: list[str]) -> Iterator[tuple[list[str], Path]]:
    """The command that compiles this file, or a unit that includes it, and what it compiles."""
    for line in commands:
        words = shlex.split(line)
        source = Path(words[-1])
        if "-c" not in words or words[-2] != "-c" or source.suffix not in (".cpp", ".cxx"):
            continue
        if source == path or ("Unity" in source.parts and f'"{path}"' in source.read_text()):
            yield words, source


def without_dependencies(words: list[str]) -> list[str]:
    """The compiler's command without the options that write a dependency file."""
    kept = [word for word in words if word != "-MD"]
    for option in ("-MT", "-MF"):
        place = kept.index(option)
        del kept[place : place + 2]
    return kept


if __name__ == "__main__":
    raise SystemExit(main())
