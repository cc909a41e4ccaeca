# SPDX-License-Identifier: Apache-2.0
"""Folders that a newcomer can understand: few files each, and no word of one detector in code for all of them."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import check_names
import check_page
import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".py"}
MOST_SOURCES, MOST_OWN_MODULES = 15, 12
MOST_UNFORMATTED = 102  # statements that the formatter must leave: this may only fall
PRODUCTION = ("anello/", "bindings/", "detectors/", "engine/")
GENERIC = ("anello/", "bindings/", "engine/")
# Words of one detector or its field; "ring" is not among them, as memory has rings, too.
WORDS = {
    *("rich", "pmt", "pmts", "photomultiplier", "na62", "supercell", "tel62", "cherenkov", "telescope"),
    *("camera", "cameras", "pixel", "pixels", "cta", "nectarcam", "lst", "dragon"),
    *("dom", "doms", "km3net", "clb"),
}
# Line by line what may stand there all the same, and why.
ALLOWED = (
    r"\b(from|import) rich\b|\brich\.\w+|\brich_markup_mode\b|`rich`",  # the library that draws on terminals
    r"\./dom\.js|\bdom\.js\b",  # the page's document object model
    r"\bcamera_(receive|bench|receive_bench)\b",  # a benchmark is named after what it runs
    r'"n_pixels"|n_pixels',  # a field of a packet's header, as its format names it
)
# Classes of Python whose name stands more than once, and why; all others have a name of their own.
OF_EACH_DETECTOR = "each detector has one, with the same part to play"
DOUBLED = {
    "Engine": OF_EACH_DETECTOR, "LastEvent": OF_EACH_DETECTOR, "Node": OF_EACH_DETECTOR, "Source": OF_EACH_DETECTOR,
    "Options": "each command has one: what the user asked for",
    "Record": "a run's, and one that a program subscribes to: packages of others import both",
}  # fmt: skip


def tracked() -> list[str]:
    """All files of the project, also those that are not committed yet."""
    command = ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def crowded(names: Iterable[str]) -> dict[str, int]:
    """Folders with too many sources. A header and its source are one; __init__.py says only that there is a package."""
    stems = defaultdict(set)
    for name in map(Path, names):
        if name.suffix in SOURCES and name.name != "__init__.py" and "tests" not in name.parts:
            stems[str(name.parent)].add(name.stem)
    return {folder: len(found) for folder, found in stems.items() if len(found) > MOST_SOURCES}


def words_of_detectors(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        rest = line
        for allowed in ALLOWED:
            rest = re.sub(allowed, "", rest)
        pieces = re.findall(r"[A-Z]?[a-z]+[0-9]*[a-z]*|[A-Z]+[0-9]*", rest.replace("_", " "))
        if found := {piece.lower() for piece in [*pieces, *re.findall(r"\w+", rest)]} & WORDS:
            yield f"{name}:{number}: {', '.join(sorted(found))}"


def doubled_classes(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Name -> files, of classes at the top of a module that others may use."""
    files = defaultdict(list)
    for file, text in sources.items():
        for statement in ast.parse(text).body:
            if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
                files[statement.name].append(file)
    return {name: found for name, found in files.items() if len(found) > 1}


def test_no_folder_is_crowded() -> None:
    assert crowded(name for name in tracked() if name.startswith(PRODUCTION)) == {}


def test_the_package_shows_its_parts_and_not_its_modules() -> None:
    own = [name for name in tracked() if re.fullmatch(r"anello/\w+\.py", name)]
    assert len(own) <= MOST_OWN_MODULES, own


def test_nothing_generic_has_a_word_of_one_detector() -> None:
    sources = [name for name in tracked() if name.startswith(GENERIC) and Path(name).suffix in {*SOURCES, ".md", ".js"}]
    assert len(sources) > 400
    assert [found for name in sources for found in words_of_detectors(name, (ROOT / name).read_text())] == []


def test_a_class_has_a_name_of_its_own() -> None:
    names = [name for name in tracked() if re.match(r"(anello|detectors)/.*\.py$", name) and "/tests/" not in name]
    assert len(names) > 300
    doubled = doubled_classes({name: (ROOT / name).read_text() for name in names})
    assert {name: files for name, files in doubled.items() if name not in DOUBLED} == {}
    assert [name for name in DOUBLED if name not in doubled] == [], "it needs no exception any more"


def test_every_file_that_is_named_exists() -> None:
    assert sorted(check_names.missing(ROOT)) == []


def unformatted(text: str) -> int:
    """Statements with a mark of their own, or between a pair; tables alone need it, a row a line."""
    return len(re.findall(r"# fmt: (?:skip|off)$", text, re.MULTILINE))


def test_the_formatter_reads_all_but_tables() -> None:
    sources = [name for name in tracked() if name.startswith(("anello/", "detectors/")) and name.endswith(".py")]
    assert sum(unformatted((ROOT / name).read_text()) for name in sources) <= MOST_UNFORMATTED


def test_the_page_has_narrow_lines_and_small_functions() -> None:
    scripts = sorted(check_page.STATIC.glob("*.js"))
    assert len(scripts) > 10
    assert [found for path in scripts for found in check_page.violations(path.name, path.read_text())] == []


# --- That these can fail ------------------------------------------------------------------------------------------
def test_a_crowd_is_found() -> None:
    names = [f"engine/x/{number}.{kind}" for number in range(16) for kind in ("hpp", "cpp")]
    assert crowded(names) == {"engine/x": 16}
    assert crowded([*names[:30], "engine/x/__init__.py", "engine/x/README.md", "engine/x/tests/a.cpp"]) == {}


def test_a_class_with_the_name_of_another_is_found() -> None:
    sources = {"a.py": "class Place: ...\nclass _Own: ...", "b.py": "class Place: ...\nclass _Own: ..."}
    assert doubled_classes(sources) == {"Place": ["a.py", "b.py"]}


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("N_PMTS = 1952", True),
        ("class CameraEvent: ...", True),
        ("// as in the RICH", True),
        ("from rich.console import Console", False),
        ("ring_memory, richer, tells", False),
    ],
)
def test_a_word_is_found_in_any_dress(line: str, is_found: bool) -> None:
    assert bool(list(words_of_detectors("x.py", line))) is is_found


def test_what_the_formatter_must_leave_is_found() -> None:
    assert unformatted("A = (1, 2)  # fmt: skip\n# fmt: off\nB = (\n    1,\n)\n# fmt: on\n") == 2


def test_a_wide_line_and_a_large_function_of_the_page_are_found() -> None:
    def script(n_columns: int, n_lines: int) -> str:
        inner = ["  tick();"] * (n_lines - 2)
        return "\n".join(
            ["x" * n_columns, "export async function live({ api }) {", *inner, "}", "function small() {", "}"]
        )

    assert list(check_page.violations("a.js", script(121, 51))) == [
        "a.js:1: has 121 columns; 120 are the limit: break the line",
        "a.js:2: live has 51 lines; 50 are the limit: divide it",
    ]
    assert list(check_page.violations("a.js", script(120, 50))) == []


def test_a_file_that_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""As b.py has it, and c.py."""\n# NAME_fuzz.cpp, summary.json, engine/d.hpp\n')
    (tmp_path / "b.py").write_text("")
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    assert list(check_names.missing(tmp_path)) == [
        "a.py:2: there is no engine/d.hpp",
        "a.py:1: there is no c.py",
    ]
