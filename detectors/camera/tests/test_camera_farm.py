# SPDX-License-Identifier: Apache-2.0
"""A camera spread over readout units: two nodes as a user starts them build what one node would build."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from stalls import FARM_PATIENCE, PATIENCE_MS

from anello.camera import events as camera_events
from anello.camera.feed import CameraFeed
from anello.configuration.load import load
from anello.errors import ConfigError
from anello.exchange.feed import FarmPlace

FARM = Path(__file__).parents[1] / "cta-camera-farm.toml"
N_BOARDS = 21
N_EVENTS = 203  # no multiple of the packing: the last packet is not full


def anello(*arguments: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "anello", *arguments], check=False, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr


def waveforms_of(file: Path) -> dict[int, bytes]:
    """By event number: which boards are there, and what they measured. Their headers are left out: time stamps count
    from the start of each node's front ends."""
    pytest.importorskip("h5py")
    return {event.event_number: event.boards.tobytes() + event.payloads.tobytes() for event in camera_events.read(file)}


def farm_settings() -> list[str]:
    of_camera = [
        f"camera.boards={N_BOARDS}",
        f"run.n_events={N_EVENTS}",
        "camera_source.rate_hz=400",
        "camera_source.pool_events=16",
        f"camera_build.timeout_ms={PATIENCE_MS}",
        "camera_filter.enabled=false",
    ]
    settings = [f"input.settings={json.dumps(of_camera)}", "run.display=off", "run.duration_s=1", *FARM_PATIENCE]
    return [part for setting in settings for part in ("--set", setting)]


@pytest.mark.process
def test_two_nodes_build_what_one_node_builds(tmp_path: Path) -> None:
    pytest.importorskip("anello._engine")
    for n_nodes in (1, 2):
        anello(
            "exchange",
            str(FARM),
            "--local",
            str(n_nodes),
            "--no-reference",
            *farm_settings(),
            "--report-dir",
            str(tmp_path / str(n_nodes)),
        )
    one = waveforms_of(tmp_path / "1" / "events-node0.h5")
    two = [waveforms_of(tmp_path / "2" / f"events-node{node}.h5") for node in (0, 1)]
    assert sorted(one) == list(range(N_EVENTS))
    assert sorted(n for events in two for n in events) == list(range(N_EVENTS))
    assert all(events for events in two)  # both have built
    for events in two:
        for number, waveforms in events.items():
            assert waveforms == one[number], number
    summary = json.loads((tmp_path / "2" / "summary.json").read_text())
    assert summary["balanced"] is True
    names = {row["name"] for row in summary["ledger"]["rows"]}
    assert "packed by all nodes" in names
    assert "all nodes: all boards: on their way" in names


def feed_of(readout: int, n_readouts: int, *settings: str) -> CameraFeed:
    config = load(FARM, [f"input.settings={json.dumps(list(settings))}"])
    return CameraFeed(config, FarmPlace(readout, readout, n_readouts))


def test_boards_are_spread_in_equal_groups_and_told_the_ports_of_their_node() -> None:
    feeds = [feed_of(readout, 3, "camera.boards=10") for readout in range(3)]
    assert [feed.boards for feed in feeds] == [range(4), range(4, 8), range(8, 10)]
    settings = feeds[1].source_settings([7001, 7002])
    assert "camera_source.ports=[7001, 7001, 7001, 7001, 7001, 7001, 7002, 7002, 7001, 7001]" in settings
    assert "camera_source.first_board=4" in settings
    assert "camera_source.n_boards=4" in settings


@pytest.mark.parametrize(
    ("n_readouts", "setting", "field"),
    [
        (9, "camera.boards=265", "exchange.roles"),
        (4, "camera.boards=5", "exchange.roles"),  # 2, 2, 1 and none
        (2, "camera_source.first_event=7", "camera_source.first_event"),
        (2, "camera_calibrate.file=pedestal.fits", "camera_calibrate.time_lapse"),
    ],
)
def test_what_cannot_be_spread_is_refused_by_name(n_readouts: int, setting: str, field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        feed_of(0, n_readouts, setting)
