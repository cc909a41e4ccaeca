# SPDX-License-Identifier: Apache-2.0
"""Nodes of the exchange in one process, over TCP, which needs nothing but this machine."""

import itertools
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from stalls import PATIENCE_MS

from anello import _engine

LIMIT_S = 30
FARM_IDS = itertools.count(time.time_ns() & 0xFFFFFFFFFFFF)


def values(n_nodes: int, **changes: Any) -> dict[str, Any]:
    """The values that a control plane passes; packets are small, so that a test is short."""
    return {
        "n_nodes": n_nodes, "farm_id": next(FARM_IDS), "seed": 5, "roles": ["all"], "fabric.transport": "tcp",
        "protocol": "push", "packing": 50, "n_meps": 200, "credits": 4, "n_buffers": 16, "verify_share": 1.0,
        "timeout_ms": float(PATIENCE_MS), "peer_timeout_ms": float(PATIENCE_MS),
    } | changes  # fmt: skip


def farm(settings: dict[str, Any]) -> list[_engine.ExchangeNode]:
    nodes = [_engine.ExchangeNode(settings | {"node": node}) for node in range(settings["n_nodes"])]
    connect_all(nodes)
    return nodes


def connect_all(nodes: Sequence[_engine.ExchangeNode]) -> None:
    for node, (i, other) in itertools.product(nodes, enumerate(nodes)):
        if node is not other:
            node.connect(i, other.address())


def wait(condition: Any) -> None:
    limit_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < limit_s
        time.sleep(0.002)


def run(nodes: Sequence[_engine.ExchangeNode]) -> None:
    for node in nodes:
        node.start()
    wait(lambda: all(node.finished() for node in nodes))
    for node in nodes:
        node.stop()
        assert node.failure() == ""


def total(nodes: Sequence[_engine.ExchangeNode], block: str, *names: str) -> int:
    return sum(node.counters()[block][name] for node in nodes for name in names)


def assert_whole(nodes: Sequence[_engine.ExchangeNode], n_meps: int) -> None:
    counters = nodes[0].counters()
    assert counters["manager"]["meps_assigned"] == counters["manager"]["meps_complete"] == n_meps
    assert total(nodes, "builder", "meps_complete") == n_meps
    assert total(nodes, "readout", "mfps_sent") == total(nodes, "builder", "mfps_received") == n_meps * len(nodes)
    assert total(nodes, "builder", "fragments_ok") == total(nodes, "builder", "fragments_verified") > 0
    for node in nodes:
        readout = node.counters()["readout"]
        assert readout["mfps_taken"] == node.counters()["generator"]["mfps"]
        assert readout["mfps_taken"] == readout["mfps_sent"] + readout["mfps_left_at_end"]


@pytest.mark.parametrize("protocol", ["push", "pull", "shift"])
def test_all_is_built(protocol: str) -> None:
    nodes = farm(values(3, protocol=protocol))
    run(nodes)
    assert_whole(nodes, 200)
    assert nodes[0].latency()["ready_to_built"]["count"] == nodes[0].progress()["meps_built"]
    assert nodes[1].states()["node2"] == "up"
    assert [node.notices() for node in nodes] == [[], [], []]


def test_one_node_alone() -> None:
    nodes = farm(values(1, layout=["generator", "readout+builder+manager"], payload="fresh"))
    run(nodes)
    assert_whole(nodes, 200)


def test_stop_ends_the_run_of_all() -> None:
    nodes = farm(values(2, n_meps=0))
    for node in nodes:
        node.start()
    wait(lambda: nodes[0].progress()["meps_built"] > 10)
    nodes[1].stop()
    wait(nodes[0].finished)
    nodes[0].stop()
    assert_whole(nodes, nodes[0].counters()["manager"]["meps_assigned"])


