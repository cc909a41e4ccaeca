# SPDX-License-Identifier: Apache-2.0
"""The engine keeps the order of its folders, and the check of it can fail."""

from pathlib import Path

import check_include_order as check
import pytest

ENGINE = Path(__file__).parents[2] / "engine"


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A small engine that keeps the order core, wire, events."""
    root = tmp_path / "engine"
    for folder in ("core", "wire", "events"):
        (root / folder).mkdir(parents=True)
    (root / "CMakeLists.txt").write_text("foreach(folder core wire events)\nendforeach()\n")
    (root / "wire/mgp.hpp").write_text('#include <span>\n#include "core/clock.hpp"\n#include "wire/verdict.hpp"\n')
    (root / "wire/CMakeLists.txt").write_text("anello_folder(wire DEPS core LIBS fmt::fmt)\n")
    return root


def test_engine_keeps_the_order() -> None:
    assert list(check.violations(ENGINE)) == []


def test_folders_of_the_engine_are_read_from_cmake() -> None:
    order = check.folder_order(ENGINE)
    assert order[0] == "core"
    assert order[-1] == "pipeline"


def test_earlier_folders_are_allowed(engine: Path) -> None:
    assert list(check.violations(engine)) == []


def test_later_folder_is_named_with_file_and_line(engine: Path) -> None:
    (engine / "core/clock.hpp").write_text('// why\n#include "events/event.hpp"\n')
    assert list(check.violations(engine)) == [
        'engine/core/clock.hpp:2: core includes "events/event.hpp", but events comes after it'
    ]


def test_include_without_folder_is_refused(engine: Path) -> None:
    (engine / "wire/mgp.cpp").write_text('#include "mgp.hpp"\n')
    assert len(list(check.violations(engine))) == 1


def test_linking_a_later_folder_is_refused(engine: Path) -> None:
    (engine / "wire/CMakeLists.txt").write_text("anello_folder(wire DEPS core events)\n")
    assert len(list(check.violations(engine))) == 1


def test_folder_outside_the_order_is_refused(engine: Path) -> None:
    (engine / "utils").mkdir()
    (engine / "utils/misc.hpp").write_text("")
    assert len(list(check.violations(engine))) == 1


def test_parts_that_include_each_other_are_named(engine: Path) -> None:
    for part, other in (("packets", "formats"), ("formats", "packets")):
        (engine / "wire" / part).mkdir()
        (engine / f"wire/{part}/a.hpp").write_text(f'#include "wire/{other}/a.hpp"\n#include "wire/verdict.hpp"\n')
    assert list(check.violations(engine)) == ["engine/wire: formats and packets include each other"]
    (engine / "wire/formats/a.hpp").write_text("")
    assert list(check.violations(engine)) == []
