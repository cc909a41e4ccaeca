# SPDX-License-Identifier: Apache-2.0
"""The ledger of a run whose card has merged: counters that balance, and each that does not."""

from typing import Any

import pytest
import synthetic

from anello.account.record import CounterDict
from anello.configuration.load import load
from anello.counters.live import ENDED, WAITING
from anello.rich.account.ledger import build_ledger
from anello.rich.account.losses import bursts_ended, losses, payload_bytes
from anello.rich.report.live_view import RichLive
from anello.run.silence import datagrams

N_EVENTS, N_PACKETS = 1000, 4 * 112  # of all boards, markers among them
FRAMES = ("accepted", "bad_fcs", "truncated", "bad_ip_checksum", "fragment", "overflow", "bad_udp_checksum", "arp")
DATAGRAMS = ("ok", "too_short", "wrong_checksum", "unknown_source")


def merged() -> CounterDict:
    node = {name: block for name, block in synthetic.node_counters(N_EVENTS).items()
            if not name.startswith("receive.")}  # fmt: skip
    for board in range(4):
        node[f"build.board{board}"]["fragments_ahead"] = 0
    node["build"] |= {"bursts_out": 2}
    node["nanet"] = dict.fromkeys((f"frames_{name}" for name in FRAMES), 0) | {
        "frames": N_PACKETS, "frames_accepted": N_PACKETS, "other_frames": 0, "socket_dropped": 0,
        "records_written": 50, "payload_bytes": 9999, "unanswered": 0, "joined_frames": 0,
    }  # fmt: skip
    node["nanet.merge"] = dict.fromkeys((f"datagrams_{name}" for name in DATAGRAMS), 0) | {
        "datagrams_ok": N_PACKETS, "packets_dropped": 0, "events_complete": N_EVENTS, "events_incomplete": 0,
        "events_rejected": 0, "bursts_ended": 2, "fragments": 4 * N_EVENTS, "hits": 20 * N_EVENTS, "records_read": 50,
        "records_malformed": 0, "events_read": N_EVENTS, "ends_read": 2, "hits_read": 20 * N_EVENTS,
    }  # fmt: skip
    return node


def problems(node: CounterDict, *, with_source: bool = True) -> list[str]:
    source = front_ends() if with_source else None
    return build_ledger(node, source, one_host=True).problems


def test_a_run_without_loss_balances_with_and_without_its_front_ends() -> None:
    assert problems(merged()) == problems(merged(), with_source=False) == []
    assert losses(merged()) == {}
    assert (bursts_ended(merged()), payload_bytes(merged()), datagrams(merged())) == (2, 9999, N_PACKETS)


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ("nanet", "frames"), ("nanet", "frames_accepted"), ("nanet", "records_written"),
        ("nanet.merge", "datagrams_ok"), ("nanet.merge", "events_complete"), ("nanet.merge", "events_incomplete"),
        ("nanet.merge", "events_read"), ("nanet.merge", "bursts_ended"), ("nanet.merge", "fragments"),
        ("nanet.merge", "hits"), ("nanet.merge", "hits_read"), ("nanet.merge", "records_read"),
        ("build", "events_built"), ("build", "events_complete"), ("build.board2", "missing"),
        ("build.board1", "fragments_late"), ("build.board3", "fragments_ahead"),
        ("build.board0", "fragments_duplicate"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("change", [-1, 1])
def test_one_more_or_less_of_any_does_not_balance(block: str, name: str, change: int) -> None:
    node = merged()
    node[block][name] += change
    assert problems(node)


def front_ends() -> CounterDict:
    more = ("fragments_duplicated_injected", "fragments_truncated_injected", "fragments_corrupted_injected")
    return {name: block | dict.fromkeys(more, 0) for name, block in synthetic.source_counters(N_EVENTS).items()}


def part(node: CounterDict, level: str, name: str) -> dict[str, int]:
    ledger = build_ledger(node, front_ends(), one_host=True)
    assert ledger.problems == []
    [row] = [row for row in ledger.rows if (row.level, row.name) == (level, name)]
    return dict(row.parts)


def lose_a_packet(node: CounterDict) -> None:
    """Loses a packet of board 1, with 10 fragments and 50 hits: its events lack the board."""
    node["build.board1"]["missing"] += 10
    node["build"]["fragments_merged"] -= 10
    node["build"]["hits_merged"] -= 50
    for block in ("build", "nanet.merge"):
        node[block]["events_complete"] -= 10
        node[block]["events_incomplete"] += 10
    node["nanet.merge"]["fragments"] -= 10
    node["nanet.merge"]["hits"] -= 50
    node["nanet.merge"]["hits_read"] -= 50
    node["trigger"]["hits_in_time"] -= 50


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"nanet": {"frames_accepted": -1, "frames_bad_udp_checksum": 1}, "nanet.merge": {"datagrams_ok": -1}},
         "frames with a bad UDP checksum"),
        ({"nanet.merge": {"datagrams_ok": -1, "datagrams_wrong_checksum": 1}}, "malformed: wrong_checksum"),
        ({"nanet.merge": {"packets_dropped": 1}}, "dropped, no room in the merger's store"),
        ({"nanet": {"frames": -1, "frames_accepted": -1, "socket_dropped": 1}, "nanet.merge": {"datagrams_ok": -1}},
         "dropped by the kernel"),
    ],
)  # fmt: skip
def test_a_packet_that_does_not_reach_the_merger_has_a_counted_cause(
    changes: dict[str, dict[str, int]], cause: str
) -> None:
    node = merged()
    lose_a_packet(node)
    assert problems(node), "without a cause"
    for block, counters in changes.items():
        for name, change in counters.items():
            node[block][name] += change
    assert (
        part(node, "fragments", "board 1: made, those sent twice counted twice")[
            "in packets that did not reach the merger"
        ]
        == 10
    )
    assert part(node, "fragments", "board 2: made, those sent twice counted twice") == {"merged": N_EVENTS}
    assert losses(node) == {cause: 1}
    losses_of_boards = [(loss.where, loss.n, loss.ordered) for loss in build_ledger(node, front_ends()).losses]
    assert losses_of_boards == ([] if "store" in cause else [("board 1", 10, False)]), "that one is a flaw of its own"


