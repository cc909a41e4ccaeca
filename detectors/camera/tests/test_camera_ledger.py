# SPDX-License-Identifier: Apache-2.0
"""A balanced ledger of the camera balances, and each counter that is off is found."""

import camera_synthetic as synthetic
import pytest

from anello.account.ledger import Ledger, Row
from anello.account.record import CounterDict
from anello.camera.account.ledger import MAX_SHOWN_BOARDS, build_camera_ledger


@pytest.fixture
def node() -> CounterDict:
    return synthetic.node_counters()


@pytest.fixture
def source() -> CounterDict:
    return synthetic.source_counters()


def ledger_of(node: CounterDict, source: CounterDict | None = None, *, one_host: bool = False) -> Ledger:
    return build_camera_ledger(node, source, groups=synthetic.GROUPS, one_host=one_host)


def row_of(ledger: Ledger, name: str) -> Row:
    (row,) = (row for row in ledger.rows if row.name == name)
    return row


def lose(node: CounterDict, n: int, board: int = 1) -> None:
    """n fragments of a board of group 0 that never came; the events go out without them."""
    group, received = node["build.group0"], node["receive.port0"]
    for block in (group, received):
        block["datagrams"] -= n
    node["receive.group0.verdict"]["ok"] -= n
    group["fragments_in"] -= n
    group["fragments_placed"] -= n
    group["fragments_missing"] += n
    group["events_complete"] -= n
    group["events_timeout"] += n
    built = node[f"build.board{board}"]
    built["placed"] -= n
    built["missing"] += n
    built["lost"] += n
    joined = node["join"]
    joined["fragments"] -= n
    joined["events_complete"] -= n
    joined["events_incomplete"] += n


def test_run_without_loss_balances(node: CounterDict, source: CounterDict) -> None:
    ledger = ledger_of(node, source, one_host=True)
    assert ledger.problems == []
    assert ledger.balanced
    assert {row.level for row in ledger.rows} == {"datagrams", "fragments", "parts", "events"}
    assert not ledger.losses
    assert row_of(ledger, "all boards: made").total == synthetic.N_BOARDS * synthetic.N_EVENTS


# Of each group, and of the one group that a small camera has. A row that is left out would hide behind others.
# fmt: off
OF_A_GROUP = [
    "given to the builder", "of strangers", "right", "of known boards", "handed on", "events x {} boards", "missing",
]
# fmt: on


def test_each_group_has_its_rows(node: CounterDict) -> None:
    rows = [row.name for row in ledger_of(node).rows if row.name.startswith("group")]
    assert rows == [
        f"group {group}: {name.format(len(boards))}"
        for group, boards in enumerate(synthetic.GROUPS)
        for name in OF_A_GROUP
    ]
    alone = build_camera_ledger(node, groups=synthetic.GROUPS[:1])
    names = [row.name for row in alone.rows]
    at = names.index(OF_A_GROUP[0])
    assert names[at : at + len(OF_A_GROUP)] == [name.format(3) for name in OF_A_GROUP]


def test_node_alone_balances_by_the_markers(node: CounterDict) -> None:
    assert ledger_of(node).problems == []


