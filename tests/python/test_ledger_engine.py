# SPDX-License-Identifier: Apache-2.0
"""The engine's own front ends and nodes on one host, with a wire between them that loses datagrams by rule: the ledger
names each number that was lost and excuses none."""

import struct
import threading
from typing import Any

import pytest
from leaky_wire import LeakyWire, Rule
from stalls import PATIENCE_MS

from anello.account.ledger import Ledger
from anello.camera.account.ledger import build_camera_ledger
from anello.camera.configuration.config import CameraConfig
from anello.camera.engine import engine as camera_engine
from anello.configuration.base import FrontEndsConfig
from anello.configuration.load import load
from anello.rich.account.board_ledger import Sequences
from anello.rich.account.ledger import build_ledger
from anello.rich.engine import engine as rich_engine

engine = pytest.importorskip("anello._engine", reason="the compiled engine is not built")

RICH = ("source.burst_ms=40", "source.gap_ms=1", "source.n_bursts=2", "source.rate_hz=20000",
        "source.simulation.n_pool_events=300", "source.max_behind_ms=10000", f"build.timeout_ms={PATIENCE_MS}",
        "source.end_marker_spacing_ms=0.1")  # fmt: skip
CAMERA = ("chain=camera", "run.n_events=60", "camera.boards=12", "camera_source.rate_hz=2000",
          "camera_source.pool_events=4", "camera_source.ports=[0, 0]", "receive.ports=[0, 0]",
          f"camera_build.timeout_ms={PATIENCE_MS}", "camera_send.file=")  # fmt: skip


def everything(place: int, n: int, datagram: bytes) -> list[bytes]:
    return [datagram]


def run(config: FrontEndsConfig, rule: Rule, kinds: tuple[Any, Any], *, late: bool = False) -> tuple[Any, Any]:
    """Runs node and front ends to their end, and returns both. late: the node begins to read after all was sent."""
    make_node, make_source = kinds
    node = make_node(config.flat())
    with LeakyWire(node.ports(), rule) as wire:
        source = make_source(config.source_values() | {"ports": wire.ports, "counter_page": ""})
        source.prepare()
        if not late:
            node.start()
        source.start()
        while source.running():
            threading.Event().wait(0.005)
        source.stop()
    if late:
        node.start()
    node.stop()
    return node, source


def rich(rule: Rule, *settings: str, one_host: bool = True, late: bool = False) -> Ledger:
    config = load(None, [*RICH, *settings])
    assert isinstance(config, FrontEndsConfig)
    node, source = run(config, rule, (rich_engine().Node, rich_engine().Source), late=late)
    return build_ledger(
        node.counters(), source.counters(), one_host=one_host, by_events="mep" in str(settings),
        sequences=Sequences(source.sequences(), node.sequences()),
    )  # fmt: skip


def camera(rule: Rule, *settings: str) -> Ledger:
    config = load(None, [*CAMERA, *settings])
    assert isinstance(config, CameraConfig)
    node, source = run(config, rule, (camera_engine().Node, camera_engine().Source))
    return build_camera_ledger(
        node.counters(), source.counters(), groups=config.boards_by_group(), one_host=True, made=source.sequences(),
        came=node.sequences(),
    )  # fmt: skip


def listed(ledger: Ledger, where: str) -> set[int]:
    """All numbers that a board lost without an order of the configuration."""
    losses = [loss for loss in ledger.losses if loss.where == where and not loss.ordered]
    return {number for loss in losses for begin, end in loss.numbers for number in range(begin, end)}


def part(ledger: Ledger, name: str, label: str) -> int:
    (row,) = (row for row in ledger.rows if row.name == name)
    return dict(row.parts).get(label, 0)


class Loses:
    """Loses every n-th datagram of one port unless it is a marker; remembers (board, number) of each."""

    def __init__(self, every: int, place: int, chain: str, until_the_end_from: int | None = None) -> None:
        self.every, self.place, self.after = every, place, until_the_end_from
        self.board_at, self.sequence_at, self.marker_bits = (8, 12, 4 | 8) if chain == "mgp" else (6, 16, 2 | 4)
        self.lost: set[tuple[int, int]] = set()
        self.n_lost = 0  # markers too

    def __call__(self, place: int, n: int, datagram: bytes) -> list[bytes]:
        if len(datagram) < 32:  # one that was cut short on purpose
            return [datagram]
        (board,) = struct.unpack_from("<H", datagram, self.board_at)
        (number,) = struct.unpack_from("<I", datagram, self.sequence_at)
        is_marker = bool(datagram[5] & self.marker_bits)
        cut_off = self.after is not None and n >= self.after
        if place != self.place or not (cut_off or (n % self.every == 0 and not is_marker)):
            return [datagram]
        self.n_lost += 1
        if not is_marker:
            self.lost.add((board, number))
        return []