def test_what_front_ends_withheld_or_sent_twice_is_known_exactly() -> None:
    node, source = merged(), front_ends()
    lose_a_packet(node)
    source["source.board1"]["fragments_lost_injected"] = 10
    source["source.board1"]["datagrams_sent"] -= 1
    for block, name in (("nanet", "frames"), ("nanet", "frames_accepted"), ("nanet.merge", "datagrams_ok")):
        node[block][name] -= 1
    node["build.board3"]["fragments_duplicate"] = node["build"]["fragments_duplicate"] = 20
    source["source.board3"]["fragments_duplicated_injected"] = 20
    ledger = build_ledger(node, source, one_host=True)
    assert ledger.problems == []
    assert [(loss.words, loss.n, loss.ordered) for loss in ledger.losses] == [("lost on purpose", 10, True)]
    source["source.board3"]["fragments_duplicated_injected"] = 19
    assert build_ledger(node, source, one_host=True).problems


def test_late_fragments_are_the_boards_own() -> None:
    node: dict[str, Any] = merged()
    lose_a_packet(node)
    node["build.board1"]["fragments_late"] += 10
    node["build"]["fragments_late"] += 10
    assert part(node, "fragments", "board 1: made, those sent twice counted twice") == {
        "merged": N_EVENTS - 10,
        "late": 10,
    }
    assert part(node, "hits", "made, all boards")["of fragments not merged, or rejected"] == 50


def test_datagrams_that_nobody_explains_are_a_problem_on_one_host() -> None:
    node = merged()
    for block, name in (("nanet", "frames"), ("nanet", "frames_accepted"), ("nanet.merge", "datagrams_ok")):
        node[block][name] -= 1
    assert any("did not arrive" in problem for problem in problems(node))


def test_the_live_page_shows_boards_and_stages_of_such_a_run() -> None:
    view = RichLive(load(None, []))
    node = merged()
    assert [(board.number, board.came, board.state) for board in view.boards(node)] == [
        (number, N_EVENTS, ENDED) for number in range(4)
    ]
    stage = view.stages(node)[0]
    assert (stage.came, stage.went) == (N_PACKETS, N_PACKETS)
    assert view.flow(node).n_bytes == 9999
    assert view.ledger(node, front_ends()).balanced
    node["build.board2"] |= {"fragments_in": 0}
    assert view.boards(node)[2].state == WAITING
