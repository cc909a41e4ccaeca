# SPDX-License-Identifier: Apache-2.0
"""Whole runs of nodes that only count, in threads of this process and over a real rendezvous."""

import io
import json
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import exchange_synthetic as synthetic
import pytest
from exchange_synthetic import LIMIT_S, FakeNode, eventually
from rich.console import Console
from stalls import PATIENCE_MS

from anello.errors import ConfigError
from anello.exchange import left_behind
from anello.exchange.account.node_record import NodeRecord
from anello.exchange.rendezvous.group import StartError
from anello.exchange.rendezvous.member import RendezvousGroup
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import RendezvousServer
from anello.exchange.report.progress import ExchangeMeter
from anello.exchange.running import Ended, NodeRun, read_records
from anello.registry import presentation_of
from anello.system.interruption import Interruption

PACE = Pace(timeout_s=20, heartbeat_s=0.02, contest_s=PATIENCE_MS / 1e3, gone_s=15)
SHORT = ["run.duration_s=0.2", "run.refresh_ms=50", "run.display=plain"]


class Farm:
    """Nodes in threads. Those that are not the manager finish when the manager was stopped."""

    def __init__(self, stack: ExitStack, n: int, folder: Path, *settings: str) -> None:
        self.n, self.folder = n, folder
        self.config = synthetic.config(*SHORT, *settings)
        self.server = stack.enter_context(RendezvousServer("tcp://127.0.0.1:*", n, PACE))
        self.pool = stack.enter_context(ThreadPoolExecutor(n + 1))
        self.nodes: dict[int, FakeNode] = {}
        self.interrupted = {rank: Interruption() for rank in range(n)}
        self.output = io.StringIO()

    def start(self, rank: int, failure: str = "") -> "Future[Ended]":
        return self.pool.submit(self._run, rank, failure)

    def start_all(self, failures: dict[int, str] | None = None) -> "list[Future[Ended]]":
        return [self.start(rank, (failures or {}).get(rank, "")) for rank in range(self.n)]

    def _run(self, rank: int, failure: str) -> Ended:
        hello = synthetic.hello(rank, self.n, *SHORT)
        with RendezvousGroup(self.server.endpoint, hello, PACE) as group:
            run = NodeRun(self.config, group, self.folder, lambda values: self._make(values, failure))
            return run.run(Console(file=self.output, width=200), self.interrupted[rank], "started by a test")

    def _make(self, values: dict[str, Any], failure: str) -> FakeNode:
        node = FakeNode(values, failure)
        self.nodes[values["node"]] = node
        if values["node"] == 0:
            node.stop = self._stop_all  # type: ignore[method-assign]
        return node

    def _stop_all(self) -> None:
        for node in list(self.nodes.values()):
            node.finish()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_nodes_run_together_and_the_leader_has_it_all(stack: ExitStack, tmp_path: Path) -> None:
    farm = Farm(stack, 3, tmp_path)
    first, *others = [ended.result(LIMIT_S) for ended in farm.start_all()]
    assert [ended.record for ended in others] == [None, None]
    record = first.record
    assert record is not None
    assert record.ledger().problems == []
    assert [node.rank for node in record.nodes] == [0, 1, 2]
    assert record.absent == {}
    assert not record.interrupted
    assert record.total("builder", "meps_complete") == 3 * synthetic.N_MEPS
    assert record.latency["ready_to_built"]["count"] == 3000
    for rank, node in farm.nodes.items():
        assert node.peers == {other: b"address of %d" % other for other in range(3) if other != rank}
        assert node.values["roles"] == ["em+ru+bu", "ru+bu", "ru+bu"]
        assert node.values["packing"] == 600
        assert node.values["fabric.transport"] == "ucx"
        assert (node.values["chain"], node.values["host"]) == ("exchange", socket.gethostname())  # of the run
        assert (node.reported_states[:2], node.reported_states[-1]) == (["ready", "running"], "ended")
    assert len({node.values["farm_id"] for node in farm.nodes.values()}) == 1
    assert "built:" in farm.output.getvalue()


def test_ctrl_c_at_the_leader_ends_the_run_in_order(stack: ExitStack, tmp_path: Path) -> None:
    farm = Farm(stack, 2, tmp_path, "run.duration_s=1000")
    running = farm.start_all()
    farm.interrupted[0].set()
    first, second = [ended.result(LIMIT_S) for ended in running]
    assert first.interrupted
    assert not second.interrupted
    assert first.record is not None
    assert first.record.interrupted
    assert len(first.record.nodes) == 2