# Counters that are in the ledger: each must be found when it is off by one, in either direction.
BALANCED = [
    *(
        ("build.board1", name)
        for name in (
            "placed",
            "duplicate",
            "late",
            "ahead",
            "other_run",
            "dropped",
            "missing",
            "lost",
            "announced",
            "strangers",
            "disowned",
        )
    ),
    *(
        (f"build.group{group}", name)
        for group in (0, 1)
        for name in (
            "datagrams",
            "fragments_in",
            "markers",
            "fragments_placed",
            "fragments_duplicate",
            "fragments_late",
            "fragments_ahead",
            "fragments_other_run",
            "fragments_wrong_board",
            "fragments_wrong_size",
            "fragments_dropped",
            "fragments_missing",
            "events_out",
            "events_complete",
            "events_timeout",
            "events_pushed_out",
            "events_run_ended",
            "strangers",
        )
    ),
    ("receive.group0.verdict", "wrong_length"),
    *(("receive.port1", name) for name in ("datagrams", "blocks_dropped")),
    *(
        ("join", name)
        for name in (
            "parts_in",
            "parts_joined",
            "parts_late",
            "fragments",
            "fragments_late",
            "events_out",
            "events_complete",
            "events_incomplete",
        )
    ),
    *(
        ("filter", name)
        for name in (
            "events_in",
            "events_kept",
            "events_rejected",
            "kept_unfiltered",
            "kept_by_signal",
            "kept_by_fraction",
            "kept_by_prescale",
            "kept_incomplete",
            "kept_calibration",
            "rejected_no_signal",
            "rejected_incomplete",
        )
    ),
    *(("send", name) for name in ("events_in", "events_kept", "events_filtered")),
    *(("compress", name) for name in ("events_encoded", "events_failed")),
    *(("camera_store", name) for name in ("events_seen", "events_stored", "events_lost")),
    *(
        ("camera_stream", name)
        for name in (
            "events_in",
            "events_sent",
            "dropped_queue_full",
            "dropped_not_connected",
            "lost_disconnected",
            "lost_at_end",
        )
    ),
    *(
        ("r1_stream1", name)
        for name in (
            "events_in",
            "events_sent",
            "dropped_queue_full",
            "dropped_not_connected",
            "lost_disconnected",
            "lost_at_end",
        )
    ),
    *(
        ("r1_writer1", name)
        for name in (
            "events_in",
            "events_written",
            "events_refused",
            "events_lost",
            "events_never_taken",
            "events_lost_with_writer",
        )
    ),
    *(
        ("source.board1", name)
        for name in (
            "fragments",
            "burst_markers",
            "datagrams_sent",
            "fragments_duplicated_injected",
            "fragments_lost_injected",
            "fragments_dead_board",
            "send_refused",
            "send_no_buffers",
            "send_failed",
        )
    ),
]


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize(("block", "name"), BALANCED, ids=str)
def test_each_counter_off_by_one_is_found(
    node: CounterDict, source: CounterDict, block: str, name: str, change: int
) -> None:
    side = source if block.startswith("source") else node
    side[block][name] += change
    assert ledger_of(node, source, one_host=True).problems


@pytest.mark.parametrize(("block", "name"), [one for one in BALANCED if "verdict" not in one[0]], ids=str)
def test_missing_counter_is_named(node: CounterDict, source: CounterDict, block: str, name: str) -> None:
    del (source if block.startswith("source") else node)[block][name]
    problems = ledger_of(node, source, one_host=True).problems
    assert any(f"{block}.{name}" in problem for problem in problems)


def lost_row(ledger: Ledger) -> Row:
    return row_of(ledger, "all boards: never came")


def test_loss_on_purpose_is_accounted_for(node: CounterDict, source: CounterDict) -> None:
    lose(node, 3)
    source["source.board1"]["fragments_lost_injected"] = 3
    source["source.board1"]["datagrams_sent"] -= 3
    ledger = ledger_of(node, source, one_host=True)
    assert ledger.problems == []
    assert ("lost on purpose", 3) in row_of(ledger, "all boards: made").parts
    assert [(loss.where, loss.n, loss.ordered) for loss in ledger.losses] == [("board 1", 3, True)]


def test_loss_on_one_host_needs_a_cause(node: CounterDict, source: CounterDict) -> None:
    lose(node, 3)
    assert ledger_of(node, source, one_host=True).problems == [
        "ledger: datagrams: sent: 3 datagrams were sent on this host, did not arrive, and were not dropped by the "
        "kernel",
        "ledger: fragments: all boards: never came: 3 fragments were sent on this host and never came: unexplained",
    ]
    elsewhere = ledger_of(node, source)
    assert elsewhere.problems == []
    assert [(loss.words, loss.n, loss.ordered) for loss in elsewhere.losses] == [
        ("sent, never seen on this host", 3, False)
    ]


