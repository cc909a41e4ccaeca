# SPDX-License-Identifier: Apache-2.0
"""The tutorial's detector is as small as the page says, and the page has all of it. That it builds, runs and balances
is tested by running the page (check_docs.py --run)."""

from pathlib import Path

import check_docs

PAGE = Path(__file__).parents[2] / "docs/tutorial/05-your-own-detector.md"
FILES = [block for block in check_docs.blocks(PAGE.read_text()) if block.file]


def test_it_has_fewer_than_150_lines_in_six_files() -> None:
    assert {Path(str(block.file)).name for block in FILES} == {
        "bindings.cpp", "CMakeLists.txt", "pyproject.toml", "registration.py", "chain.py", "telescope.toml"
    }  # fmt: skip
    assert sum(len(block.code.splitlines()) for block in FILES) < 150


def test_none_of_its_commands_is_left_out() -> None:
    commands = [block for block in check_docs.blocks(PAGE.read_text()) if block.language in ("sh", "python")]
    assert all(block.reason_not_run is None and block.added is None for block in commands)
    assert sum("anello run" in block.code for block in commands) == 2
