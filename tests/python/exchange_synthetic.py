# SPDX-License-Identifier: Apache-2.0
"""Made-up nodes of an exchange: their greetings, and a rendezvous that gets them at made-up times."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anello.account.leg import slim
from anello.account.notices import Notice
from anello.account.record import CounterDict
from anello.configuration.load import load
from anello.exchange.account.node_record import NodeRecord, Sample
from anello.exchange.account.numbers import Account, ReceivedAccount, ReportedAccount, SentAccount
from anello.exchange.account.record import ExchangeRecord, together
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.rendezvous.group import Hello
from anello.exchange.rendezvous.messages import Message
from anello.exchange.rendezvous.protocol import Pace, Rendezvous

NOTICES = (Notice(1_800_000_000_000_000_000, "it went well", "info"),)

LIMIT_S = 30.0  # after which a test has failed
PACE = Pace(timeout_s=30, heartbeat_s=0.5, contest_s=2, gone_s=10)


def config(*settings: str) -> ExchangeConfig:
    made = load(None, ["chain=exchange", *settings])
    assert isinstance(made, ExchangeConfig)
    return made


def hello(rank: int, n_nodes: int, *settings: str, **other: object) -> Hello:
    said = Hello.of(config(*settings), rank, n_nodes).as_dict() | {"host": f"host{rank}", "pid": 100 + rank}
    return Hello.from_dict(said | other)


class Meeting:
    """A rendezvous, and the messages that each connection was sent since it last looked."""

    def __init__(self, n_nodes: int, pace: Pace = PACE, *, held: bool = False) -> None:
        self.n_nodes, self.now_s = n_nodes, 0.0
        self.rendezvous = Rendezvous(n_nodes, pace, self.now_s, held=held)
        self._mail: dict[bytes, list[Message]] = {}

    def say(self, who: bytes, kind: str, *payload: bytes, **fields: object) -> None:
        self._deliver(self.rendezvous.on_message(who, Message(kind, dict(fields), payload), self.now_s))

    def greet(self, who: bytes, rank: int, *settings: str, **other: object) -> None:
        self.say(who, "hello", **hello(rank, self.n_nodes, *settings, **other).as_dict())

    def wait(self, seconds: float, *alive: bytes) -> None:
        """Lets time pass, while these nodes continue to say that they live."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s += 0.25
            for who in alive:
                self.say(who, "alive")
            self._deliver(self.rendezvous.on_time(self.now_s))

    def stand_still(self, seconds: float) -> None:
        """Lets the machine of the rendezvous stand still."""
        self.now_s += seconds
        self._deliver(self.rendezvous.on_time(self.now_s))

    def die(self, rank: int, why: str) -> None:
        self._deliver(self.rendezvous.on_death(rank, why))

    def release(self) -> None:
        self._deliver(self.rendezvous.release())

    def cancel(self, why: str) -> None:
        self._deliver(self.rendezvous.cancel(why))

    def mail(self, who: bytes, *but: str) -> list[Message]:
        """Messages that a connection was sent, without signs of life."""
        return [message for message in self._mail.pop(who, []) if message.kind not in ("alive", *but)]

    def _deliver(self, outgoing: list[tuple[bytes, Message]]) -> None:
        for who, message in outgoing:
            self._mail.setdefault(who, []).append(message)


def names(n: int) -> Iterator[bytes]:
    """Connections."""
    return (b"connection %d" % number for number in range(n))


def begun(n_nodes: int, *settings: str) -> Meeting:
    """A run that has started."""
    meeting = Meeting(n_nodes)
    nodes = list(names(n_nodes))
    for rank, who in enumerate(nodes):
        meeting.greet(who, rank, *settings)
    for kind in ("meet", "barrier"):
        for rank, who in enumerate(nodes):
            meeting.say(who, kind, b"address %d" % rank)
    for who in nodes:
        assert [message.kind for message in meeting.mail(who, "waiting")] == ["welcome", "meet", "barrier"]
    return meeting


def eventually(look: Callable[[], object], limit_s: float = LIMIT_S) -> object:
    """The first result that is true. limit_s: in this process's time, which stops while it is not running."""
    found: list[object] = []
    tick = threading.Event()
    for _ in range(int(limit_s / 0.01)):
        found = [look()]
        if found[0]:
            break
        tick.wait(0.01)
    assert found[0], "it never came"
    return found[0]


# --- Nodes that build nothing, but count ------------------------------------------------------------------------------
N_MEPS = 300  # of each builder
MFP_BYTES = 120_000


def zeros(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 0)


