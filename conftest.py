# SPDX-License-Identifier: Apache-2.0
"""What several tests share."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "tests/python"))  # what tests share

ROOT = Path(__file__).parent

settings.register_profile("anello", deadline=None)  # a busy machine's time is no verdict
settings.load_profile("anello")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real events; tests without it are skipped."""
    folder = Path(os.environ.get("ANELLO_DATA", ROOT / "../shared/data"))
    if not (folder / "na62_run8548_events_hits.csv").exists():
        pytest.skip(f"there is no real data in {folder}; ANELLO_DATA names another folder")
    return folder
