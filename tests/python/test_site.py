# SPDX-License-Identifier: Apache-2.0
"""The pages as a site: each is in the menu once, links to folders lead to their READMEs, and READMEs are short."""

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 15


def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "docs/site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = hooks()
FOLDERS = [
    name for name in SITE.tracked("engine/*.md", "detectors/*.md", "rtl/*.md", "zmq/*.md") if "/tests/" not in name
]


def pages_of(menu: Any) -> list[str]:
    if isinstance(menu, str):
        return [menu]
    parts = menu.values() if isinstance(menu, dict) else menu
    return [page for part in parts for page in pages_of(part)]


def test_the_index_names_every_page_once() -> None:
    named = Counter(pages_of(SITE.menu((ROOT / SITE.INDEX).read_text())))
    missing = set(SITE.tracked("*.md")) - set(named) - {"README.md", str(SITE.INDEX)}
    assert not missing, f"docs/README.md, the menu of the site, does not name {sorted(missing)}"
    assert max(named.values()) == 1, named.most_common(3)


def test_a_menu_has_sections_groups_and_titles() -> None:
    index = "# Words\n\n## Start\n- [A run](start/student.md), short\n\n### More\n- [Style](../STYLE.md)\n\n## Last\n"
    first = {"A run": "docs/start/student.md"}
    assert SITE.menu(index) == [{"Start": [first, {"More": [{"Style": "STYLE.md"}]}]}, {"Last": []}]


def test_a_link_to_a_folder_is_one_to_its_readme() -> None:
    text = "[engine](engine), [core](engine/core/#x), [style](STYLE.md), [far](https://example.org/engine)"
    expected = text.replace("(engine)", "(engine/README.md)").replace("core/#x", "core/README.md#x")
    assert SITE.with_files_of_folders("README.md", text) == expected


@pytest.mark.parametrize("name", FOLDERS)
def test_a_readme_of_a_folder_is_short_and_names_a_page(name: str) -> None:
    text = (ROOT / name).read_text()
    assert len(text.splitlines()) <= MOST_LINES, "the rules of a folder belong on a page of docs/reference"
    assert "docs/" in text or name == "engine/README.md"