def test_which_fragments_were_lost_is_known(node: CounterDict, source: CounterDict) -> None:
    lose(node, 3)
    made = {"made": [[0, 0, synthetic.N_EVENTS, 0]], "withheld": [[0, 8, 9, 1]], "not_listed": 0}
    came = {"expected": [[0, 0, synthetic.N_EVENTS, 0]], "missing": [[0, 8, 11, 0]], "not_listed": 0}
    source["source.board1"]["fragments_lost_injected"] = 1
    source["source.board1"]["datagrams_sent"] -= 1
    ledger = build_camera_ledger(node, source, groups=synthetic.GROUPS, one_host=True, made={1: made}, came={1: came})
    assert [loss.line for loss in ledger.losses] == [
        "board 1: 1 fragments lost on purpose: 8",
        "board 1: 2 fragments unexplained: 9-10",
    ]
    assert not ledger.balanced


def test_kernel_drops_are_a_cause_and_excuse_no_other_loss(node: CounterDict, source: CounterDict) -> None:
    lose(node, 3)
    node["receive.port0"]["kernel_dropped"] = 3
    ledger = ledger_of(node, source, one_host=True)
    assert ledger.problems == []
    assert lost_row(ledger).parts == (("dropped by the kernel", 3),)
    node["receive.port0"]["kernel_dropped"] = 2
    assert not ledger_of(node, source, one_host=True).balanced
    node["receive.port0"]["super_packets"] = 1  # with GRO several datagrams may count as one
    assert ledger_of(node, source, one_host=True).balanced


def test_a_run_that_ended_early_is_not_excused_by_its_missing_marker(node: CounterDict, source: CounterDict) -> None:
    """The board's last 100 fragments and its end-of-run markers never came: they were made and are lost."""
    lose(node, 100)
    built = node["build.board1"]
    built |= {"lost": 0, "announced": 0, "state": 1}
    node["build.group0"]["datagrams"] -= 5
    node["receive.port0"]["datagrams"] -= 5
    node["receive.group0.verdict"]["ok"] -= 5
    node["build.group0"]["markers"] -= 5
    ledger = ledger_of(node, source, one_host=True)
    assert not ledger.balanced
    assert lost_row(ledger).total == 100


def test_truncated_fragments_are_a_cause(node: CounterDict, source: CounterDict) -> None:
    lose(node, 2)
    for block in (node["build.group0"], node["receive.port0"]):
        block["datagrams"] += 2
    node["receive.group0.verdict"]["wrong_length"] += 2
    source["source.board1"]["fragments_truncated_injected"] = 2
    assert ledger_of(node, source, one_host=True).problems == []


def test_rubbish_from_a_stranger_is_malformed_and_excuses_no_loss(node: CounterDict, source: CounterDict) -> None:
    for block in (node["build.group0"], node["receive.port0"]):
        block["datagrams"] += 7
    node["receive.group0.verdict"]["wrong_magic"] += 7
    assert ledger_of(node, source, one_host=True).problems == []
    lose(node, 3)
    assert not ledger_of(node, source, one_host=True).balanced


def test_duplicates_are_counted_beside_what_was_due(node: CounterDict, source: CounterDict) -> None:
    for block in (node["build.group0"], node["receive.port0"]):
        block["datagrams"] += 4
    node["build.group0"]["fragments_in"] += 4
    node["build.group0"]["fragments_duplicate"] += 4
    node["build.board1"]["duplicate"] += 4
    source["source.board1"]["fragments_duplicated_injected"] = 4
    source["source.board1"]["datagrams_sent"] += 4
    assert ledger_of(node, source, one_host=True).problems == []


