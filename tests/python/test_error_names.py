# SPDX-License-Identifier: Apache-2.0
"""An error names the key as the user writes it: every text in the engine's errors that looks like a key is one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from anello import registry
from anello.configuration.keys import known_keys, sections

ROOT = Path(__file__).parents[2]
REFUSALS = re.compile(r"ConfigError|\brequire|\bcheck|\brefuse|unwrap\(|parse_word|place_of")
DOTTED = re.compile(r'"([a-z_0-9]+(?:\.[a-z_0-9]+)+\.?)"')  # with a dot at its end: a section, the key follows


def sources() -> list[Path]:
    """Sources of the engine, without its tests."""
    return [
        path
        for folder in ("engine", "detectors", "bindings")
        for path in (ROOT / folder).rglob("*.?pp")
        if "tests" not in path.parts
    ]


def names_in(code: str) -> Iterator[str]:
    """Names in the statements that refuse a value."""
    for statement in re.split(r"[;{}]", re.sub(r"//.*", "", code)):
        if REFUSALS.search(statement):
            yield from DOTTED.findall(statement)


@pytest.fixture(scope="module")
def known() -> set[str]:
    chains = registry.names()
    return {key for chain in chains for key in known_keys(chain)} | {
        f"{section}." for chain in chains for section in sections(chain)
    }


def test_errors_name_keys(known: set[str]) -> None:
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        for name in names_in(path.read_text())
        if name not in known
    }
    assert not wrong, "no keys; what is none has its own name, without a dot"


def test_the_search_finds_names() -> None:
    code = 'void f() { require(n > 0, "receive.nothing", "must be above 0"); g("stream.block"); } // ConfigError("a.b")'
    assert list(names_in(code)) == ["receive.nothing"]
    assert sum(len(list(names_in(path.read_text()))) for path in sources()) > 100
