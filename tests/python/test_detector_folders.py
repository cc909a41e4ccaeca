# SPDX-License-Identifier: Apache-2.0
"""A detector is a folder of detectors/: found because it is there, named nowhere else."""

import re
from pathlib import Path

import pytest

from anello import registry

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (ROOT / "detectors").glob("*/CMakeLists.txt"))
GENERIC = [
    *(path for folder in ("anello", "bindings", "cmake", "configs", "engine") for path in (ROOT / folder).rglob("*")),
    *(ROOT / name for name in ("CMakeLists.txt", "CMakePresets.json", "tests/CMakeLists.txt")),
    ROOT / "detectors/CMakeLists.txt",
]  # fmt: skip
TEXTS = {"", ".cpp", ".hpp", ".h", ".cu", ".cuh", ".in", ".json", ".py", ".pyi", ".toml", ".txt"}


# What a detector sends or writes is a format, and formats are for other programs, too: packets lie in engine/wire,
# records in publish/record.hpp. A bench is named after what it runs.
FORMATS = ("engine/wire/", "engine/publish/record.hpp", "cmake/public_headers.cmake")
FORMAT_IN_CODE = re.compile(r"wire(::|/)\w+|\w+_(receive|bench)\b")
COMMENT = re.compile(r"//.*|^#.*")
OF_PYPI = re.compile(r"\b(from|import) rich\b.*|\brich_markup_mode\b|\brich\.(print|console)\b")  # draws on terminals


def naming(paths: list[Path], name: str) -> list[str]:
    """Lines that name the detector."""
    texts = (path for path in paths if path.is_file() and path.suffix in TEXTS and "__pycache__" not in path.parts
             and not any(place in str(path) for place in FORMATS))  # fmt: skip
    return [
        f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}:{number}: {line.strip()}"
        for path in texts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        # in lower case: a folder's name, not the experiment's; and no part of another word
        if re.search(rf"(?<![a-z]){name}(?![a-z])", OF_PYPI.sub("", FORMAT_IN_CODE.sub("", COMMENT.sub("", line))))
    ]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_is_a_chain_and_nothing_generic_names_it(folder: Path) -> None:
    assert folder.name in registry.detectors()
    assert Path(registry.part(folder.name, "config").__module__.replace(".", "/")).parts[:2] == ("anello", folder.name)
    assert naming(GENERIC, folder.name) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_has_a_readme_a_configuration_and_tests(folder: Path) -> None:
    assert (folder / "README.md").exists()
    assert list(folder.glob("*.toml"))
    assert list(folder.glob("tests/test_*.py"))


def test_there_is_one() -> None:
    assert FOLDERS
    assert len([path for path in GENERIC if path.suffix in (".cpp", ".hpp")]) > 300


def test_a_name_is_found(tmp_path: Path) -> None:
    path = tmp_path / "chains.py"
    path.write_text("x = 1\nfrom anello.radio import chain\n")
    assert naming([path], "radio") == ["chains.py:2: from anello.radio import chain"]
