# SPDX-License-Identifier: Apache-2.0
"""Files that look like real data: the files in tests/lookalikes for C++ tests are those that its script makes."""

from pathlib import Path

import pytest
from detector_data import ROOT, lookalike

pytestmark = pytest.mark.process

MADE = ROOT / "tests/lookalikes"


def test_the_script_still_makes_the_files_that_cpp_tests_read(tmp_path: Path) -> None:
    lookalike(tmp_path)
    kept = {path.name: path for path in MADE.iterdir() if path.suffix in {".dqd", ".dat", ".csv"}}
    assert len(kept) == 4
    for name, path in kept.items():
        assert (tmp_path / name).read_bytes() == path.read_bytes(), f"copy it: python {MADE}/make.py FOLDER"