def test_a_node_that_leaves_gives_its_record_and_the_others_continue(stack: ExitStack, tmp_path: Path) -> None:
    farm = Farm(stack, 2, tmp_path)
    farm.interrupted[1].set()
    first, second = [ended.result(LIMIT_S) for ended in farm.start_all()]
    assert second.interrupted
    assert "abort" in farm.nodes[1].calls
    assert first.record is not None
    assert [(node.rank, node.has_left) for node in first.record.nodes] == [(0, False), (1, True)]


def test_without_the_leader_each_node_ends_in_order_and_leaves_what_it_knows(stack: ExitStack, tmp_path: Path) -> None:
    farm = Farm(stack, 3, tmp_path, "run.duration_s=1000")
    leader, *others = farm.start_all()
    eventually(lambda: sum("start" in node.calls for node in list(farm.nodes.values())) == 3)
    farm.server.report_dead(0, "killed by signal 9")
    why = "node 0, which leads the run, is gone: killed by signal 9"
    for rank, running in enumerate(others, 1):
        ended = running.result(LIMIT_S)
        assert (ended.failure, ended.record) == (why, None)
        assert farm.nodes[rank].calls == ["start", "stop"]  # in order, not at once
        assert ended.alone is not None
        folder = left_behind.write_own(ended.alone, farm.config, 3, tmp_path)
        summary = json.loads((folder / "summary.json").read_text())
        assert summary["balanced"] is True
        assert summary["absent"] == {
            str(other): f"its record did not reach node {rank}" for other in {0, 1, 2} - {rank}
        }
        assert why in [notice["text"] for notice in summary["notices"]]
    record = left_behind.join(tmp_path, farm.config, 3, {0: "killed by signal 9"})
    assert record is not None
    assert record.ledger().problems == []
    assert [node.rank for node in record.nodes] == [1, 2]
    assert record.absent == {0: "killed by signal 9"}
    assert record.total("builder", "meps_complete") == 2 * synthetic.N_MEPS
    with pytest.raises(StartError):
        leader.result(LIMIT_S)


def test_nothing_is_joined_where_nodes_left_nothing(tmp_path: Path) -> None:
    config = synthetic.config()
    assert left_behind.join(tmp_path, config, 3, {}) is None
    (tmp_path / "node1").mkdir()
    (tmp_path / "node1/record.json").write_text("{}")
    record = left_behind.join(tmp_path, config, 2, {})
    assert record is not None
    assert record.nodes == ()
    assert record.absent[0] == "it sent no record"
    assert record.absent[1].startswith("its record cannot be read")


def test_a_node_that_fails_says_why_and_the_others_continue(stack: ExitStack, tmp_path: Path) -> None:
    farm = Farm(stack, 2, tmp_path)
    first, second = [ended.result(LIMIT_S) for ended in farm.start_all({1: "no room for buffers"})]
    assert second.failure == "no room for buffers"
    assert first.record is not None
    assert first.failure == ""
    assert first.record.nodes[1].failure == "no room for buffers"
    assert "node 1: no room for buffers" in presentation_of(first.record).headlines()


def test_a_killed_node_is_named_and_taken_out(stack: ExitStack, tmp_path: Path) -> None:
    farm = Farm(stack, 2, tmp_path, "run.duration_s=1")
    running = farm.start_all()
    eventually(lambda: "start" in getattr(farm.nodes.get(1), "calls", []))
    farm.server.report_dead(1, "killed by signal 9")
    with pytest.raises(StartError, match=r"was considered dead"):
        running[1].result(LIMIT_S)
    record = running[0].result(LIMIT_S).record
    assert record is not None
    assert record.absent == {1: "killed by signal 9"}
    assert farm.nodes[0].peers == {}
    assert "node 1 is gone: killed by signal 9" in presentation_of(record).headlines()
    assert any("node 1" in one.text and "is gone" in one.text for one in record.notices)


def test_a_node_that_comes_again_is_connected_anew(stack: ExitStack, tmp_path: Path) -> None:
    farm = Farm(stack, 2, tmp_path, "run.duration_s=2")
    running = farm.start_all()
    eventually(lambda: "start" in getattr(farm.nodes.get(1), "calls", []))
    farm.server.report_dead(1, "killed by signal 9")
    with pytest.raises(StartError):
        running[1].result(LIMIT_S)
    again = farm.start(1)
    record = running[0].result(LIMIT_S).record
    assert again.result(LIMIT_S).failure == ""
    assert record is not None
    assert [node.rank for node in record.nodes] == [0, 1]
    assert record.absent == {1: "killed by signal 9"}
    assert farm.nodes[0].peers == {1: b"address of 1"}
    assert farm.nodes[1].peers == {0: b"address of 0"}


