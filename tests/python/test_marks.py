# SPDX-License-Identifier: Apache-2.0
"""conftest.py's rules: a test that starts a process says so, and a long test runs only on request."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]

TESTS = """
import os, subprocess, sys
import pytest

def test_git(): subprocess.run(["git", "--version"])
def test_child(): subprocess.run([sys.executable, "-c", ""])
def test_fork():
    if os.fork() == 0: os._exit(0)
    os.wait()
@pytest.fixture
def child(): subprocess.run(["true"])
def test_fixture(child): pass
@pytest.mark.process
def test_marked(): subprocess.run(["true"])
def test_nothing(): pass
@pytest.mark.long
def test_long(): pass
"""
LEFT_OUT = "1 long tests left out (./dev test --all)"


def pytest_on(folder: Path, *arguments: str, **environment: str) -> str:
    """Output of pytest for these tests."""
    (folder / "conftest.py").write_bytes((ROOT / "conftest.py").read_bytes())
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = long\n    process\n")
    (folder / "test_it.py").write_text(TESTS)
    inherited = {name: value for name, value in os.environ.items() if name != "ANELLO_LONG"}
    inherited["PYTHONPATH"] = f"{ROOT}:{ROOT / 'tests/python'}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *arguments], cwd=folder,
        env=inherited | environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.stdout


def test_what_starts_a_process_is_marked_and_what_takes_long_is_left_out_and_counted(tmp_path: Path) -> None:
    said = pytest_on(tmp_path, "-n", "1")
    for name, program in (("child", Path(sys.executable).name), ("fork", "os.fork"), ("fixture", "true")):
        assert f"FAILED test_it.py::test_{name} " in said, said
        assert f"it starts a process ({program}): mark it with pytest.mark.process" in said
    for name in ("git", "marked", "nothing"):
        assert f"PASSED test_it.py::test_{name}\n" in said, said
    assert LEFT_OUT in said


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [((), {"ANELLO_LONG": "1"}), (("-m", "long"), {}), (("test_it.py::test_long",), {})],
    ids=["by the variable", "by the mark", "by its name"],
)
def test_what_takes_long_runs_where_it_is_asked_for(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    said = pytest_on(tmp_path, *arguments, **environment)
    assert "PASSED test_it.py::test_long\n" in said, said
    assert "left out" not in said