def test_a_node_dies_and_comes_again() -> None:
    settings = values(3, n_meps=0, rate_hz=200_000)
    nodes = farm(settings)
    for node in nodes:
        node.start()
    wait(lambda: nodes[2].progress()["meps_built"] > 10)
    nodes.pop().abort()
    built = nodes[1].progress()["meps_built"]
    wait(lambda: nodes[0].states()["node2"].startswith("down") and nodes[1].progress()["meps_built"] > built + 10)
    again = _engine.ExchangeNode(settings | {"node": 2})
    for i, node in enumerate(nodes):
        node.connect(2, again.address())
        again.connect(i, node.address())
    again.start()
    wait(lambda: again.progress()["meps_built"] > 10)
    nodes.append(again)
    nodes[0].stop()
    wait(lambda: all(node.finished() for node in nodes))
    for node in nodes:
        node.stop()
    manager = nodes[0].counters()["manager"]
    ends = ("meps_complete", "meps_incomplete", "meps_lost_with_builder")
    assert manager["meps_assigned"] == sum(manager[end] for end in ends)
    sent = total(nodes, "readout", "mfps_sent") - total(nodes, "readout", "sent_to_dead_builder")
    came = total(nodes, "builder", "mfps_received", "mfps_late", "mfps_duplicate", "mfps_unexpected")
    assert sent == came - total(nodes, "builder", "taken_from_dead_readout")
    assert (manager["nodes_joined"], manager["nodes_lost"]) == (4, 1)


def test_without_the_manager_the_others_end_and_say_why() -> None:
    nodes = farm(values(2, n_meps=0))
    for node in nodes:
        node.start()
    wait(lambda: nodes[1].progress()["meps_built"] > 3)
    nodes.pop(0).abort()
    wait(nodes[0].finished)
    nodes[0].stop()
    assert "the event manager, node 0" in nodes[0].failure()
    assert (nodes[0].failure(), "bad") in nodes[0].notices()


def mep_records(path: Path) -> Iterator[tuple[int, int, list[bytes]]]:
    """Reads the records of a file by the rules of docs/reference/mep-file.md."""
    with path.open("rb") as file:
        magic, n_readouts, packing, _ = struct.unpack("<8s3I12x", file.read(32))
        assert (magic, n_readouts, packing) == (b"MEPFILE1", 2, 50)
        while head := file.read(48):
            magic, n, n_missing, mep, first, _, length, _, n_events = struct.unpack("<4sHHQQqQII", head)
            assert (magic, n, first, n_events) == (b"MPR1", 2, mep * 50, 50)
            lengths = struct.unpack(f"<{n}I", file.read(4 * n))
            assert length == 48 + 4 * n + sum(lengths)
            yield mep, n_missing, [file.read(one) for one in lengths]


def test_built_events_are_stored(tmp_path: Path) -> None:
    settings = values(2, to="store")
    nodes = [_engine.ExchangeNode(settings | {"node": i, "file": str(tmp_path / f"{i}.raw")}) for i in range(2)]
    connect_all(nodes)
    run(nodes)
    meps = []
    for i in range(2):
        for mep, n_missing, mfps in mep_records(tmp_path / f"{i}.raw"):
            assert n_missing == 0
            for source, mfp in enumerate(mfps):
                fields = struct.unpack_from("<4sBBBBHHIIIQ", mfp)
                assert (fields[0], fields[5], fields[6], fields[10]) == (b"MFP1", source, 50, mep * 50)
            meps.append(mep)
    assert sorted(meps) == list(range(200))


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        ("roles", ["ru", "bu"], "exchange.roles"),
        ("protocol", "throw", "exchange.protocol"),
        ("verify_share", 1.5, "exchange.verify_share"),
        ("payload", "none", "generator.payload"),
        ("fragment_mean_bytes", 500.0, "generator.fragment_mean_bytes"),
        ("fabric.max_message_bytes", 1000, "fabric.max_message_bytes"),
        ("fabric.transport", "pigeon", "fabric.transport"),
        ("layout", ["generator+readout", "builder+manager"], "threads.layout"),
        ("wait", "doze", "exchange.wait"),
        ("n_buffers", 1, "generator.n_buffers"),
    ],
)
def test_wrong_values_are_named(key: str, value: object, field: str) -> None:
    with pytest.raises(_engine.ConfigError) as error:
        _engine.ExchangeNode(values(2) | {"node": 0, key: value})
    assert error.value.field == field


def test_a_wrong_address_is_refused() -> None:
    node = _engine.ExchangeNode(values(2) | {"node": 0})
    with pytest.raises(_engine.ConfigError):
        node.connect(1, b"nowhere")
    with pytest.raises(_engine.ConfigError):
        node.connect(7, node.address())


def test_transports_are_known() -> None:
    found = {one["name"]: one for one in _engine.fabric_transports()}
    assert found.keys() == {"ucx", "tcp", "udp"}
    assert found["tcp"]["available"]
    assert found["tcp"]["mode"]
    assert not found["tcp"]["reason"]


def test_point_to_point_is_measured() -> None:
    measured = _engine.point_to_point(values(2, duration_s=0.1))
    assert measured["gbit_per_s"] > 0
    assert "tcp" in measured["about"]
