# SPDX-License-Identifier: Apache-2.0
"""Packages and programs of others that only `./dev test --all` installs. A test that needs one is marked `long`."""

import shutil
from typing import Any

import pytest


def package(name: str) -> Any:
    """The module, or the test is skipped."""
    return pytest.importorskip(name, reason=f"there is no {name}: ./dev test --all installs it")


def program(*names: str, path: str | None = None) -> str:
    """The first of these that is there, or the test is skipped."""
    for name in names:
        if found := shutil.which(name, path=path):
            return found
    pytest.skip(f"there is no {names[0]}: ./dev test --all installs it")
