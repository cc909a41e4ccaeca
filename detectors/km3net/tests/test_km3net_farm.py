# SPDX-License-Identifier: Apache-2.0
"""A line spread over readout units: nodes as a user starts them decide what one node by itself decides."""

import json
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from stalls import FARM_PATIENCE, PATIENCE_MS

from anello.configuration.load import load
from anello.errors import ConfigError
from anello.exchange.feed import FarmPlace
from anello.km3net.feed import Km3netFeed

FARM = Path(__file__).parents[1] / "km3net-farm.toml"
N_SLICES, FIRST_SLICE = 11, 17_600_000_000
# A sixth of the rate, so that a busy machine keeps up; near muons.
LINE = [
    f"boards.first_slice={FIRST_SLICE}",
    f"run.n_slices={N_SLICES}",
    "boards.singles_hz=1000",
    "boards.pool_slices=3",
    "boards.muon_hz=40",
    "boards.muon_radius_m=8",
    f"slices.timeout_ms={PATIENCE_MS}",
    "boards.max_behind_ms=5000",
    "slices.n_slices=40",
    "store.messages=messages.dat",
]


def anello(*arguments: str) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "anello", *arguments], check=False, capture_output=True, text=True, timeout=200
    )
    return ended.returncode, ended.stdout + ended.stderr


def in_a_farm(
    directory: Path, n_nodes: int, line: Sequence[str], *settings: str, codes: tuple[int, ...] = (0, 5)
) -> dict[str, Any]:
    """The summary of a run whose ledger balances."""
    own = [
        f"input.settings={json.dumps(list(line))}",
        "run.display=off",
        *FARM_PATIENCE,
        *settings,
    ]
    arguments = [part for setting in own for part in ("--set", setting)]
    code, output = anello(
        "exchange", str(FARM), "--local", str(n_nodes), "--no-reference", *arguments, "--report-dir", str(directory)
    )
    assert code in codes, output
    summary: dict[str, Any] = json.loads((directory / "summary.json").read_text())
    assert summary["balanced"] is True, output
    return summary


def messages_of(path: Path) -> list[bytes]:
    """Slices, summaries and events, without the numbers of events, which each builder counts by itself."""
    content, messages = path.read_bytes(), []
    while content:
        length, kind = struct.unpack_from("<ii", content)
        message = content[:length]
        messages.append(message[:30] + message[38:] if kind == 10001 else message)
        content = content[length:]
    return messages


def total(summary: dict[str, Any], block: str, name: str) -> int:
    return sum(counters[name] for key, counters in summary["counters"]["node"].items() if key.endswith(f".{block}"))


@pytest.fixture
def engine() -> None:
    pytest.importorskip("anello._engine.km3net", reason="this engine has no KM3NeT")


@pytest.mark.usefixtures("engine")
@pytest.mark.process
def test_nodes_decide_what_one_node_decides(tmp_path: Path) -> None:
    settings = [part for setting in [*LINE, "run.display=off"] for part in ("--set", setting)]
    code, output = anello("run", str(FARM.with_name("km3net.toml")), *settings, "--report-dir", str(tmp_path))
    assert code == 0, output
    alone = json.loads((tmp_path / "summary.json").read_text())["counters"]["node"]["trigger"]
    assert alone["events"] > N_SLICES
    one = sorted(messages_of(tmp_path / "messages.dat"))
    summary = in_a_farm(tmp_path / "farm", 2, LINE)
    files = [messages_of(tmp_path / "farm" / f"messages-node{node}.dat") for node in (0, 1)]
    assert all(files), "both have built"
    assert sorted(message for messages in files for message in messages) == one
    assert {name: total(summary, "trigger", name) for name in alone if name != "samples_dropped"} == {
        name: n for name, n in alone.items() if name != "samples_dropped"
    }
    assert total(summary, "slice_unpack", "slices_complete") == N_SLICES
    names = {row["name"] for row in summary["ledger"]["rows"]}
    assert {"all nodes: slices of all DOMs", "packed by all nodes"} <= names


@pytest.mark.long
@pytest.mark.usefixtures("engine")
@pytest.mark.process
def test_faults_are_accounted_for_and_no_slice_without_a_dom_is_complete(tmp_path: Path) -> None:
    faults = [f"boards.faults.{name}=0.03" for name in ("loss", "duplicate", "reorder")]
    line = [*LINE, *faults, "boards.hits_per_datagram=100", "boards.faults.dead_board=16", "slices.timeout_ms=2000"]
    summary = in_a_farm(tmp_path, 2, line, "exchange.packing=3", "fabric.max_message_bytes=16777216", codes=(0,))
    assert summary["verdict"]["word"] == "good, with the faults that were asked for"
    assert total(summary, "slice_unpack", "slices_complete") == 0
    assert total(summary, "slice_unpack", "slices_incomplete") == N_SLICES
    assert total(summary, "slice_unpack", "frames_absent") == N_SLICES
    assert summary["node_losses"]["slices incomplete"] == N_SLICES
    boards = [block for key, block in summary["counters"]["node"].items() if ".source.board" in key]
    assert len(boards) == 18
    assert sum(board["packets_lost_injected"] for board in boards) > 0


def feed_of(readout: int, n_readouts: int, *settings: str) -> Km3netFeed:
    config: Any = load(FARM, [f"input.settings={json.dumps([f'boards.first_slice={FIRST_SLICE}', *settings])}"])
    return Km3netFeed(config, FarmPlace(readout, readout, n_readouts))


def test_doms_are_spread_and_have_the_ports_and_sources_of_their_node() -> None:
    sources = [f"10.0.0.{i}:4711" for i in range(5)]
    feeds = [feed_of(readout, 2, "line.doms=5", f"receive.sources={json.dumps(sources)}") for readout in (0, 1)]
    assert [feed.boards for feed in feeds] == [range(3), range(3, 5)]
    assert "boards.first_dom=3" in feeds[1].source_settings([7001])
    assert "boards.doms=2" in feeds[1].source_settings([7001])
    assert feeds[1].chain_values(Path())["receive.sources"] == sources[3:]


def test_the_run_is_as_long_as_its_slices() -> None:
    feed = feed_of(0, 2, "run.n_slices=25")
    assert (feed.n_meps, feed.duration_s) == (25, 2.5)


@pytest.mark.parametrize(
    ("n_readouts", "setting", "field"),
    [
        (6, "line.doms=5", "input.config"),
        (2, "boards.first_slice=0", "boards.first_slice"),
        (2, "slices.run_number=0", "slices.run_number"),
    ],
)
def test_what_cannot_be_spread_is_refused_by_name(n_readouts: int, setting: str, field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        feed_of(0, n_readouts, setting)
