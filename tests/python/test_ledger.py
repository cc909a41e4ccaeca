# SPDX-License-Identifier: Apache-2.0
"""A balanced ledger balances, and each counter that is off is found."""

import pytest
import synthetic

from anello.record import CounterDict
from anello.rich.ledger import build_ledger


@pytest.fixture
def node() -> CounterDict:
    return synthetic.node_counters()


@pytest.fixture
def source() -> CounterDict:
    return synthetic.source_counters()


def lose_packets(node: CounterDict, n: int, board: int = 1) -> None:
    """n packets of 10 fragments with 5 hits each that never came; the events are built without them."""
    received, built = node[f"receive.board{board}"], node[f"build.board{board}"]
    received["datagrams"] -= n
    received["packets"] -= n
    received["distinct_sequences"] -= n
    received["lost_sequences"] += n
    node[f"receive.board{board}.verdict"]["ok"] -= n
    for name, per_packet in (("fragments", 10), ("hits", 50)):
        received[name] -= per_packet * n
    built["fragments_in"] -= 10 * n
    built["missing"] += 10 * n
    build = node["build"]
    for name, per_packet in (("fragments_in", 10), ("fragments_merged", 10), ("hits_in", 50), ("hits_merged", 50)):
        build[name] -= per_packet * n
    build["events_complete"] -= 10 * n
    build["events_incomplete"] += 10 * n
    node["trigger"]["hits_in_time"] -= 50 * n


def test_run_without_loss_balances(node: CounterDict, source: CounterDict) -> None:
    ledger = build_ledger(node, source, one_host=True)
    assert ledger.problems == []
    assert ledger.balanced
    assert {row.level for row in ledger.rows} == {"packets", "fragments", "hits", "events", "decisions", "frames"}


def test_node_alone_balances_by_the_markers(node: CounterDict) -> None:
    assert build_ledger(node).problems == []


# Counters that are in the ledger: each must be found when it is off by one, in either direction.
BALANCED = [
    *(("receive.board2", name) for name in (
        "datagrams", "packets", "fragments", "hits", "lost_sequences", "before_joining", "stray_packets",
        "duplicate_packets", "dropped_packets", "dropped_fragments", "dropped_hits", "overwritten_fragments",
        "overwritten_hits", "markers", "announced_packets", "announced_fragments", "announced_hits",
        "strangers", "disowned_packets", "disowned_fragments", "disowned_hits")),
    ("receive.board2.verdict", "wrong_length"),
    *(("build.board2", name) for name in ("fragments_in", "missing")),
    *(("build", name) for name in (
        "fragments_in", "fragments_merged", "fragments_late", "fragments_duplicate", "hits_in", "hits_merged",
        "hits_late", "hits_duplicate", "hits_truncated", "hits_rejected", "events_built", "events_complete",
        "events_incomplete", "events_rejected")),
    *(("trigger", name) for name in (
        "events", "events_with_0_rings", "events_with_1_ring", "events_with_2_rings", "events_with_3_rings",
        "events_with_4_rings", "events_with_more_rings", "primitives", "hits_in_time", "hits_out_of_time",
        "hits_unknown")),
    *(("emit", name) for name in (
        "primitives_in", "primitives", "primitives_late", "primitives_overflow", "primitives_invalid", "frames",
        "frames_lost")),
    *(("store", name) for name in ("events_seen", "events_not_selected", "events_stored", "events_lost")),
    *(("listener", name) for name in ("datagrams", "frames", "primitives")),
    *(("source.board2", name) for name in ("packets", "fragments")),
]  # fmt: skip


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize(("block", "name"), BALANCED, ids=str)
def test_each_counter_off_by_one_is_found(
    node: CounterDict, source: CounterDict, block: str, name: str, change: int
) -> None:
    side = source if block.startswith("source") else node
    side[block][name] += change
    assert build_ledger(node, source, one_host=True).problems


@pytest.mark.parametrize(("block", "name"), [one for one in BALANCED if "verdict" not in one[0]], ids=str)
def test_missing_counter_is_named(node: CounterDict, source: CounterDict, block: str, name: str) -> None:
    del (source if block.startswith("source") else node)[block][name]
    assert any(f"{block}.{name}" in problem for problem in build_ledger(node, source, one_host=True).problems)


def test_problem_names_level_board_and_amount(node: CounterDict, source: CounterDict) -> None:
    node["receive.board2"]["datagrams"] += 3
    assert build_ledger(node, source).problems == [
        "ledger: packets: board 2: received: 115 is not the sum of its parts, 112: 3 unaccounted for"
    ]


def test_loss_on_purpose_is_accounted_for(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 3)
    source["source.board1"]["packets_lost_injected"] = 3
    ledger = build_ledger(node, source, one_host=True)
    assert ledger.problems == []
    assert ("lost on purpose", 3) in next(row for row in ledger.rows if row.name == "board 1: announced").parts


def test_loss_on_one_host_needs_a_cause(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 3)
    assert build_ledger(node, source, one_host=True).problems == [
        "ledger: packets: board 1: announced: 3 packets were sent on this host and did not arrive, "
        "and the kernel dropped none"
    ]


def test_loss_in_a_network_is_a_cause(node: CounterDict) -> None:
    lose_packets(node, 3)
    ledger = build_ledger(node)
    assert ledger.problems == []
    assert ("lost in the network", 3) in next(row for row in ledger.rows if row.name == "board 1: announced").parts


def test_kernel_drops_are_a_cause(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 3)
    node["receive.board1"]["kernel_dropped"] = 3
    ledger = build_ledger(node, source, one_host=True)
    assert ledger.problems == []
    assert ("dropped by the kernel", 3) in next(row for row in ledger.rows if row.name == "board 1: announced").parts


def test_truncated_packets_are_a_cause(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 2)
    node["receive.board1"]["datagrams"] += 2
    node["receive.board1.verdict"]["wrong_length"] += 2
    source["source.board1"]["packets_truncated_injected"] = 2
    assert build_ledger(node, source, one_host=True).problems == []


def test_rubbish_from_a_stranger_is_malformed_and_nothing_else(node: CounterDict, source: CounterDict) -> None:
    node["receive.board1"]["datagrams"] += 7
    node["receive.board1.verdict"]["wrong_magic"] += 7
    assert build_ledger(node, source, one_host=True).problems == []


def test_rubbish_does_not_excuse_a_loss(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 3)
    node["receive.board1"]["datagrams"] += 7
    node["receive.board1.verdict"]["wrong_magic"] += 7
    assert not build_ledger(node, source, one_host=True).balanced


def test_dead_board_announces_less_than_it_made(node: CounterDict, source: CounterDict) -> None:
    source["source.board1"] |= {
        "packets": 140,
        "packets_dead_board": 40,
        "fragments": 1400,
        "fragments_dead_board": 400,
    }
    assert build_ledger(node, source, one_host=True).problems == []
    source["source.board1"]["packets_dead_board"] = source["source.board1"]["fragments_dead_board"] = 0
    assert not build_ledger(node, source, one_host=True).balanced
