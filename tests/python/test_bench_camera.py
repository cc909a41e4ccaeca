# SPDX-License-Identifier: Apache-2.0
"""The camera's benchmarks: what is run, what counts as checked, and the load that both receivers of `peers` get."""

import struct
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

import camera_bench
import peers_bench
from camera_run import CameraTrial, Case, cpu_ratios, run_once, runner, summarise, unverified
from peer_load import CameraFragments, SpeadHeaps

from anello.configuration.load import load
from anello.search.trial import Trial

CASE = Case(1024, "two-stage", "plain")


def run(achieved_hz: float = 100.0, node_us: float = 50.0, **shown: Any) -> CameraTrial:
    trial = Trial(100.0, 2.0, achieved_hz=achieved_hz, n_events=200, mode={"offload_asked": "none"}, **shown)
    return CameraTrial(trial, n_verified=200, n_offered=200, node_us=node_us, source_us=20.0)


def node_counters(placed: int = 6, complete: int = 3, ok: int = 8) -> Mapping[str, Mapping[str, int]]:
    return {
        "build.group0": {"fragments_placed": placed},
        "receive.group0.verdict": {"ok": ok},
        "join": {"events_complete": complete},
    }


CHECKED = {"camera_source.checksum": True, "camera_build.verify_checksum": True, "camera.boards": 2}


@pytest.mark.parametrize("frame", [1024, 1744, 8192])
@pytest.mark.parametrize("layout", ["two-stage", "three-stage"])
@pytest.mark.parametrize("mode", ["plain", "plain+gro", "gso", "gso+gro"])
def test_settings_of_a_case_are_accepted(frame: int, layout: str, mode: str) -> None:
    case = Case(frame, layout, mode)
    config = load(None, ["chain=camera", *case.settings()])
    assert config.camera.fragment_payload_bytes == frame - 64
    assert len(config.threads.layout) == (2 if layout == "two-stage" else 3)
    assert (config.camera_source.payload == "waveforms") == (frame == 1744)


def test_rate_of_payload_and_back() -> None:
    assert CASE.rate_hz(1.0) == pytest.approx(1e9 / (265 * 960 * 8))
    assert CASE.gbit_per_s(CASE.rate_hz(3.0)) == pytest.approx(3.0)


def test_bytes_count_as_checked_only_where_the_counters_say_so() -> None:
    assert unverified(CHECKED, node_counters()) == []
    assert "is off" in unverified(CHECKED | {"camera_source.checksum": False}, node_counters())[0]
    assert "placed" in unverified(CHECKED, node_counters(placed=5))[0]
    assert "found good" in unverified(CHECKED, node_counters(ok=5))[0]


def test_repeats_become_a_row() -> None:
    result = summarise(CASE, [run(90.0), run(100.0, losses={"late": 2}), run(110.0, problems=("off",))])
    assert result["median"] == pytest.approx(CASE.gbit_per_s(100.0))
    assert (result["clean_repeats"], result["n_verified"], result["node_percent"]) == (1, 600, 0.5)
    assert camera_bench.row(result)[-1] == "late 2; off"
    assert len(camera_bench.row(result)) == len(camera_bench.HEAD)


def test_case_whose_runs_all_fail_says_why() -> None:
    failed = CameraTrial(Trial(100.0, 2.0, error="no port"), 0, 0, 0.0, 0.0)
    assert camera_bench.row(summarise(CASE, [failed]))[-1] == "no port"


def test_layouts_are_compared_pair_by_pair() -> None:
    assert cpu_ratios([run(node_us=10.0), run(node_us=0.0)], [run(node_us=12.0), run()]) == [1.2]
    repeats = {CASE: [run(node_us=10.0)], Case(1024, "three-stage", "plain"): [run(node_us=15.0)]}
    assert [case["median"] for case in camera_bench.compared(repeats)] == [1.5]


def test_layouts_of_a_size_run_side_by_side() -> None:
    cases = camera_bench.cases_of(camera_bench.parse(["--quick"]))
    assert [case.layout for case in cases] == ["two-stage", "three-stage"] * 2


@pytest.mark.process
def test_short_run_is_built_and_checked() -> None:
    case = Case(1024, "two-stage", "gso+gro", boards=8)
    with runner(case.settings(), 0.2) as one:
        measured = run_once(one, 200.0, 0.2)
    assert measured.trial.error == ""
    assert measured.trial.problems == ()
    assert measured.n_verified == measured.n_offered > 0


def test_camera_fragments_of_the_load_are_numbered() -> None:
    datagrams = CameraFragments(1024, 3).blank(4)
    CameraFragments(1024, 3).number(datagrams, 5)
    magic, version, _, board = struct.unpack_from("<4sBBH", datagrams[0])
    assert (magic, version, board) == (b"CAM1", 1, 2)
    events, sequences = datagrams[:, 12:16].copy().view("<u4").ravel(), datagrams[:, 16:20].copy().view("<u4").ravel()
    assert events.tolist() == sequences.tolist() == [1, 2, 2, 2]
    assert datagrams[:, 38:40].copy().view("<u2").ravel().tolist() == [960] * 4


def test_spead_heaps_of_the_load_have_consecutive_numbers() -> None:
    form = SpeadHeaps(1024)
    datagrams = form.blank(2)
    form.number(datagrams, 6)
    words = datagrams[:, :48].copy().view(">u8")
    assert words[0, 0] == 0x5304020600000005
    assert [int(word) & (2**48 - 1) for word in words[:, 1]] == [7, 8]
    assert [int(word) >> 48 for word in words[0, 1:]] == [0x8001, 0x8002, 0x8003, 0x8004, 0x1000]
    assert int(words[0, 2]) & 0xFFFF == form.payload_bytes == 1024 - 48
    assert struct.unpack_from(">Q", form.stops()[0], 40)[0] == 0x8006 << 48 | 2


@pytest.mark.parametrize("mode", ["plain", "gso+gro"])
@pytest.mark.parametrize("load", ["paced", "drained"])
@pytest.mark.process
def test_node_gets_all_of_the_load(mode: str, load: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["peers_bench.py", "--quick"])
    monkeypatch.setattr(peers_bench, "BOARDS", 8)
    monkeypatch.setattr(peers_bench, "MAX_EVENT_MEMORY_BYTES", 1)
    sample = peers_bench.measure(peers_bench.Case(1024, mode, "anello", load), 2000.0, peers_bench.parse())
    assert (sample.n_sent, sample.n_lost) == (600, 0)
    assert sample.cpu_s > 0


def test_shares_of_lost_datagrams_and_ratio() -> None:
    ours, theirs = peers_bench.Case(1024, "plain", "anello"), peers_bench.Case(1024, "plain", "spead2")
    clean, lossy = peers_bench.Sample(1000, 0, 1.0, 1e-3), peers_bench.Sample(1000, 10, 1.0, 9e-3)
    result = peers_bench.summarise(ours, [clean, lossy])
    assert (result["median"], result["n_clean"], result["n_lost"]) == (pytest.approx(1000), 1, 10)
    both = {ours: [clean], theirs: [peers_bench.Sample(1000, 0, 1.0, 2e-3)]}
    assert peers_bench.compared(ours, both)["median"] == pytest.approx(2 * 960 / 976)
