# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of several files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from catalogue_synthetic import Clock

from anello.catalogue.catalogue import Catalogue, of_runs_in


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def catalogue(tmp_path: Path, clock: Clock) -> Iterator[Catalogue]:
    """An empty catalogue for the runs in tmp_path."""
    with Catalogue(of_runs_in(tmp_path), clock=clock) as opened:
        yield opened
