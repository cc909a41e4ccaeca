# SPDX-License-Identifier: Apache-2.0
"""Makes docs/measured.md, `./dev bench --page`, of the lines in bench/results/*.jsonl (record.py writes them) and of
what earlier pages were made of, which is in docs/measured.jsonl.

figures.toml says once what each figure is called, where its numbers stand in the lines of its command, its unit and
what is wanted of it. All numbers of one run are its samples; of each machine, which is a processor, a number of cores
and a kernel, the newest run counts. A line that was measured by another command, such as with --quick, is on no page.

    python bench/page.py               writes both files; exits 1 where a line is damaged, and names it
    python bench/page.py --commands    prints what makes all figures, and the minutes it takes
"""

import argparse
import json
import math
import statistics
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FIGURES = Path(__file__).with_name("figures.toml")
RESULTS = Path(__file__).with_name("results")
PAGE = ROOT / "docs/measured.md"
KEPT = PAGE.with_suffix(".jsonl")
NEEDED = ("command", "utc", "cpu", "cores", "kernel")
HEAD = """# Measured

`./dev bench` measures all of these figures, `./dev bench --page` makes this page of the results; nobody writes into it.
[Measure](how-to/measure.md) says what the figures mean, and when not to trust one. All programs of a figure, front ends
included, share the machine that is named: no network card, no RDMA and no GPU took part.

"""
COLUMNS = ("what", "command", "machine", "date", "median", "least to most", "n", "wanted", "")
Line = Mapping[str, Any]


class DamagedLineError(ValueError):
    """A line that record.py has not written, or not to its end."""


@dataclass(frozen=True)
class Figure:
    """value: the way to the numbers in a line, such as `samples/cpu_time`; each number of a list on it is a sample."""

    command: str
    what: str
    value: str
    unit: str
    where: Mapping[str, object]  # what a line must hold; texts may have `*`
    times: float = 1.0  # what makes the unit of the numbers
    at_most: float | None = None
    at_least: float | None = None

    @property
    def bench(self) -> str:
        return self.command.split()[2]

    @property
    def wanted(self) -> str:
        if self.at_most is not None:
            return f"at most {number(self.at_most)} {self.unit}"
        return "" if self.at_least is None else f"at least {number(self.at_least)} {self.unit}"

    def verdict(self, median: float) -> str:
        if not self.wanted:
            return ""
        is_met = median >= self.at_least if self.at_most is None else median <= self.at_most  # type: ignore[operator]
        return "met" if is_met else "missed"

    def is_in(self, line: Line) -> bool:
        return line["command"] == self.command and all(_is_like(line.get(key), one) for key, one in self.where.items())

    def samples(self, lines: Sequence[Line]) -> list[float]:
        way = self.value.split("/")
        return [self.times * value for line in lines for value in _numbers(line, way)]


@dataclass(frozen=True)
class Measurement:
    """A figure on one machine, by its newest run."""

    command: str
    what: str
    machine: str
    utc: str
    samples: Sequence[float]


def _is_like(value: object, pattern: object) -> bool:
    if isinstance(value, str) and isinstance(pattern, str):
        return fnmatchcase(value, pattern)
    return value == pattern


def _numbers(value: Any, way: Sequence[str]) -> Iterator[float]:
    if isinstance(value, list):
        for one in value:
            yield from _numbers(one, way)
    elif isinstance(value, dict) and way:
        yield from _numbers(value.get(way[0]), way[1:])
    elif value is not None:
        yield float(value)


def figures(path: Path = FIGURES) -> list[Figure]:
    groups = tomllib.loads(path.read_text())["bench"]
    return [Figure(group["command"], **one) for group in groups for one in group["figure"]]


def wanted(bench: str, value: str) -> float:
    """Limit of a figure, for a benchmark that judges its own runs."""
    (limit,) = {one.at_least if one.at_most is None else one.at_most
                for one in figures() if (one.bench, one.value) == (bench, value)}  # fmt: skip
    assert limit is not None
    return limit


def line_of(text: str) -> Line:
    """Raises DamagedLineError."""
    try:
        line = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise DamagedLineError(f"is no JSON ({error})") from error
    if not isinstance(line, dict):
        raise DamagedLineError("is no JSON object")
    if lacking := [key for key in NEEDED if key not in line]:
        raise DamagedLineError(f"does not say its {', '.join(lacking)}")
    return line


