# SPDX-License-Identifier: Apache-2.0
"""Two nodes with half of the RICH's boards each make the same decisions as one node with all boards."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stalls import FARM_PATIENCE, PATIENCE_MS

from anello.rich import decisions

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
# With these values a thread that waits for a core makes nothing late, and decisions depend only on the data.
CHAIN = [
    "source.n_bursts=2",
    "source.burst_ms=150",
    "source.gap_ms=50",
    "source.rate_hz=40000",
    "run.seed=5",
    "store.prescale_log2=0",
    "source.simulation.n_pool_events=2000",
    f"build.timeout_ms={PATIENCE_MS}",
    "trigger.deadline_us=0",
    "publish.to=stream",
    f"publish.address=@test-decisions-{os.getpid()}-{{node}}",
]


def anello(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anello", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def options(settings: list[str]) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Runs two nodes, and returns the run's folder and summary."""
    folder = tmp_path_factory.mktemp("farm")
    given = [
        f"input.settings={json.dumps(CHAIN)}",
        "run.seed=5",
        "run.display=off",
        "fabric.transport=tcp",
        *FARM_PATIENCE,
    ]
    config = str(ROOT / "detectors/rich/na62-rich-farm.toml")
    anello("exchange", config, "--local", "2", "--no-reference", "--report-dir", str(folder), *options(given))
    return folder, json.loads((folder / "summary.json").read_text())


def by_key(found: dict[str, Any]) -> dict[int, list[tuple[float, ...]]]:
    """Maps each event to its rings, exact to the last bit."""
    columns = [found[name].tolist() for name in ("ring_x_mm", "ring_y_mm", "ring_radius_mm", "ring_n_hits")]
    rings, offset = list(zip(*columns, strict=True)), found["ring_offset"].tolist()
    return {key: rings[offset[i] : offset[i + 1]] for i, key in enumerate(found["event_key"].tolist())}


def test_two_nodes_decide_what_one_node_decides(farm: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    anello(
        "run",
        str(ROOT / "detectors/rich/na62-rich.toml"),
        "--report-dir",
        str(tmp_path),
        *options([*CHAIN, "run.display=off"]),
    )
    alone = by_key(decisions.read(tmp_path / "decisions.h5"))
    parts = [by_key(decisions.read(farm[0] / f"decisions-node{node}.h5")) for node in (0, 1)]
    assert len(alone) > 5000
    assert all(parts), "both nodes built events"
    assert not parts[0].keys() & parts[1].keys()
    assert parts[0] | parts[1] == alone


def test_the_ledger_of_two_nodes_balances(farm: tuple[Path, dict[str, Any]]) -> None:
    _, summary = farm
    assert summary["ledger"]["balanced"]
    node = summary["counters"]["node"]
    assert node["node0.framer"]["fragments"] + node["node1.framer"]["fragments"] == sum(
        node[f"node{rank}.merge.mep"]["fragments_in"] for rank in (0, 1)
    )
    assert sum(node[f"node{rank}.merge.mep"]["edges_unsure"] for rank in (0, 1)) == 0


def test_decisions_are_offered_to_subscribers(farm: tuple[Path, dict[str, Any]]) -> None:
    """There is no subscriber, but the ledger still accounts for the decisions that were offered."""
    _, summary = farm
    node = summary["counters"]["node"]
    for rank in (0, 1):
        published = node[f"node{rank}.publish.decisions"]
        assert published["records_in"] == published["records_dropped_nobody"] == node[f"node{rank}.trigger"]["batches"]
        assert f"@test-decisions-{os.getpid()}-{rank}" in summary["states"][f"node {rank}"]
    assert any(row["name"] == "all nodes: batches decided" for row in summary["ledger"]["rows"])