def counters_of(rank: int, n_nodes: int) -> CounterDict:
    """A node of a farm that loses nothing; all read out and build, node 0 manages."""
    n_all = N_MEPS * n_nodes
    counters: CounterDict = {
        "generator": zeros("mfps_dropped", "waits_for_room", "behind_ns_max")
        | {"mfps": n_all + 5, "events": 600 * (n_all + 5), "bytes": MFP_BYTES * (n_all + 5)},
        "readout": zeros(
            "mfps_lost", "mfps_lost_to_dead_builder", "mfps_too_late", "mfps_before_start", "mfps_in_flight_at_end",
            "absences_told", "sent_to_dead_builder", "assignments_refused", "waits_for_transport",
        )
        | {"assigned": n_all, "mfps_taken": n_all + 5, "mfps_sent": n_all, "mfps_left_at_end": 5,
           "bytes_sent": MFP_BYTES * n_all},
        "builder": zeros(
            "meps_incomplete", "meps_timed_out", "meps_left", "sources_missing", "sources_absent", "sources_gone",
            "sources_spoilt", "sources_timed_out", "mfps_malformed", "mfps_wrong", "mfps_late", "mfps_duplicate",
            "mfps_unexpected", "mfps_cut", "mfps_never_came", "mfps_repeated", "taken_from_dead_readout",
            "fragments_wrong_checksum", "waits_for_sink",
        )
        | {"meps_opened": N_MEPS, "meps_complete": N_MEPS, "events_built": 600 * N_MEPS,
           "bytes_built": MFP_BYTES * n_all, "mfps_received": n_all, "bytes_received": MFP_BYTES * n_all,
           "fragments_verified": 6 * n_all, "fragments_ok": 6 * n_all},
        "station": zeros("control_resent", "control_out_of_order", "malformed", "waits_for_messages")
        | {"control_sent": 100, "control_received": 100, "sleeps": 7, "waited_for_parts_ns": 500_000_000},
    }  # fmt: skip
    if rank == 0:
        counters["manager"] = zeros(
            "meps_incomplete", "meps_lost_with_builder", "lost_and_not_noted", "meps_open_at_end",
            "complete_at_lost_builders", "incomplete_at_lost_builders", "sources_missing", "credits_refused",
            "nodes_lost",
        ) | {"meps_assigned": n_all, "meps_complete": n_all, "credits": n_all + 20, "nodes_joined": n_nodes,
             "waits_for_credit": 3}  # fmt: skip
    return counters


def account_of(rank: int, n_nodes: int) -> Account:
    """The numbers of counters_of(), by identity."""
    ranks = range(n_nodes)
    reported = tuple(ReportedAccount(one, 1000 + one, N_MEPS, 0, False, frozenset()) for one in ranks)
    return Account(
        life=1000 + rank, sent_to={one: SentAccount(N_MEPS, True) for one in ranks},
        come_from={one: ReceivedAccount(N_MEPS, N_MEPS, 0, True) for one in ranks},
        handed_on={n_nodes * (N_MEPS - 1) + rank: 0}, builders=reported if rank == 0 else (),
    )  # fmt: skip


def latency() -> dict[str, dict[str, Any]]:
    """1000 packets that took 100 to 200 us, as a node gives it."""
    stage = {
        "count": 1000, "mean_ns": 150_000.0, "p50_ns": 150_000.0, "p90_ns": 190_000.0, "p99_ns": 199_000.0,
        "p999_ns": 200_000.0, "p9999_ns": 200_000.0, "max_ns": 200_000, "above_1ms": 0,
        "bins_ns": np.array([0.0, 50_000, 100_000, 150_000, 200_000, 400_000]),
        "bin_counts": np.array([0, 0, 500, 500, 0], np.uint64),
    }  # fmt: skip
    return {"ready_to_built": stage, "ready_to_sent": stage}


def node_record(rank: int, n_nodes: int, wall_s: float = 2.0) -> NodeRecord:
    series = tuple(Sample(0.1 * i, i * MFP_BYTES * N_MEPS * n_nodes // 20, 15 * i, 0.05 * i, i % 5) for i in range(21))
    return NodeRecord(
        rank=rank, host=f"host{rank}", roles="em+ru+bu" if rank == 0 else "ru+bu", counters=counters_of(rank, n_nodes),
        latency={name: slim(stage) for name, stage in latency().items()}, series=series, wall_s=wall_s, cpu_s=1.0,
        states={"fabric": "tcp", "node0": "up"}, notices=NOTICES, account=account_of(rank, n_nodes),
    )  # fmt: skip


def exchange_record(n_nodes: int = 4, *settings: str, **other: Any) -> ExchangeRecord:
    nodes = [node_record(rank, n_nodes) for rank in range(n_nodes)]
    return together(config(*settings), nodes, **{"n_nodes": n_nodes, "absent": {}} | other)


class FakeNode:
    """Is finished when it was stopped, or fails with `failure`."""

    def __init__(self, values: dict[str, Any], failure: str = "") -> None:
        self.values, self.calls = values, []
        self.peers: dict[int, bytes] = {}
        self.reported_states: list[str] = []
        self._failure, self._ended = failure, threading.Event()
        if failure:
            self._ended.set()

    def address(self) -> bytes:
        return b"address of %d" % self.values["node"]

    def connect(self, node: int, address: bytes) -> None:
        self.peers[node] = address

    def disconnect(self, node: int) -> None:
        self.peers.pop(node, None)

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")
        self._ended.set()

    def abort(self) -> None:
        self.calls.append("abort")
        self._ended.set()

    def set_state(self, word: str) -> None:
        self.reported_states.append(word)

    def finish(self) -> None:
        """The manager, which is another node, says that the run is over."""
        self._ended.set()

    def finished(self) -> bool:
        return self._ended.is_set()

    def counters(self) -> CounterDict:
        return counters_of(self.values["node"], self.values["n_nodes"])

    def account(self) -> dict[str, Any]:
        return account_of(self.values["node"], self.values["n_nodes"]).as_dict()

    def latency(self) -> dict[str, dict[str, Any]]:
        return latency()

    def states(self) -> dict[str, str]:
        return {"fabric": "made up"}

    def notices(self) -> list[str]:
        return []

    def progress(self) -> dict[str, int]:
        return {"meps_built": N_MEPS, "bytes_built": MFP_BYTES, "credits_free": 3}

    def failure(self) -> str:
        return self._failure