def _no_number(text: str) -> None:
    """The page leaves out what a benchmark did not know."""


def read(paths: Iterable[Path]) -> tuple[list[Line], list[str]]:
    """All lines of the results, and a complaint about each damaged one."""
    lines, damaged = [], []
    for path in sorted(paths):
        for place, text in enumerate(path.read_text().splitlines(), 1):
            try:
                lines.append(line_of(text))
            except DamagedLineError as error:
                damaged.append(f"{path}:{place}: the line {error}, so the page does not count it. Remove the line.")
    return lines, damaged


def machine(line: Line) -> str:
    return f"{line['cpu']}, {line['cores']} cores, Linux {line['kernel']}"


def measured(figure: Figure, lines: Sequence[Line]) -> Iterator[Measurement]:
    """One measurement for each machine."""
    own = [line for line in lines if figure.is_in(line)]
    for name in sorted({machine(line) for line in own}):
        here = [line for line in own if machine(line) == name]
        newest = max(line["utc"] for line in here)
        samples = figure.samples([line for line in here if line["utc"] == newest])
        if samples:
            yield Measurement(figure.command, figure.what, name, newest, samples)


def kept(path: Path = KEPT) -> list[Measurement]:
    """What the page was made of so far."""
    return [Measurement(**json.loads(text)) for text in path.read_text().splitlines()] if path.exists() else []


def newest_of(all_figures: Sequence[Figure], measurements: Iterable[Measurement]) -> list[Measurement]:
    """The newest of each figure and machine, in the order of the figures; none of a figure that is not declared."""
    newest: dict[tuple[str, str, str], Measurement] = {}
    for one in sorted(measurements, key=lambda one: one.utc):
        newest[one.command, one.what, one.machine] = one
    places = {(figure.command, figure.what): place for place, figure in enumerate(all_figures)}
    declared = [one for one in newest.values() if (one.command, one.what) in places]
    return sorted(declared, key=lambda one: (places[one.command, one.what], one.machine))


def row(figure: Figure, one: Measurement) -> list[str]:
    median = statistics.median(one.samples)
    least_to_most = f"{number(min(one.samples))} to {number(max(one.samples))}" if len(one.samples) > 1 else ""
    return [figure.what, f"`{figure.command}`", one.machine, one.utc[:10], f"{number(median)} {figure.unit}",
            least_to_most, str(len(one.samples)), figure.wanted, figure.verdict(median)]  # fmt: skip


def number(value: float) -> str:
    """A value with three digits, or with all digits before the point."""
    digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def page(all_figures: Sequence[Figure], measurements: Sequence[Measurement]) -> str:
    by_name = {(figure.command, figure.what): figure for figure in all_figures}
    table = [_cells(COLUMNS), "|---" * len(COLUMNS) + "|"]
    table += [_cells(row(by_name[one.command, one.what], one)) for one in measurements]
    known = {(one.command, one.what) for one in measurements}
    lacking = dict.fromkeys(command for command, what in by_name if (command, what) not in known)
    text = HEAD + "\n".join(table) + "\n"
    if lacking:
        text += "\nNo result was at hand of " + ", ".join(f"`{command}`" for command in lacking) + ".\n"
    return text


def _cells(row: Sequence[str]) -> str:
    return "| " + " | ".join(row) + " |"


def commands() -> Iterator[tuple[str, float]]:
    """Commands that measure all figures, and the minutes that each takes."""
    for group in tomllib.loads(FIGURES.read_text())["bench"]:
        yield group["command"], group["minutes"]


def main() -> int:
    parser = argparse.ArgumentParser(description="docs/measured.md, made of bench/results/*.jsonl.")
    parser.add_argument("--commands", action="store_true", help="print what makes all figures, and the minutes")
    if parser.parse_args().commands:
        for command, minutes in commands():
            print(f"{minutes:g} {command}")
        return 0
    declared = figures()
    lines, damaged = read(RESULTS.glob("*.jsonl"))
    new = [one for figure in declared for one in measured(figure, lines)]
    measurements = newest_of(declared, [*kept(), *new])
    KEPT.write_text("".join(json.dumps(asdict(one)) + "\n" for one in measurements))
    PAGE.write_text(page(declared, measurements))
    print("\n".join([*damaged, f"{PAGE.relative_to(ROOT)} has {len(measurements)} figures, {len(new)} of them new"]))
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
