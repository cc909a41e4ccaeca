# SPDX-License-Identifier: Apache-2.0
"""Nodes, each a process, that are killed, stand still or lose their link: the others continue without them, the
farm's ledger counts what was lost, and a node that is started again takes part again. All need the engine.

Over UCX twice: through memory, as it is by default on one machine, and over its TCP.
"""

import itertools
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from exchange_synthetic import eventually
from stalls import PATIENCE_MS
from test_run import ROOT
from veth import Star, VethUnavailableError, star

from anello.configuration.load import load
from anello.exchange import left_behind
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import RendezvousServer
from anello.system import secret_keys as key_files
from anello.system.exit_codes import LOST

engine = pytest.importorskip("anello._engine", reason="the compiled engine is not built")
if not hasattr(engine, "ExchangeNode"):
    pytest.skip("this engine has no ExchangeNode", allow_module_level=True)
pytestmark = pytest.mark.process

ANELLO = [sys.executable, "-m", "anello"]
CREDITS = 4
SETTINGS = [
    "exchange.packing=100", "exchange.verify_share=1.0", f"exchange.credits={CREDITS}",
    f"exchange.timeout_ms={PATIENCE_MS}", "exchange.peer_timeout_ms=2000", "generator.rate_hz=20000",
    "generator.n_buffers=16", "run.display=off", "run.duration_s=1000",
]  # fmt: skip
# The timeouts above, and the delays of a loaded machine; the rendezvous alone would need ten seconds to notice.
GO_ON_S = 20.0  # until others must have gone on, on a busy machine too
END_S = 60.0  # until a process must have ended
ALL = '["all"]'
MEMORY = ("ucx", "")
TRANSPORTS = [
    pytest.param(("tcp", ""), id="tcp"),
    pytest.param(("ucx", "tcp"), id="ucx", marks=pytest.mark.long),
    pytest.param(MEMORY, id="memory", marks=pytest.mark.long),
]
USUAL = [*TRANSPORTS[:2], pytest.param(MEMORY, id="memory")]  # of one machine, too, by default


class Node:
    """A process; what it counts can be read while it runs, and of a killed one for ever."""

    def __init__(self, command: list[str], output: Path) -> None:
        self._output = output
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "160"}
        with output.open("w") as said:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)

    def count(self, block: str, name: str) -> int:
        """Value of a counter; 0 if the node has not begun to count, or has ended."""
        try:
            return int(engine.read_counters(f"/anello.node.{self.process.pid}").get(block, {}).get(name, 0))
        except (OSError, RuntimeError, ValueError):
            return 0

    def counts_to(self, block: str, name: str, n: int) -> None:
        """Waits until the counter has reached n, within the time limit."""
        assert eventually(lambda: self.count(block, name) >= n or self.has_ended, GO_ON_S)
        assert not self.has_ended, self.said

    def counts_on(self, block: str, name: str, n: int = 20) -> None:
        """Waits until the counter has risen by n."""
        self.counts_to(block, name, self.count(block, name) + n)

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def said(self) -> str:
        return self._output.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ends_by_itself(self) -> None:
        """The node ends as it cannot continue; it builds the packets that it has begun, and writes its report."""
        assert eventually(lambda: self.has_ended, END_S)
        assert self.process.returncode == 1, self.said

    def close(self) -> None:
        if not self.has_ended:
            self.kill()
        Path(f"/dev/shm/anello.node.{self.process.pid}").unlink(missing_ok=True)


