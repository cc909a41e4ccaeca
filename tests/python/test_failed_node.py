# SPDX-License-Identifier: Apache-2.0
"""A chain's node whose run breaks off says so in its page, as long as its process lives."""

import os
from pathlib import Path

import pytest
from rich.console import Console

from anello.configuration.base import FrontEndsConfig
from anello.configuration.load import load
from anello.configuration.origin import node_page
from anello.counters.pages import look_at
from anello.registry import detectors
from anello.run.run import NotStartedError, run_node
from anello.run.run_control import RunControl

pytest.importorskip("anello._engine", reason="the compiled engine is not built")


class Broken(RunControl):
    """Raises instead of letting the run begin."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def may_start(self) -> bool:
        self.announce("ready")
        raise self._error


def small(chain: str) -> FrontEndsConfig:
    few = {"rich": [], "camera": ["camera.boards=2"], "km3net": ["line.doms=2"]}[chain]
    config = load(None, [f"chain={chain}", *few, "run.display=off"])
    assert isinstance(config, FrontEndsConfig)
    return config


@pytest.mark.parametrize("chain", detectors())
@pytest.mark.parametrize(
    ("error", "state"),
    [(OSError(12, "no memory"), "failed"), (KeyError("a bug of ours"), "failed"), (NotStartedError(), "ready")],
)
def test_the_page_says_that_the_run_failed(tmp_path: Path, chain: str, error: Exception, state: str) -> None:
    lead = Broken(error)
    with pytest.raises(type(error)):
        run_node(small(chain), tmp_path, Console(quiet=True), lead)
    assert look_at(node_page(os.getpid())).header.state == state
    assert lead.node is not None