def test_nothing_lost_balances() -> None:
    for ledger in (rich(everything), rich(everything, "source.format=mep"), camera(everything)):
        assert ledger.problems == []
        assert ledger.losses == ()


def test_what_a_wire_loses_is_unexplained_to_the_last_number() -> None:
    rule = Loses(9, 1, "mgp")
    ledger = rich(rule)
    assert not ledger.balanced
    assert {(1, number) for number in listed(ledger, "board 1")} == rule.lost
    assert len(rule.lost) > 10
    assert part(ledger, "board 1: sent", "unexplained") == len(rule.lost)
    assert {loss.words for loss in ledger.losses} == {"unexplained"}


def test_between_two_hosts_it_is_named_and_not_forgiven() -> None:
    rule = Loses(9, 1, "mgp")
    ledger = rich(rule, one_host=False)
    assert ledger.problems == []
    assert {(loss.words, loss.n) for loss in ledger.losses} == {("sent, never seen on this host", len(rule.lost))}


def test_losses_on_purpose_are_distinguished_from_the_wires() -> None:
    rule = Loses(9, 1, "mgp")
    faults = (f"source.faults.{name}=0.05" for name in ("loss", "duplicate", "reorder", "corrupt", "truncate"))
    ledger = rich(rule, "source.checksum=true", *faults)
    assert {(1, number) for number in listed(ledger, "board 1")} <= rule.lost
    assert not listed(ledger, "board 0")
    assert {loss.words for loss in ledger.losses if loss.where == "board 0"} == {
        "lost on purpose", "corrupted on purpose", "truncated on purpose"
    }  # fmt: skip
    assert part(ledger, "board 1: sent", "unexplained") == rule.n_lost


def test_a_board_that_was_cut_off_is_not_excused_by_its_missing_marker() -> None:
    rule = Loses(10**9, 2, "mgp", until_the_end_from=100)
    ledger = rich(rule)
    assert {(2, number) for number in listed(ledger, "board 2")} == rule.lost
    assert not ledger.balanced


def test_real_drops_by_the_kernel_excuse_nothing_else() -> None:
    """The node's sockets are small and not read, so that the kernel drops most datagrams; the wire loses some, too."""
    rule = Loses(5, 1, "mgp")
    ledger = rich(rule, "receive.socket_buffer_bytes=4096", "receive.gro=false", late=True)
    assert part(ledger, "board 0: sent", "dropped by the kernel") > 100
    assert part(ledger, "board 0: sent", "unexplained") == 0
    assert part(ledger, "board 1: sent", "dropped by the kernel") > 0
    assert part(ledger, "board 1: sent", "unexplained") == rule.n_lost > 0
    assert {loss.words for loss in ledger.losses if loss.where == "board 0"} == {"dropped by the kernel"}
    assert rule.lost < {(1, number) for number in listed(ledger, "board 1")}


def test_mep_that_a_firewall_drops_is_not_malformed() -> None:
    """Once, a few packets corrupted on purpose were given as the cause of all losses."""

    class DropsMep:
        n_dropped = 0

        def __call__(self, place: int, n: int, datagram: bytes) -> list[bytes]:
            if place == 3 and n % 4 == 0 and len(datagram) >= 60:  # which an end of burst has not
                self.n_dropped += 1
                return []
            return [datagram]

    rule = DropsMep()
    ledger = rich(rule, "source.format=mep", "source.faults.truncate=0.02")
    assert rule.n_dropped > 20
    assert part(ledger, "board 3: sent", "unexplained") == rule.n_dropped
    assert not ledger.balanced
    words = {loss.words for loss in ledger.losses if loss.where == "board 3"}
    assert words == {"truncated on purpose", "unexplained"}
    assert {loss.words for loss in ledger.losses if loss.where == "board 0"} == {"truncated on purpose"}


def test_a_cameras_losses_are_known_by_board_and_number() -> None:
    rule = Loses(7, 1, "camera")
    ledger = camera(rule, "camera_source.faults.loss=0.05")
    assert {
        (board, number) for board in range(12) for number in listed(ledger, f"board {board}")
    } == rule.lost  # fmt: skip
    assert part(ledger, "sent", "unexplained") == rule.n_lost
    assert not ledger.balanced


def test_a_cameras_run_that_ends_early_is_not_excused_by_its_missing_markers() -> None:
    rule = Loses(10**9, 0, "camera", until_the_end_from=200)
    ledger = camera(rule)
    assert {
        (board, number) for board in range(12) for number in listed(ledger, f"board {board}")
    } == rule.lost  # fmt: skip
    assert len(rule.lost) > 100
    assert not ledger.balanced
