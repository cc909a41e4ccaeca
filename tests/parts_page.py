# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/tests.md from the times of a run of the tests: ./dev test --page.

    parts_page.py build/log/parts.tsv docs/reference/tests.md

A line of the first file is one part that was run: name, run that it belongs to, "again" or nothing, seconds, outcome,
words. Rows of parts that were not run stay as they are on the page; a first time and another are two columns.
"""

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

HEAD = """# Parts of the tests

`./dev test` runs the parts of the run `default`, `./dev test --all` all of them, `./dev test NAME...` those that are
named. A part that has passed is not run again by `--all` while its sources are the same; `--again` runs it all the
same. Seconds are those of wall time, "first" where nothing was built or installed, "again" where nothing had
changed. *Made by `./dev test --all --page`* on {machine}; do not edit.

| part | run | tests | first, s | again, s | what it is |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    name: str
    run: str
    outcome: str
    first_s: str
    again_s: str
    words: str

    def line(self) -> str:
        cells = (f"`{self.name}`", self.run, self.outcome, self.first_s, self.again_s, self.words)
        return f"| {' | '.join(cells)} |"


def rows_of(page: str) -> dict[str, Row]:
    found = re.findall(r"^\| `([\w-]+)` \|(.*)\|(.*)\|(.*)\|(.*)\|(.*)\|$", page, re.MULTILINE)
    return {name: Row(name, *(cell.strip() for cell in cells)) for name, *cells in found}


def with_run(rows: dict[str, Row], line: str) -> dict[str, Row]:
    """The rows after one line of the run's record."""
    name, run, again, seconds, outcome, words = line.split("\t")
    row = replace(rows.get(name, Row(name, run, outcome, "", "", words)), run=run, outcome=outcome, words=words)
    return rows | {name: replace(row, again_s=seconds) if again else replace(row, first_s=seconds)}


def machine() -> str:
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), re.MULTILINE))
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{system.get('PRETTY_NAME', 'Linux')}, {os.cpu_count()} cores of {model[1] if model else 'a processor'}"


def page(before: str, ran: list[str]) -> str:
    rows = rows_of(before)
    for line in ran:
        rows = with_run(rows, line)
    return HEAD.format(machine=machine()) + "".join(f"{row.line()}\n" for row in rows.values())


if __name__ == "__main__":
    ran, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.write_text(page(target.read_text() if target.exists() else "", ran.read_text().splitlines()))