# --- Records ------------------------------------------------------------------------------------------------------
def test_a_record_reads_back() -> None:
    record = synthetic.node_record(1, 4)
    assert NodeRecord.from_bytes(record.as_bytes()) == record


def test_words_of_a_record_cannot_command_a_terminal() -> None:
    content = synthetic.node_record(1, 4).as_bytes().replace(b"it went well", b"\\u001b[2J")
    (notice,) = NodeRecord.from_bytes(content).notices
    assert (notice.text, notice.severity) == ("?[2J", "info")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}", b"[]", b"null", b"\xff", b'{"series": [[1]], "counters": {}}', b"9" * 99,
        synthetic.node_record(0, 1).as_bytes().replace(b'"it went well"', b'"\\ud800"'),
        synthetic.node_record(0, 1).as_bytes().replace(b'"severity":"info"', b'"severity":"fatal"'),
        synthetic.node_record(0, 1).as_bytes().replace(b'"mfps_taken":305', b'"mfps_taken":1e999'),
        synthetic.node_record(0, 1).as_bytes().replace(b'"series":[[0.0', b'"series":[[NaN'),
    ],
)  # fmt: skip
def test_what_is_no_record_is_named(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (its words are JSON's)
        NodeRecord.from_bytes(content)
    nodes, absent = read_records([(0, synthetic.node_record(0, 3).as_bytes()), (1, content)], 3, {})
    assert [node.rank for node in nodes] == [0]
    assert absent[1].startswith("its record cannot be read: ")
    assert absent[2] == "it sent no record"


def test_a_record_of_another_node_is_refused() -> None:
    nodes, absent = read_records([(1, synthetic.node_record(0, 2).as_bytes())], 2, {})
    assert nodes == []
    assert absent == {0: "it sent no record", 1: "its record cannot be read: it says that it is of node 0"}


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match=r'^exchange.roles: must be \["all"\] or name each node, and there are 3'):
        synthetic.config('exchange.roles=["em+ru", "bu"]').roles_of(3)


# --- Progress -----------------------------------------------------------------------------------------------------
def report(time_s: float, n_bytes: int, **more: int) -> bytes:
    return b'{"time_s": %f, "progress": {"bytes_built": %d, "meps_built": 9%s}}' % (
        time_s, n_bytes, b"".join(b', "%s": %d' % (name.encode(), value) for name, value in more.items()))  # fmt: skip


def test_progress_shows_rates_of_nodes_credits_and_who_is_gone() -> None:
    gone: dict[int, str] = {}
    meter = ExchangeMeter(2, gone)
    meter.look({0: report(1, 0), 1: report(1, 0)}, 1.0)
    gone[1] = "killed"
    now = {0: report(2, 10**9, credits_free=3), 1: report(1.5, 10**9, credits_free=20)}
    shown = {item.label: item.value for item in meter.look(now, 2.0).items}
    assert shown["built"] == "24.00 Gb/s, 18 packets, now 0 /s"
    assert shown["nodes, Gb/s"] == "8.00  16.00"
    assert shown["credits free"] == "3 to 20"
    assert shown["gone"] == "node 1: killed"


def test_progress_shows_who_has_lost_whom_before_a_node_is_gone() -> None:
    says = b'{"time_s": 1, "progress": {}, "states": {"node2": "down: its connection broke", "node3": "down: silent"}}'
    shown = [item for item in ExchangeMeter(4, {3: "killed"}).look({0: says, 1: says}, 1.0).items if item.bad]
    assert [(item.label, item.value) for item in shown] == [
        ("gone", "node 3: killed"), ("connections", "node2 for node0: down: its connection broke")]  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"\xff", b'{"progress": 3}', b'{"progress": {"bytes_built": "x"}}',
        b'{"progress": {"meps_built": 1e999}}', b'{"progress": {}, "time_s": null}',
        b'{"progress": {}, "states": {"node1": 1}}', b'{"progress": {}, "states": {"node1": "\\ud800"}}',
    ],
)  # fmt: skip
def test_progress_of_a_mad_node_is_nothing(content: bytes) -> None:
    shown = ExchangeMeter(1, {}).look({0: content}, 1.0)
    assert next(item.value for item in shown.items if item.label == "built") == "0.00 Gb/s, 0 packets, now 0 /s"
