# SPDX-License-Identifier: Apache-2.0
"""Nodes that find each other over sockets: on ephemeral ports, with keys and without, and with strangers present."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import exchange_synthetic as synthetic
import pytest
import zmq
from exchange_synthetic import LIMIT_S, eventually
from stalls import PATIENCE_MS

from anello.errors import ConfigError
from anello.exchange.rendezvous.group import News, StartError
from anello.exchange.rendezvous.member import RendezvousGroup
from anello.exchange.rendezvous.messages import MAGIC
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import RendezvousServer
from anello.system import secret_keys as key_files
from anello.system.secret_keys import Keys

PACE = Pace(timeout_s=20, heartbeat_s=0.02, contest_s=PATIENCE_MS / 1e3, gone_s=15)
IMPATIENT = Pace(timeout_s=3, heartbeat_s=0.02, contest_s=PATIENCE_MS / 1e3, gone_s=15)  # of those who come at once
ANY_PORT = "tcp://127.0.0.1:*"

Join = Callable[..., "Future[RendezvousGroup]"]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def join(stack: ExitStack) -> Join:
    """Begins to join a node of n; the result is its group."""
    pool = stack.enter_context(ThreadPoolExecutor(8))

    def join(
        server: RendezvousServer, rank: int, n: int, *settings: str, pace: Pace = PACE, keys: Keys | None = None
    ) -> "Future[RendezvousGroup]":
        hello = synthetic.hello(rank, n, *settings)
        joining = pool.submit(RendezvousGroup, server.endpoint, hello, pace, keys)
        stack.callback(lambda: joining.exception() or joining.result().close())
        return joining

    return join


def serve(stack: ExitStack, n: int, pace: Pace = PACE, keys: Keys | None = None) -> RendezvousServer:
    return stack.enter_context(RendezvousServer(ANY_PORT, n, pace, keys))


def all_of(joining: "list[Future[RendezvousGroup]]") -> list[RendezvousGroup]:
    return [one.result(LIMIT_S) for one in joining]


def together(groups: list[RendezvousGroup], step: Callable[[RendezvousGroup], object]) -> list[object]:
    with ThreadPoolExecutor(len(groups)) as pool:
        return list(pool.map(step, groups, timeout=LIMIT_S))


# --- A whole run --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 5])
def test_nodes_meet_start_and_end(stack: ExitStack, join: Join, n: int) -> None:
    server = serve(stack, n)
    groups = all_of([join(server, rank, n) for rank in range(n)])
    addresses = {rank: b"address %d" % rank for rank in range(n)}
    assert together(groups, lambda group: group.meet(b"address %d" % group.rank)) == [addresses] * n
    together(groups, lambda group: group.barrier())
    assert len({group.farm_id for group in groups}) == 1
    for group in groups:
        group.report(b"built %d" % group.rank)
    assert eventually(lambda: len(groups[0].reports()) == n)
    groups[0].stop_all("the time is over")
    assert [eventually(group.stop_wanted) for group in groups] == ["the time is over"] * n
    records = together(groups, lambda group: group.gather(b"record %d" % group.rank))
    assert sorted(records[0]) == [(rank, b"record %d" % rank) for rank in range(n)]  # type: ignore[call-overload]
    assert records[1:] == [[]] * (n - 1)
    for group in groups:
        group.close()
    assert server.over.wait(LIMIT_S)
    assert server.failure == ""


def test_a_node_that_dies_and_comes_again(stack: ExitStack, join: Join) -> None:
    server = serve(stack, 2)
    first, second = all_of([join(server, rank, 2) for rank in range(2)])
    together([first, second], lambda group: group.meet(b"old"))
    together([first, second], lambda group: group.barrier())
    server.report_dead(1, "killed by signal 9")
    assert eventually(first.news) == [News(1, "killed by signal 9")]
    again = join(server, 1, 2).result(LIMIT_S)
    assert again.comes_again
    assert again.farm_id == first.farm_id
    assert again.meet(b"new") == {0: b"old", 1: b"new"}
    assert eventually(first.news) == [News(1, "came again", b"new")]
    again.barrier()  # which it is past
    with pytest.raises(StartError, match=r"this node is not known here, or was considered dead"):
        second.meet(b"still there")


# --- Nodes that do not come, come twice, disagree -----------------------------------------------------------------
def test_nodes_that_do_not_come_are_named_everywhere(stack: ExitStack, join: Join) -> None:
    server = serve(stack, 4, IMPATIENT)
    joining = [join(server, rank, 4, pace=IMPATIENT) for rank in (0, 2)]
    for one in joining:
        with pytest.raises(StartError, match=r"^nodes 1, 3 did not come within 3 s$"):
            one.result(LIMIT_S)
    assert server.over.wait(LIMIT_S)
    assert server.failure == "nodes 1, 3 did not come within 3 s"


def test_a_node_that_comes_twice_is_refused_and_the_run_continues(stack: ExitStack, join: Join) -> None:
    server = serve(stack, 2)
    first = join(server, 0, 2)
    eventually(lambda: server._rendezvous.missing() == [1])
    with pytest.raises(StartError, match=r"^refused by the rendezvous: this node joined twice: node 0 \(host host0, "):
        join(server, 0, 2).result(LIMIT_S)
    assert [group.rank for group in all_of([first, join(server, 1, 2)])] == [0, 1]
    assert eventually(server.take_notices) == [
        "refused: node 0 (host host0, process 100) joined twice: node 0 (host host0, process 100) is already here"
    ]


def test_another_configuration_is_refused_with_the_key(stack: ExitStack, join: Join) -> None:
    server = serve(stack, 2)
    first = join(server, 0, 2)
    eventually(lambda: server._rendezvous.missing() == [1])
    with pytest.raises(
        StartError, match=r"has another configuration than node 0 \(.*\): exchange.credits is 3, and 20"
    ):
        join(server, 1, 2, "exchange.credits=3").result(LIMIT_S)
    assert all_of([first, join(server, 1, 2)])


def test_nobody_at_the_address_is_said(stack: ExitStack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        endpoint = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartError, match=rf"^nobody answers at {endpoint} within 0.1 s"):
            RendezvousGroup(endpoint, synthetic.hello(0, 2), Pace(timeout_s=0.1, heartbeat_s=0.02), None)


@pytest.mark.parametrize("endpoint", ["tcp://256.1.1.1:1", "tcp://127.0.0.1", "nonsense"])
def test_a_wrong_address_is_one_line(endpoint: str) -> None:
    with pytest.raises(ConfigError, match=r"^--rendezvous: "):
        RendezvousServer(endpoint, 1, PACE)


def test_a_rendezvous_that_vanishes_is_noticed(stack: ExitStack, join: Join) -> None:
    server = RendezvousServer(ANY_PORT, 1, PACE)
    group = join(server, 0, 1, pace=Pace(timeout_s=20, heartbeat_s=0.02, gone_s=2)).result(LIMIT_S)
    server.close()
    with pytest.raises(StartError, match=r"^the rendezvous was silent for 2 s$"):
        group.gather(b"")


# --- Strangers ----------------------------------------------------------------------------------------------------
def test_hostile_bytes_are_counted_and_disturb_nobody(stack: ExitStack, join: Join) -> None:
    server = serve(stack, 2)
    host, port = server.endpoint.removeprefix("tcp://").split(":")
    for content in (b"GET / HTTP/1.1\r\n\r\n", bytes(100), b"\xff" * 64, b"\xff\0\0\0\0\0\0\0\x01\x7f" + b"\xff" * 80):
        with socket.create_connection((host, int(port))) as stranger:
            stranger.sendall(content)
    context = stack.enter_context(zmq.Context())
    with context.socket(zmq.DEALER) as stranger:
        stranger.connect(server.endpoint)
        for frames in ([b"", b""], [b"x" * 1000], [MAGIC, b"{"], [MAGIC, b'{"kind": "gather"}', b"x"]):
            stranger.send_multipart(frames)
        stranger.recv_multipart()  # the last of them was one of our words, and is answered
        assert server.counters["malformed"] == 3
        assert server.counters["from_unknown"] == 1
    assert len(all_of([join(server, rank, 2) for rank in range(2)])) == 2
    assert eventually(lambda: server.counters.get("handshakes_failed"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not zmq.has("curve"):
        pytest.skip("this ZeroMQ has no CURVE")
    folder = tmp_path_factory.mktemp("farm") / "keys"
    key_files.make(folder)
    return folder


def test_with_keys_nodes_meet(stack: ExitStack, join: Join, folder: Path) -> None:
    keys = Keys.load(folder)
    server = serve(stack, 2, keys=keys)
    groups = all_of([join(server, rank, 2, keys=keys) for rank in range(2)])
    together(groups, lambda group: group.meet(b""))


def test_with_keys_strangers_stay_out_and_are_counted(
    stack: ExitStack, join: Join, folder: Path, tmp_path: Path
) -> None:
    keys = Keys.load(folder)
    key_files.make(tmp_path / "other")
    other = Keys.load(tmp_path / "other")
    false_node = Keys(keys.rendezvous_public, b"", other.node_public, other.node_secret, frozenset())
    server = serve(stack, 1, keys=keys)
    hasty = Pace(timeout_s=0.3, heartbeat_s=0.02)
    for strangers_keys in (None, other, false_node):
        with pytest.raises(StartError, match=r"^nobody answers at "):
            join(server, 0, 1, pace=hasty, keys=strangers_keys).result(LIMIT_S)
    assert join(server, 0, 1, keys=keys).result(LIMIT_S).rank == 0
    assert eventually(lambda: server.counters.get("keys_refused") and server.counters.get("handshakes_failed"))
    assert "from_unknown" not in server.counters


def test_keys_are_the_owners_alone_and_are_not_written_over(folder: Path, tmp_path: Path) -> None:
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.glob("*_secret")} == {
        "rendezvous.key_secret": 0o600, "node.key_secret": 0o600}  # fmt: skip
    with pytest.raises(ConfigError, match=r"^--make-keys: must name a folder without keys"):
        key_files.make(folder)
    with pytest.raises(ConfigError, match=r"^--keys: must be a folder with the key rendezvous.key "):
        Keys.load(tmp_path)
    copy = tmp_path / "copy"
    key_files.make(copy)
    (copy / "node.key_secret").chmod(0o644)
    with pytest.raises(ConfigError, match=r"^--keys: node.key_secret must be readable by its owner alone .*0o644"):
        Keys.load(copy)
    (copy / "node.key_secret").write_text("nonsense")
    with pytest.raises(ConfigError, match=r"^--keys: must be a folder with the key node.key_secret"):
        Keys.load(copy)


def test_any_key_beside_the_rendezvous_own_may_come(folder: Path, tmp_path: Path) -> None:
    key_files.make(tmp_path / "farm")
    (tmp_path / "farm" / "neighbour.key").write_bytes((folder / "node.key").read_bytes())
    keys = Keys.load(tmp_path / "farm")
    assert keys.allowed == {keys.node_public, Keys.load(folder).node_public}
    assert keys.rendezvous_public not in keys.allowed


def test_nodes_need_no_secret_of_the_rendezvous(tmp_path: Path) -> None:
    key_files.make(tmp_path)
    (tmp_path / "rendezvous.key_secret").unlink()
    with pytest.raises(ConfigError, match=r"^--keys: must hold rendezvous.key_secret where the rendezvous is kept"):
        RendezvousServer(ANY_PORT, 1, PACE, Keys.load(tmp_path))
