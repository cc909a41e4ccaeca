# SPDX-License-Identifier: Apache-2.0
"""The tutorials' code runs, block by block."""

from pathlib import Path

import check_docs as check
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", sorted((ROOT / "docs/tutorial").glob("*.md")), ids=lambda page: page.name)
def test_tutorial_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert list(check.tutorial_failures(page, ROOT)) == []


def test_there_are_tutorials() -> None:
    assert list((ROOT / "docs/tutorial").glob("*.md"))