class Farm:
    """Nodes that a user starts one by one. star: each in its namespace; None: all in this one."""

    def __init__(
        self, stack: ExitStack, folder: Path, transport: tuple[str, str], roles: str, *settings: str,
        star: Star | None = None, meet: tuple[str, ...] = (), n: int = 3, config: str = "configs/lhcb-exchange.toml",
    ) -> None:  # fmt: skip
        self._stack, self._folder, self._n, self._star, self._config = stack, folder, n, star, config
        endpoint = f"tcp://{star.address(0)}:7000" if star else f"ipc://{folder}/meet"
        self._meet = meet or ("--rendezvous", endpoint)
        self._settings = [*SETTINGS, f"fabric.transport={transport[0]}", f"fabric.ucx_tls={transport[1]}",
                          f"exchange.roles={roles}", *settings]  # fmt: skip
        self._n_started = 0
        self.nodes = [self.start(rank) for rank in range(n)]
        eventually(lambda: self.managed("meps_complete") > CREDITS * n or any(node.has_ended for node in self.nodes))
        assert not any(node.has_ended for node in self.nodes), [node.said for node in self.nodes]

    def start(self, rank: int) -> Node:
        before = self._star.before(rank) if self._star else ()
        host = self._star.address(rank) if self._star else "127.0.0.1"
        command = [
            *before, *ANELLO, "exchange", self._config, "--no-reference",
            *(part for setting in [*self._settings, f"fabric.host={host}"] for part in ("--set", setting)),
            *self._meet, "--rank", str(rank), "--nodes", str(self._n), "--report-dir", str(self._folder),
        ]  # fmt: skip
        self._n_started += 1
        node = Node(command, self._folder / f"said-{self._n_started}.txt")
        self._stack.callback(node.close)
        return node

    def managed(self, name: str) -> int:
        return self.nodes[0].count("manager", name)

    def continues_without(self, n_lost: int = 1) -> None:
        """Within the time limit the manager misses this number of nodes, and packets are built all the same."""
        assert eventually(lambda: self.managed("nodes_lost") == n_lost, GO_ON_S)
        for name in ("events_built", "mfps_received"):
            self.nodes[0].counts_on("builder", name)

    def takes_in(self, rank: int) -> Node:
        """Starts the node again, and waits until it takes part."""
        n_joined = self.managed("nodes_joined")
        again = self.nodes[rank] = self.start(rank)
        eventually(lambda: self.managed("nodes_joined") > n_joined or again.has_ended)
        assert not again.has_ended, again.said
        return again

    def ends(self, killed: int | None = None, codes: dict[int, int] | None = None) -> dict[str, Any]:
        """Ends the farm by Ctrl-C at node 0; returns the summary, whose ledger balances. killed: a node that is gone;
        codes: exit codes of nodes that ended before."""
        self.nodes[0].process.send_signal(signal.SIGINT)
        others = dict.fromkeys(range(1, self._n), 0) | ({} if killed is None else {killed: -signal.SIGKILL})
        leader, *codes_found = [node.process.wait(END_S) for node in self.nodes]
        assert codes_found == list((others | (codes or {})).values()), [node.said for node in self.nodes]
        summary: dict[str, Any] = json.loads((self._folder / "summary.json").read_text())
        assert summary["balanced"] is True, self.nodes[0].said
        failures = [node["failure"] for node in summary["nodes"] if node["failure"]]
        lost = summary["losses"] or summary["node_losses"] or summary["absent"] or failures
        assert leader == (LOST if lost else 0) == summary["verdict"]["exit_code"], self.nodes[0].said
        return summary


