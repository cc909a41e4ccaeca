# SPDX-License-Identifier: Apache-2.0
"""The README is one screen, and the page of commands lists all commands."""

import re
from pathlib import Path

import typer

from anello.cli import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MOST_WORDS, MOST_FIGURES = 900, 8


def test_the_readme_is_read_in_minutes() -> None:
    assert len(README.split()) < MOST_WORDS, "what is more belongs to a page in docs/"


def test_figures_are_few_and_have_command_machine_and_date() -> None:
    table = README.partition("| what | figure | command | machine | date |\n")[2].split("\n\n")[0].splitlines()[1:]
    assert 0 < len(table) <= MOST_FIGURES, "all figures are in docs/measured.md"
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    assert [row for row in cells if len(row) != 5 or not all(row)] == []
    assert [row for row in cells if not re.fullmatch(r"`(\./dev|anello) .+`", row[2])] == []
    assert [row for row in cells if not re.fullmatch(r"20\d\d-\d\d-\d\d", row[4])] == []


def test_every_command_has_its_words() -> None:
    page = (ROOT / "docs/reference/commands.md").read_text()
    names = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert [name for name in names if not re.search(rf"`anello {name}\b", page)] == []
