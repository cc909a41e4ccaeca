# SPDX-License-Identifier: Apache-2.0
"""Hooks and fixtures that several tests share."""

import json
import os
import sys
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

from anello.report.drawing import Figure

sys.path.insert(0, str(Path(__file__).parent / "tests/python"))  # what tests share

import detector_data as of_detectors

ROOT = Path(__file__).parent

# A busy machine's time is no verdict. The tests' examples are a function of the sources: the same in every run.
settings.register_profile("anello", deadline=None, derandomize=True)
# New ones each time; those that failed are kept in .hypothesis and tried first: ./dev search.
KEPT = DirectoryBasedExampleDatabase(ROOT / ".hypothesis/examples")
settings.register_profile("search", deadline=None, derandomize=False, database=KEPT, print_blob=True)
settings.load_profile(os.environ.get("ANELLO_HYPOTHESIS", "anello"))


@pytest.fixture(scope="session", autouse=True)
def _plotly_checks_each_figure() -> Iterator[None]:
    """Checks reports made in the tests' own process: Plotly knows each key, and would have written the same."""
    to_json = Figure.to_json

    def checked(figure: Figure) -> str:
        text = to_json(figure)
        assert json.loads(figure.plotly().to_json()) == json.loads(text)
        return text

    with patch.object(Figure, "to_json", checked):
        yield


@pytest.fixture(scope="session", params=["real", "lookalike"])
def detector_data(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> of_detectors.DetectorData:
    """Real data, without which a test is skipped, and files of the same formats, which are always there."""
    if request.param == "real":
        return of_detectors.real()
    made = of_detectors.lookalike(tmp_path_factory.mktemp("lookalikes"))
    started.clear()  # the script that made them is not the test's own process
    return made


# --- Tests that take long -----------------------------------------------------------------------------------------
N_LEFT_OUT = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `long` run only on request: with ANELLO_LONG=1, with -m, or by a test's own name.

    The report names tests marked `process`, for tests/second_try.py.
    """
    for one in items:
        if one.get_closest_marker("process"):
            one.user_properties.append(("process", one.nodeid))
    asked = config.option.markexpr or any("::" in argument for argument in config.args)
    left_out = [] if asked or "ANELLO_LONG" in os.environ else [one for one in items if one.get_closest_marker("long")]
    config.stash[N_LEFT_OUT] = len(left_out)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [one for one in items if not one.get_closest_marker("long")]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist tells the process that reports, which collects nothing itself."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["n_left_out"] = session.config.stash.get(N_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[N_LEFT_OUT] = getattr(node, "workeroutput", {}).get("n_left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if n := config.stash.get(N_LEFT_OUT, 0):
        terminalreporter.write_line(f"{n} long tests left out (./dev test --all)")


# --- Tests that start processes -----------------------------------------------------------------------------------
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"}
# Programs of others that read what they are given and end: no test fails by chance because of one of them.
AT_ONCE = {"c++", "dpkg-query", "g++", "git", "ldd", "readelf", "systemd-analyze", "uname"}
started: list[str] = []  # by the test that runs now


def watch_for_processes(event: str, details: Iterable[Any]) -> None:
    """Python calls it before any process starts."""
    if event in STARTS:
        program, *_ = (*details, event)
        name = Path(program if isinstance(program, str) else os.fsdecode(program)).name
        if name not in AT_ONCE:
            started.append(name)


sys.addaudithook(watch_for_processes)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    started.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Only a test with the mark `process` is tried a second time when it fails; so the mark must be true."""
    result = yield
    if started and item.get_closest_marker("process") is None:
        programs = ", ".join(sorted(set(started)))
        pytest.fail(f"it starts a process ({programs}): mark it with pytest.mark.process", pytrace=False)
    return result