def test_more_may_come_than_was_sent_as_far_as_it_is_known_as_anothers(node: CounterDict, source: CounterDict) -> None:
    for block in (node["build.group0"], node["receive.port0"]):
        block["datagrams"] += 4
    node["build.group0"]["fragments_in"] += 4
    node["build.group0"]["fragments_duplicate"] += 4
    node["build.board1"]["duplicate"] += 4
    ledger = ledger_of(node, source, one_host=True)
    assert ledger.problems == []
    assert (
        row_of(ledger, "sent, and received from others").total
        == sum(source[f"source.board{board}"]["datagrams_sent"] for board in range(synthetic.N_BOARDS)) + 4
    )
    node["build.group0"]["fragments_duplicate"] -= 1
    row = row_of(ledger_of(node, source, one_host=True), "sent, and received from others")
    assert row.problem == "4 more came than the front ends sent"


def dead_from_half(node: CounterDict, source: CounterDict, board: int = 4) -> None:
    """It falls silent after half of the events, and says nothing at the end of the run."""
    half = synthetic.N_EVENTS // 2
    for block in (node["build.group1"], node["receive.port1"]):
        block["datagrams"] -= half + 5
    node["receive.group1.verdict"]["ok"] -= half + 5
    node["build.group1"]["markers"] -= 5
    node["build.group1"]["fragments_in"] -= half
    node["build.group1"]["fragments_placed"] -= half
    node["build.group1"]["fragments_missing"] += half
    node["build.group1"]["events_complete"] -= half
    node["build.group1"]["events_timeout"] += half
    node["join"]["fragments"] -= half
    node["join"]["events_complete"] -= half
    node["join"]["events_incomplete"] += half
    node[f"build.board{board}"] |= {"placed": half, "missing": half, "announced": 0, "state": 1, "silences": 1}
    source[f"source.board{board}"] |= {"fragments_dead_board": half, "burst_markers": 1, "datagrams_sent": half + 1}


def test_dead_board_is_accounted_for_and_shown(node: CounterDict, source: CounterDict) -> None:
    dead_from_half(node, source)
    ledger = ledger_of(node, source, one_host=True)
    assert ledger.problems == []
    assert ("board dead", synthetic.N_EVENTS // 2) in row_of(ledger, "all boards: made").parts
    assert ledger_of(node).problems == []


def test_a_lost_fragment_of_a_board_without_end_is_found(node: CounterDict, source: CounterDict) -> None:
    dead_from_half(node, source)
    node["build.board4"]["placed"] -= 1
    assert not ledger_of(node, source, one_host=True).balanced


def test_boards_that_stand_out_are_shown_and_no_more_than_a_few(node: CounterDict, source: CounterDict) -> None:
    quiet = ledger_of(node, source, one_host=True)
    assert not [row for row in quiet.rows if row.name.startswith("board")]
    lose(node, 3, board=1)
    node["receive.port0"]["kernel_dropped"] = 3
    lossy = ledger_of(node, source, one_host=True)
    assert [row.name for row in lossy.rows if row.name.startswith("board")] == ["board 1: on their way"]
    for board in range(synthetic.N_BOARDS):
        node[f"build.board{board}"]["announced"] += 1
    off = ledger_of(node, source, one_host=True)
    assert len([row for row in off.rows if row.name.startswith("board")]) == MAX_SHOWN_BOARDS


def test_every_board_is_in_the_summary(node: CounterDict, source: CounterDict) -> None:
    ledger = ledger_of(node, source, one_host=True).as_dict()
    assert len(ledger["boards"]) == 4 * synthetic.N_BOARDS
    assert len(ledger["rows"]) <= 40


def test_a_problem_of_a_shown_board_is_reported_once(node: CounterDict, source: CounterDict) -> None:
    node["build.board1"]["lost"] += 1
    problems = ledger_of(node, source, one_host=True).problems
    assert len(problems) == len(set(problems))
    assert (
        "ledger: fragments: board 1: on their way: 300 is not the sum of its parts, 301: 1 unaccounted for" in problems
    )
