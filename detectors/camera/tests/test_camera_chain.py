# SPDX-License-Identifier: Apache-2.0
"""The camera chain is led by the same steps as the RICH's: here with an engine that only pretends."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import camera_synthetic as synthetic
import numpy as np
import pytest
from rich.console import Console

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

from anello.camera.account.record import CameraRecord
from anello.configuration.load import load
from anello.errors import ConfigError
from anello.report import report
from anello.run import run
from anello.run.chain_of import chain_of


class PretendedEngine(SimpleNamespace):
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        super().__init__(Node=self.node, Source=self.source)

    def node(self, values: dict[str, Any]) -> synthetic.FakeNode:
        self.given = values
        return synthetic.FakeNode(states={"receive": "sockets", "board1": "ended", "board2": "slow"})

    def source(self, values: dict[str, Any]) -> SimpleNamespace:
        self.given = values
        return SimpleNamespace(prepare=lambda: None)

    def positions(self, n_boards: int, pixels_per_board: int, pixels_file: str) -> np.ndarray:
        return np.zeros((n_boards * pixels_per_board, 2), np.float32)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> PretendedEngine:
    engine = PretendedEngine()
    monkeypatch.setattr("anello.engine.compiled_part", lambda package: engine)
    return engine


def config(*settings: str) -> Any:
    return load(
        None,
        [
            "chain=camera",
            f"camera.boards={synthetic.N_BOARDS}",
            f"run.n_events={synthetic.N_EVENTS}",
            "camera_build.groups=2",
            "receive.ports=[0, 0]",
            "camera_source.ports=[0, 0]",
            "run.refresh_ms=50",
            *settings,
        ],
    )


def test_a_node_is_watched_to_its_end(engine: PretendedEngine, tmp_path: Path) -> None:
    output = io.StringIO()
    record = run.run_node(config("camera_send.file=events.h5"), tmp_path, Console(file=output, width=160))
    assert isinstance(record, CameraRecord)
    assert record.ledger().problems == []
    assert len(record.events.number) == synthetic.N_EVENTS
    assert record.states == {"receive": "sockets", "board2": "slow"}
    assert report.write(record, tmp_path).exists()
    assert "listening at 127.0.0.1, ports 4001, 4002" in output.getvalue()
    assert "built: 300 of 300" in output.getvalue()
    assert engine.given["camera_send.file"] == str(tmp_path / "events.h5")
    assert engine.given["camera.boards"] == synthetic.N_BOARDS
    assert not [key for key in engine.given if key.startswith("trigger.")]


def test_front_ends_get_ports_and_length() -> None:
    chain = chain_of(config())
    assert chain.source_settings([4001, 4002]) == ["camera_source.ports=[4001, 4002]", "run.n_events=300"]


def test_front_ends_get_their_keys_without_prefix_and_the_shape(engine: PretendedEngine) -> None:
    chain_of(config("camera_source.ports=[4001, 4002]", "camera_source.faults.loss=0.1")).make_source(None)
    # fmt: off
    wanted = {"ports": [4001, 4002], "rate_hz": 300.0, "faults.loss": 0.1, "seed": 1, "run.n_events": 300,
              "camera.boards": 5, "camera.payload_bytes": 0}
    # fmt: on
    assert wanted.items() <= engine.given.items()
    assert engine.given["counter_page"].startswith("/anello.source.")


def test_open_ports_are_refused(engine: PretendedEngine) -> None:
    with pytest.raises(ConfigError, match=r"^camera_source.ports: must be the ports that the node listens at"):
        chain_of(config()).make_source(None)
