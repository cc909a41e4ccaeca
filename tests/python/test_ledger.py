# SPDX-License-Identifier: Apache-2.0
"""A balanced ledger balances, and each counter that is off is found."""

import pytest
import synthetic

from anello.account.ledger import Ledger, Row
from anello.account.record import CounterDict
from anello.rich.account.ledger import build_ledger


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
    levels = {"packets", "datagrams", "fragments", "hits", "events", "decisions", "frames"}
    assert {row.level for row in ledger.rows} == levels


def test_node_alone_balances_by_the_markers(node: CounterDict) -> None:
    assert build_ledger(node).problems == []


def test_what_no_marker_announced_balances_where_it_is_counted(node: CounterDict) -> None:
    """A front end that was killed within a burst."""
    received = node["receive.board1"]
    received |= {"announced_packets": 0, "announced_fragments": 0, "announced_hits": 0, "bursts_ended": 0}
    assert {row.level for row in build_ledger(node).rows if row.problem} == {"fragments", "hits"}
    received |= {"unannounced_fragments": received["fragments"], "unannounced_hits": received["hits"]}
    assert build_ledger(node).problems == []


@pytest.mark.parametrize("level", ["fragments", "hits"])
@pytest.mark.parametrize("change", [1, -1])
def test_more_or_less_unannounced_than_came_is_found(node: CounterDict, level: str, change: int) -> None:
    node["receive.board1"][f"unannounced_{level}"] += change
    assert build_ledger(node).problems


def test_a_chain_that_emits_no_primitives_has_no_frames(node: CounterDict, source: CounterDict) -> None:
    del node["emit"], node["listener"]
    ledger = build_ledger(node, source, one_host=True)
    assert ledger.problems == []
    assert "frames" not in {row.level for row in ledger.rows}