def listening_ports(node: Node) -> list[int]:
    """TCP ports at which the node listens."""
    process = Path(f"/proc/{node.process.pid}")
    sockets = {str(one.readlink()) for one in (process / "fd").iterdir() if one.is_symlink()}
    rows = [line.split() for line in (process / "net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].partition(":")[2], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def counted(summary: dict[str, Any], rank: int, block: str) -> dict[str, int]:
    counters: dict[str, int] = summary["counters"]["node"][f"node{rank}.{block}"]
    return counters


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> tuple[str, str]:
    given: tuple[str, str] = request.param
    return given


Begin = Callable[..., Farm]


@pytest.fixture
def begin(stack: ExitStack, tmp_path: Path, transport: tuple[str, str]) -> Begin:
    """A farm that builds."""

    def begin(roles: str, *settings: str, star: Star | None = None) -> Farm:
        return Farm(stack, tmp_path, transport, roles, *settings, star=star)

    return begin


@pytest.fixture
def namespaces(stack: ExitStack, transport: tuple[str, str]) -> Star:
    if transport == MEMORY:
        pytest.skip("memory has no link that could be cut")
    try:
        return stack.enter_context(star(3))
    except VethUnavailableError as problem:
        pytest.skip(f"namespaces: {problem}")


# --- Strangers ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("with_keys", [pytest.param(False, marks=pytest.mark.long), True], ids=["open", "keys"])
def test_strangers_at_all_ports_are_counted_and_change_nothing(
    stack: ExitStack, tmp_path: Path, with_keys: bool
) -> None:
    keys: tuple[str, ...] = ()
    if with_keys:
        key_files.make(tmp_path / "keys")
        keys = ("--keys", str(tmp_path / "keys"))
    serve = ("exchange", "--rendezvous", "tcp://127.0.0.1:*", "--nodes", "2", "--serve")
    server = Node([*ANELLO, *serve, *keys], tmp_path / "server.txt")
    stack.callback(server.close)
    found = eventually(lambda: re.search(r"rendezvous at (tcp://\S+:(\d+)),", server.said))
    assert isinstance(found, re.Match)
    # Nobody dies here, and a busy machine is to lose nothing.
    patient = f"exchange.peer_timeout_ms={PATIENCE_MS}"
    meet = ("--rendezvous", found[1], "--no-serve", *keys)
    farm = Farm(stack, tmp_path, ("tcp", ""), ALL, patient, meet=meet, n=2)
    chance = random.Random(7)
    words = [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(64), b"\xff" * 64, *(chance.randbytes(2**n) for n in range(17))]
    ports = [int(found[2]), *(port for node in farm.nodes for port in listening_ports(node))]
    assert len(ports) == 3
    for port, word in itertools.product(ports, words):
        stranger = stack.enter_context(socket.create_connection(("127.0.0.1", port)))  # stays, and says no more
        with suppress(ConnectionError):
            stranger.sendall(word)
    for node in farm.nodes:
        node.counts_on("builder", "meps_complete", 100)
        node.counts_to("fabric", "strangers_refused", len(words) - 5)  # the others say too little to be judged
    summary = farm.ends()
    assert summary["losses"] == summary["node_losses"] == summary["absent"] == {}
    assert summary["complete"] == 1
    assert server.process.wait(END_S) == 0
    refused = re.search(r"over; refused: .*handshakes failed (\d+)", server.said)
    assert refused is not None, server.said
    assert 0 < int(refused[1]) <= len(words)


# --- Killed -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("transport", USUAL, indirect=True)
def test_a_killed_builder(begin: Begin) -> None:
    farm = begin('["em+ru+bu", "ru", "bu"]')
    farm.nodes[2].counts_to("builder", "meps_complete", 1)  # else it may hold nothing yet
    farm.nodes[2].kill()
    farm.continues_without()
    farm.takes_in(2).counts_on("builder", "meps_complete")
    summary = farm.ends()
    manager = counted(summary, 0, "manager")
    assert 1 <= manager["meps_lost_with_builder"] <= CREDITS
    assert manager["meps_incomplete"] == 0
    assert manager["nodes_lost"] == 1
    assert summary["losses"]["packets lost with their builder"] == manager["meps_lost_with_builder"]
    assert list(summary["absent"]) == ["2"]
    assert any("node 2 is down: " in notice["text"] for notice in summary["notices"])


def test_a_killed_readout_unit(begin: Begin, tmp_path: Path) -> None:
    farm = begin('["em+ru+bu", "bu", "ru"]', "output.to=store")
    farm.nodes[2].kill()
    farm.continues_without()
    farm.nodes[1].counts_on("builder", "meps_incomplete")
    farm.takes_in(2).counts_on("readout", "mfps_sent")
    farm.nodes[1].counts_on("builder", "meps_complete")
    summary = farm.ends()
    manager = counted(summary, 0, "manager")
    assert manager["meps_lost_with_builder"] == 0
    # Each of them lacks this one source and no other, also those that were assigned after its death.
    assert 20 < manager["meps_incomplete"] == manager["sources_missing"]
    assert list(summary["absent"]) == ["2"]
    assert summary["losses"]["packets built incomplete"] == manager["meps_incomplete"]
    built = [record for rank in (0, 1) for record in stored(tmp_path, rank)]
    assert [n_missing for _, n_missing, n_empty in built if n_missing != n_empty] == []
    assert sum(n_missing for _, n_missing, _ in built) == manager["meps_incomplete"]
    assert summary["complete"] == manager["meps_complete"] / len(built) < 1


@pytest.mark.long
def test_a_killed_readout_unit_of_the_rich(stack: ExitStack, tmp_path: Path) -> None:
    """Events are built and decided without the node's boards, and their loss is accounted for."""
    chain = ["source.rate_hz=5000", "source.burst_ms=200", "source.gap_ms=50", "source.simulation.n_pool_events=2000"]
    settings = (f"input.settings={json.dumps(chain)}", "exchange.packing=1000",
                f"exchange.peer_timeout_ms={PATIENCE_MS}")  # fmt: skip
    roles = '["em+ru+bu", "ru+bu", "ru"]'
    farm = Farm(stack, tmp_path, ("tcp", ""), roles, *settings, config="detectors/rich/na62-rich-farm.toml")
    killed_board = "merge.board3"
    eventually(lambda: all(node.count("merge", "events_complete") > 0 for node in farm.nodes[:2]))
    farm.nodes[2].kill()
    eventually(lambda: farm.managed("nodes_lost") == 1)
    eventually(lambda: all(node.count(killed_board, "missing") >= 100 for node in farm.nodes[:2]))
    summary = farm.ends(killed=2)
    for rank in (0, 1):
        merge = counted(summary, rank, "merge")
        # Some lack others too: when the run is interrupted, front ends do not all stop in the same moment.
        assert merge["events_incomplete"] >= counted(summary, rank, killed_board)["missing"] >= 100
        assert merge["events_complete"] > 0
        assert counted(summary, rank, "trigger")["events"] == merge["events_built"]
    assert counted(summary, 0, "manager")["meps_lost_with_builder"] == 0
    assert list(summary["absent"]) == ["2"]


@pytest.mark.long
def test_a_killed_readout_unit_of_km3net(stack: ExitStack, tmp_path: Path) -> None:
    """Slices without its DOMs are incomplete, and none is said to be whole."""
    line = ["boards.first_slice=17600000000", "boards.singles_hz=500", "boards.pool_slices=2"]
    settings = (f"input.settings={json.dumps(line)}", "exchange.packing=1",
                f"exchange.peer_timeout_ms={PATIENCE_MS}", "fabric.max_message_bytes=4194304")  # fmt: skip
    roles = '["em+ru+bu", "ru+bu", "ru"]'
    farm = Farm(stack, tmp_path, ("tcp", ""), roles, *settings, config="detectors/km3net/km3net-farm.toml")
    farm.nodes[2].kill()
    eventually(lambda: farm.managed("nodes_lost") == 1)
    eventually(lambda: all(node.count("slice_unpack", "slices_incomplete") >= 5 for node in farm.nodes[:2]))
    summary = farm.ends(killed=2)
    n_doms_gone = 6
    for rank in (0, 1):
        slices, trigger = (counted(summary, rank, block) for block in ("slice_unpack", "trigger"))
        assert slices["slices_complete"] > 0
        assert slices["frames_absent"] >= n_doms_gone * slices["slices_incomplete"] > 0
        assert slices["frames_complete"] == trigger["frames_used"]
        assert trigger["slices"] == slices["slices_out"]
    assert summary["node_losses"]["slices incomplete"] > 0


def test_a_killed_manager_ends_the_run_and_each_node_leaves_what_it_knows(
    begin: Begin, tmp_path: Path, transport: tuple[str, str]
) -> None:
    farm = begin(ALL, "output.to=store")
    farm.nodes[0].kill()
    for rank, node in enumerate(farm.nodes[1:], 1):
        node.ends_by_itself()
        causes = ["its connection broke", *(["nothing was heard of it for too long"] if transport == MEMORY else [])]
        assert any(f"anello: the event manager, node 0, is down: {cause}\n" in node.said for cause in causes), node.said
        summary = json.loads((tmp_path / f"node{rank}/summary.json").read_text())
        assert summary["balanced"] is True
        assert (tmp_path / f"node{rank}/report.html").exists()
    config = load(ROOT / "configs/lhcb-exchange.toml", ["fabric.transport=tcp", f"exchange.roles={ALL}"])
    assert isinstance(config, ExchangeConfig)
    record = left_behind.join(tmp_path, config, 3, {0: "killed by signal 9"})
    assert record is not None
    assert record.ledger().problems == []
    rows = {row.name: dict(row.parts) for row in record.ledger().rows}
    begun = rows["all nodes: begun by builders"]
    assert begun["complete"] + begun["incomplete"] == sum(len(stored(tmp_path, rank)) for rank in (1, 2))
    assert rows["sent over connections that broke or were left"]["come"] > 0
    assert record.absent == {0: "killed by signal 9"}


def stored(folder: Path, rank: int) -> list[tuple[int, int, int]]:
    """MEP, sources that it says it lacks, and those that it lacks, as docs/reference/mep-file.md has them."""
    found = []
    with (folder / f"events-node{rank}.raw").open("rb") as file:
        file.seek(32)
        while len(head := file.read(48)) == 48:
            _, n, n_missing, mep, _, _, n_bytes, _, _ = struct.unpack("<4sHHQQqQII", head)
            rest = file.read(n_bytes - 48)
            if len(rest) == n_bytes - 48:  # cut where the process was killed
                found.append((mep, n_missing, struct.unpack_from(f"<{n}I", rest).count(0)))
    return found


# --- Standing still -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "protocol", ["push", *(pytest.param(one, marks=pytest.mark.long) for one in ("pull", "shift"))]
)
def test_a_stalled_node(begin: Begin, transport: tuple[str, str], protocol: str) -> None:
    """When it runs again, it finds that the others have given it up, says so, and may come again."""
    if transport[0] == "ucx" and protocol != "push":
        pytest.skip("with this protocol over tcp alone: what it does is no matter of the transport")
    farm = begin(ALL, f"exchange.protocol={protocol}")
    stalled = farm.nodes[2]
    stalled.process.send_signal(signal.SIGSTOP)
    farm.continues_without()
    stalled.process.send_signal(signal.SIGCONT)
    stalled.ends_by_itself()
    assert "anello: the event manager, node 0, is down: " in stalled.said
    farm.takes_in(2).counts_on("builder", "meps_complete")
    summary = farm.ends()
    assert counted(summary, 0, "manager")["nodes_lost"] == 1


@pytest.mark.long
def test_a_builder_that_stood_still_tells_what_it_built_all_the_same(begin: Begin, tmp_path: Path) -> None:
    """The node's packets were counted as lost with it, and are in its file."""
    farm = begin('["em+ru", "ru+bu", "bu"]', "output.to=store")
    stalled = farm.nodes[2]
    stalled.process.send_signal(signal.SIGSTOP)
    assert eventually(lambda: farm.managed("nodes_lost") == 1, GO_ON_S)
    stalled.process.send_signal(signal.SIGCONT)
    stalled.ends_by_itself()
    summary = farm.ends(codes={2: 1})
    rows = {row["name"]: dict(row["parts"]) for row in summary["ledger"]["rows"]}
    manager, assigned = counted(summary, 0, "manager"), rows["assigned"]
    found = sum(assigned.get(f"built {end}, reported afterwards", 0) for end in ("complete", "incomplete"))
    assert 0 < found <= manager["meps_lost_with_builder"] <= CREDITS
    assert assigned.get("lost with their builder", 0) == manager["meps_lost_with_builder"] - found
    assert summary["losses"].get("packets lost with their builder", 0) == manager["meps_lost_with_builder"] - found
    assert rows["node 2: built, and considered dead"]["reported afterwards"] == found
    built = [stored(tmp_path, rank) for rank in (1, 2)]
    assert len(built[1]) == sum(rows["node 2: built, and considered dead"].values())
    assert len({mep for records in built for mep, _, _ in records}) == manager["meps_assigned"] - (
        manager["meps_lost_with_builder"] - found
    )


# --- Cut off ------------------------------------------------------------------------------------------------------
def test_a_cut_link(begin: Begin, namespaces: Star) -> None:
    farm = begin(ALL, star=namespaces)
    namespaces.cut(2)
    farm.continues_without()
    farm.nodes[2].ends_by_itself()
    assert "anello: the event manager, node 0, is down: " in farm.nodes[2].said
    namespaces.mend(2)
    farm.takes_in(2).counts_on("builder", "meps_complete")
    summary = farm.ends()
    assert counted(summary, 0, "manager")["nodes_lost"] == 1


@pytest.mark.long
def test_a_link_between_two_that_the_manager_reaches_still(begin: Begin, namespaces: Star) -> None:
    """Both stay: each builds without the parts of the other, and node 0 with all."""
    farm = begin(ALL, star=namespaces)
    namespaces.part(1, 2)
    for node in farm.nodes[1:]:
        node.counts_on("builder", "meps_incomplete", 10 * CREDITS)
    farm.nodes[0].counts_on("builder", "meps_complete")
    summary = farm.ends()
    manager = counted(summary, 0, "manager")
    assert manager["nodes_lost"] == manager["meps_lost_with_builder"] == 0
    assert manager["meps_incomplete"] == manager["sources_missing"]
    assert counted(summary, 0, "builder")["meps_incomplete"] == 0


# --- A standby ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("transport", TRANSPORTS[:2], indirect=True)
def test_a_standby_takes_over_from_a_killed_manager_and_node_1_reports(
    stack: ExitStack, tmp_path: Path, transport: tuple[str, str]
) -> None:
    """The program that started the nodes keeps the rendezvous, as one command does, and says which node has died."""
    with RendezvousServer(f"ipc://{tmp_path}/meet", 3, Pace()) as server:
        meet = ("--rendezvous", server.endpoint, "--no-serve")
        farm = Farm(stack, tmp_path, transport, '["all+sb"]', meet=meet)
        manager, standby, other = farm.nodes
        manager.kill()
        server.report_dead(0, "killed")
        standby.counts_to("manager", "takeovers", 1)
        for node in (standby, other):
            node.counts_on("builder", "events_built")
        eventually(lambda: "node 1 leads the run now" in (tmp_path / "node1.log").read_text())
        standby.process.send_signal(signal.SIGINT)
        assert [standby.process.wait(END_S), other.process.wait(END_S)] == [LOST, 0], [standby.said, other.said]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["balanced"] is True, standby.said
    assert summary["absent"] == {"0": "killed"}
    books = counted(summary, 1, "manager")
    assert books["meps_assigned"] == books["meps_complete"] + books["meps_incomplete"] + books["meps_lost_with_builder"]
    assert books["meps_lost_with_builder"] <= CREDITS + 3 * min(CREDITS, 8)
    assert books["meps_incomplete"] > 0  # without node 0's parts
