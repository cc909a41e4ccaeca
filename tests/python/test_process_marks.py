# SPDX-License-Identifier: Apache-2.0
"""C++ tests that start processes say so by the name of their suite, by which tests/second_try.py knows them: it ends in
Processes. They stand in files of their own, so that no other test is taken for one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STARTS = re.compile(r"\b(v?fork|clone3?|posix_spawnp?|exec[lv]p?e?|fexecve)\s*\(")
SUITE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)|^RC_GTEST_(?:FIXTURE_)?PROP\(\s*(\w+)", re.MULTILINE)


def wrongly_named(text: str) -> list[str]:
    """Suites of a file that starts processes, but not by their name, or the other way round."""
    starts = STARTS.search(re.sub(r"//.*", "", text)) is not None
    suites = {first or second for first, second in SUITE.findall(text)}
    return sorted(suite for suite in suites if suite.endswith("Processes") != starts)


def sources() -> Iterator[Path]:
    for folder in ("tests/unit", "tests/property", "tests/conformance", "detectors"):
        for path in (ROOT / folder).rglob("*.[ch]pp"):
            if folder != "detectors" or "tests" in path.parts:
                yield path


def test_suites_that_start_processes_are_named_so() -> None:
    found = {str(path.relative_to(ROOT)): wrong for path in sources() if (wrong := wrongly_named(path.read_text()))}
    assert not found, "a suite ends in Processes where, and only where, its file starts processes"


def test_no_header_starts_processes() -> None:
    """A header must not start processes, as the files that include it would have to be known."""
    headers = [path for path in sources() if path.suffix == ".hpp"]
    assert headers
    for path in headers:
        assert not STARTS.search(re.sub(r"//.*", "", path.read_text())), path


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("TEST(Ring, Dies) {\n    fork();\n}\n", ["Ring"]),
        ("TEST_F(RingProcesses, Dies) {\n    if (vfork() == 0) execve(a, b, c);\n}\n", []),
        ("TEST(RingProcesses, Lives) {}\n", ["RingProcesses"]),
        ("// as fork() does\nTEST(Ring, Lives) {}\n", []),
        ("void f() { posix_spawn(a); }\nTYPED_TEST(Ring, A) {}\nTEST_P(MoreProcesses, B) {}\n", ["Ring"]),
        ("void f() { fork (); }\nRC_GTEST_PROP(Ring, A, ()) {}\n", ["Ring"]),
    ],
)
def test_the_check_sees_what_is_wrong(text: str, wrong: list[str]) -> None:
    assert wrongly_named(text) == wrong
