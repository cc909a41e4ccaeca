# SPDX-License-Identifier: Apache-2.0
"""What several tests share."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "tests/python"))  # what tests share

import detector_data as of_detectors

settings.register_profile("anello", deadline=None)  # a busy machine's time is no verdict
settings.load_profile("anello")


@pytest.fixture(scope="session", params=["real", "lookalike"])
def detector_data(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> of_detectors.DetectorData:
    """Real data, without which a test is skipped, and files of the same formats, which are always there."""
    if request.param == "real":
        return of_detectors.real()
    return of_detectors.lookalike(tmp_path_factory.mktemp("lookalikes"))
