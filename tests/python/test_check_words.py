# SPDX-License-Identifier: Apache-2.0
"""The check of unclear words finds them where people read, and lets plain words and code pass."""

import subprocess
from pathlib import Path

import check_words
import pytest


@pytest.mark.parametrize(
    "line",
    [
        "/// So long, the builder's time-outs may come late.",
        "int number = 0;  ///< of these, refused ones; of these, all",
        "// written by whoever keeps the page",
        "// Likewise.",
        "call();  // what came before is seen now",
        "// as the format has it",
        'throw Error("nobody was told of it");',
        '{"told_ns", "time when it was told"},',
    ],
)
def test_an_unclear_word_is_found(line: str) -> None:
    assert check_words.unclear(Path("a.hpp"), f"int before;\n{line}\n")[0][0] == 2


@pytest.mark.parametrize(
    "line",
    [
        "/// As long as the buffer lives, and so long as it is full.",
        "/// Besides, the ring lies behind a lock, and the table holds it.",
        "bool told = goes_on(beside);  // the sender was notified",
        'use("told", "beside");  // single words are names',
    ],
)
def test_plain_words_and_code_pass(line: str) -> None:
    assert check_words.unclear(Path("a.hpp"), line) == []


def test_all_that_people_read_is_looked_at() -> None:
    python = '"""Goes on."""\nprint("it goes on")  # beside it\n'
    assert [line for line, _ in check_words.unclear(Path("a.py"), python)] == [1, 2, 2]
    assert [line for line, _ in check_words.unclear(Path("a.md"), "# Title\nIt goes on.\n")] == [2]
    assert len(check_words.unclear(Path("a.sv"), "assign told = 1;  // told\n")) == 1


def test_a_file_counts_for_the_longest_folder_that_is_listed() -> None:
    folders = {".": 0, "engine": 0, "engine/core": 0}
    names = ["engine/core/a.hpp", "engine/corel/a.hpp", "a.md", "cmake/a.txt"]
    assert [check_words.folder_of(name, folders) for name in names] == ["engine/core", "engine", ".", "."]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "engine").mkdir()
    (tmp_path / check_words.LEFT).write_text("# head\nengine 1\n")
    (tmp_path / "engine/a.cpp").write_text("// It goes on.\n")
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    return tmp_path


def complaints(tree: Path) -> list[str]:
    left = check_words.read_left(tree)
    return list(check_words.complaints(left, check_words.places_of(tree, left)))


def test_a_number_may_not_rise(tree: Path) -> None:
    assert complaints(tree) == []
    (tree / "engine/a.cpp").write_text("// It goes on.\n// Beside it.\n")
    first, second, sum_ = complaints(tree)
    assert first == 'engine/a.cpp:1: "goes on": write continue'
    assert second.startswith('engine/a.cpp:2: "Beside"')
    assert sum_.startswith("engine: 2 unclear words, 1 are allowed")


def test_a_number_is_lowered_and_never_raised(tree: Path) -> None:
    def written() -> str:
        left = check_words.read_left(tree)
        check_words.write_left(tree, left, check_words.places_of(tree, left))
        return (tree / check_words.LEFT).read_text()

    (tree / "engine/a.cpp").write_text("// It goes on.\n// Beside it.\n")
    assert written() == "# head\nengine 1\n"
    (tree / "engine/a.cpp").write_text("// It continues.\n")
    assert written() == "# head\nengine 0\n"