# Counters that are in the ledger: each must be found when it is off by one, in either direction.
BALANCED = [
    *(("receive.board2", name) for name in (
        "datagrams", "packets", "fragments", "hits", "lost_sequences", "before_joining", "stray_packets",
        "duplicate_packets", "dropped_packets", "dropped_fragments", "dropped_hits", "overwritten_fragments",
        "overwritten_hits", "markers", "announced_packets", "announced_fragments", "announced_hits",
        "strangers", "disowned_packets", "disowned_fragments", "disowned_hits")),
    ("receive.board2.verdict", "wrong_length"),
    *(("build.board2", name) for name in (
        "fragments_in", "missing", "fragments_late", "fragments_ahead", "fragments_duplicate", "fragments_disowned")),
    *(("build", name) for name in (
        "fragments_in", "fragments_merged", "fragments_late", "fragments_ahead", "hits_ahead", "fragments_duplicate",
        "fragments_disowned", "hits_disowned", "hits_in", "hits_merged",
        "hits_late", "hits_duplicate", "hits_truncated", "hits_rejected", "events_built", "events_complete",
        "events_incomplete", "events_rejected")),
    *(("trigger", name) for name in (
        "events", "events_with_0_rings", "events_with_1_ring", "events_with_2_rings", "events_with_3_rings",
        "events_with_4_rings", "events_with_more_rings", "primitives", "hits_in_time", "hits_out_of_time",
        "hits_unknown", "hits_passed", "events_in_full", "events_cheaper", "events_passed")),
    *(("emit", name) for name in (
        "primitives_in", "primitives", "primitives_late", "primitives_overflow", "primitives_invalid", "frames",
        "frames_lost")),
    *(("store", name) for name in ("events_seen", "events_not_selected", "events_stored", "events_lost")),
    *(("listener", name) for name in ("datagrams", "frames", "primitives")),
    *(("source.board2", name) for name in ("packets", "fragments", "hits", "datagrams_sent", "packets_lost_injected")),
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
    node["receive.board2"]["markers"] += 3
    assert build_ledger(node, source, one_host=True).problems == [
        "ledger: packets: board 2: received: 112 is not the sum of its parts, 115: 3 unaccounted for"
    ]


def made_row(ledger: Ledger, board: int = 1) -> Row:
    return next(row for row in ledger.rows if row.name == f"board {board}: made" and row.level == "packets")


def sent_row(ledger: Ledger, board: int = 1) -> Row:
    return next(row for row in ledger.rows if row.name == f"board {board}: sent")


def lose_on_purpose(node: CounterDict, source: CounterDict, n: int) -> None:
    lose_packets(node, n)
    source["source.board1"]["packets_lost_injected"] = n
    source["source.board1"]["datagrams_sent"] -= n


@pytest.mark.parametrize("by_number", [True, False])
def test_loss_on_purpose_is_accounted_for(node: CounterDict, source: CounterDict, by_number: bool) -> None:
    lose_on_purpose(node, source, 3)
    numbers = synthetic.sequences(withheld={1: range(40, 43)}) if by_number else None
    ledger = build_ledger(node, source, one_host=True, sequences=numbers)
    assert ledger.problems == []
    assert ("lost on purpose", 3) in made_row(ledger).parts
    (loss,) = ledger.losses
    assert loss.ordered
    assert loss.line == "board 1: 3 packets lost on purpose" + (": 40-42" if by_number else "")


@pytest.mark.parametrize("by_number", [True, False])
def test_loss_on_one_host_needs_a_cause(node: CounterDict, source: CounterDict, by_number: bool) -> None:
    lose_packets(node, 3)
    numbers = synthetic.sequences(lost=range(7, 10)) if by_number else None
    ledger = build_ledger(node, source, one_host=True, sequences=numbers)
    assert ledger.problems == [
        "ledger: packets: board 1: made: 3 packets were sent on this host and never came: unexplained",
        "ledger: datagrams: board 1: sent: 3 datagrams were sent on this host, did not arrive, and were not dropped "
        "by the kernel",
    ]
    assert ("unexplained", 3) in sent_row(ledger).parts
    assert ledger.losses[0].line == "board 1: 3 packets unexplained" + (": 7-9" if by_number else "")


def test_one_drop_by_the_kernel_excuses_no_other_loss(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 3)
    node["receive.board1"]["kernel_dropped"] = 1
    ledger = build_ledger(node, source, one_host=True, sequences=synthetic.sequences(lost=range(7, 10)))
    assert not ledger.balanced
    assert sent_row(ledger).parts == (("received", 109), ("dropped by the kernel", 1), ("unexplained", 2))
    assert ledger.losses[0].words == "dropped by the kernel or unexplained"


def test_a_loss_by_the_kernel_does_not_hide_behind_a_datagram_of_another(
    node: CounterDict, source: CounterDict
) -> None:
    """One packet is lost, and one comes from a foreign sender: the sums of datagrams agree, the numbers do not."""
    lose_packets(node, 1)
    node["receive.board1"]["datagrams"] += 1
    node["receive.board1"]["duplicate_packets"] += 1
    ledger = build_ledger(node, source, one_host=True, sequences=synthetic.sequences(lost=range(7, 8)))
    assert any("never came: unexplained" in problem for problem in ledger.problems)


def test_a_number_that_came_though_it_was_never_sent_is_found(node: CounterDict, source: CounterDict) -> None:
    lose_on_purpose(node, source, 3)
    numbers = synthetic.sequences(withheld={1: range(40, 43)})
    numbers.came[1]["missing"] = [[0, 40, 42, 0]]
    problems = build_ledger(node, source, one_host=True, sequences=numbers).problems
    assert any("1 packets came that the board never sent" in problem for problem in problems)


def test_what_a_network_loses_is_named_and_not_forgiven(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 3)
    for ledger in (build_ledger(node), build_ledger(node, source)):
        assert ledger.problems == []
        (loss,) = ledger.losses
        assert (loss.words, loss.n, loss.ordered) == ("sent, never seen on this host", 3, False)


def test_kernel_drops_are_a_cause(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 3)
    node["receive.board1"]["kernel_dropped"] = 3
    ledger = build_ledger(node, source, one_host=True)
    assert ledger.problems == []
    assert ("dropped by the kernel", 3) in made_row(ledger).parts


@pytest.mark.parametrize(("n_lost", "balanced"), [(64, True), (65, False)])
def test_joined_datagrams_may_be_dropped_together(
    node: CounterDict, source: CounterDict, n_lost: int, balanced: bool
) -> None:
    lose_packets(node, n_lost)
    node["receive.board1"] |= {"kernel_dropped": 1, "super_packets": 5}
    assert build_ledger(node, source, one_host=True).balanced is balanced


def test_truncated_packets_are_a_cause(node: CounterDict, source: CounterDict) -> None:
    lose_packets(node, 2)
    node["receive.board1"]["datagrams"] += 2
    node["receive.board1.verdict"]["wrong_length"] += 2
    source["source.board1"]["packets_truncated_injected"] = 2
    assert build_ledger(node, source, one_host=True).problems == []


def test_rubbish_from_a_stranger_is_malformed_and_nothing_else(node: CounterDict, source: CounterDict) -> None:
    node["receive.board1"]["datagrams"] += 7
    node["receive.board1.verdict"]["wrong_magic"] += 7
    ledger = build_ledger(node, source, one_host=True)
    assert ledger.problems == []
    assert not ledger.losses


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


def test_a_lost_last_marker_excuses_nothing(node: CounterDict, source: CounterDict) -> None:
    """A packet after the last marker that was heard is lost by number all the same."""
    lose_packets(node, 4)
    for marker_is_lost in (False, True):
        received = node["receive.board1"]
        if marker_is_lost:
            received["markers"] -= 3
            received["datagrams"] -= 3
            received["lost_sequences"] -= 4
            for name, n in (("packets", 4), ("fragments", 40), ("hits", 200)):
                received[f"announced_{name}"] -= n
        ledger = build_ledger(node, source, one_host=True)
        assert any("4 packets were sent on this host and never came" in problem for problem in ledger.problems)
        assert [loss.n for loss in ledger.losses] == [4]


def test_a_front_end_that_is_taken_for_a_stranger_is_lost_and_no_fault_of_the_ledger(
    node: CounterDict, source: CounterDict
) -> None:
    """This happens if receive.sources has another address than the board's."""
    received = node["receive.board1"]
    lose_packets(node, 7)
    received["datagrams"] += 7
    received["strangers"] += 7
    ledger = build_ledger(node, source, one_host=True)
    assert ledger.problems == []
    assert dict(made_row(ledger).parts)["counted as a stranger's"] == 7
    assert [(loss.n, loss.words, loss.ordered) for loss in ledger.losses] == [(7, "counted as a stranger's", False)]
    received["datagrams"] -= 1
    received["strangers"] -= 1
    assert build_ledger(node, source, one_host=True).problems, "one of them nobody has seen"
