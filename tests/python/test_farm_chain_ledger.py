# SPDX-License-Identifier: Apache-2.0
"""A chain on both sides of the exchange: the nodes of its ledger balance, and each counter that is off is found."""

import camera_synthetic
import exchange_synthetic
import pytest
import synthetic

from anello.account.ledger import Ledger
from anello.account.record import CounterDict
from anello.exchange.account.ledger import NodeCounters, build_exchange_ledger
from anello.rich.farm import NOT_FRAMED
from anello.rich.farm import farm_rows as rich_farm_rows

N_MEPS, N_EVENTS, N_FRAGMENTS, N_HITS = exchange_synthetic.N_MEPS, 1000, 4000, 20_000
N_ACROSS = 3  # fragments across packets' edges, of 5 hits each
N_CAMERA = camera_synthetic.N_EVENTS
BOARDS = camera_synthetic.GROUPS[1]


def zeros(*names: str) -> CounterDict:
    return dict.fromkeys(names, 0)


def exchange() -> tuple[CounterDict, CounterDict, CounterDict]:
    """Manager, a node that reads out and one that builds: their counters without the chain's. All packets arrive."""
    manager, readout, builder = (exchange_synthetic.counters_of(0, 1) for _ in range(3))
    readout["readout"] |= {"mfps_taken": N_MEPS, "mfps_left_at_end": 0}
    return {"manager": manager["manager"]}, {"readout": readout["readout"]}, {"builder": builder["builder"]}


def rich_farm() -> list[CounterDict]:
    """Four boards, 1000 events."""
    manager, readout, builder = exchange()
    alone = synthetic.node_counters(N_EVENTS)
    readout |= {name: block for name, block in alone.items() if name.startswith(("receive.", "build"))}
    readout |= {"source": {}} | synthetic.source_counters(N_EVENTS)
    readout["framer"] = zeros(*NOT_FRAMED) | {"mfps": N_MEPS, "fragments": N_FRAGMENTS}
    builder |= {name: alone[name] for name in ("trigger", "emit", "listener", "store")}
    builder["merge"] = zeros("fragments_duplicate", "hits_duplicate", "hits_truncated", "hits_rejected",
                             "events_rejected") | {
        "fragments_in": N_FRAGMENTS, "fragments_merged": N_FRAGMENTS, "hits_in": N_HITS, "hits_merged": N_HITS,
        "events_built": N_EVENTS,
    }  # fmt: skip
    builder["merge.mep"] = zeros("fragments_wrong", "fragments_no_room", "frames_malformed", "frames_wrong_checksum",
                                 "edges_unsure") | {
        "fragments_in": N_FRAGMENTS, "fragments_from_next": N_ACROSS, "fragments_to_previous": N_ACROSS,
        "hits_from_next": 5 * N_ACROSS, "hits_to_previous": 5 * N_ACROSS,
    }  # fmt: skip
    return [manager, readout, builder]


def camera_farm() -> list[CounterDict]:
    """The boards of one group: two, with numbers that do not begin at 0."""
    manager, readout, builder = exchange()
    alone, source = camera_synthetic.node_counters(), camera_synthetic.source_counters()
    readout |= {"build.group0": alone["build.group1"], "receive.group0.verdict": alone["receive.group1.verdict"]}
    readout |= {f"build.board{board}": alone[f"build.board{board}"] for board in BOARDS}
    readout |= {f"source.board{board}": source[f"source.board{board}"] for board in BOARDS}
    readout |= {"receive.port0": alone["receive.port1"]}
    readout["pack"] = zeros("parts_other_run", "parts_before_start", "parts_after_end", "parts_left") | {
        "mfps": N_MEPS, "parts_in": N_CAMERA, "parts_packed": N_CAMERA,
    }  # fmt: skip
    builder |= {name: alone[name] for name in ("send", "filter", "compress", "camera_store", "camera_stream")}
    builder["unpack"] = zeros("places_empty", "parts_malformed", "parts_of_other", "events_incomplete") | {
        "meps": N_MEPS, "places": N_CAMERA, "events_out": N_CAMERA, "parts_in": N_CAMERA, "parts_joined": N_CAMERA,
        "events_complete": N_CAMERA,
    }  # fmt: skip
    return [manager, readout, builder]


def ledger_of(farm: list[CounterDict], left: tuple[int, ...] = ()) -> Ledger:
    roles = ("em", "ru", "bu")
    return build_exchange_ledger(
        [NodeCounters(rank, roles[rank], counters, rank in left) for rank, counters in enumerate(farm)]
    )


FARMS = {"rich": rich_farm, "camera": camera_farm}
BALANCED = {
    ("rich", 1): {
        "receive.board2": ("datagrams", "packets", "fragments", "hits", "markers", "announced_packets"),
        "source.board2": ("packets", "fragments", "datagrams_sent"), "build.board2": ("fragments_in",),
        "build": ("fragments_in", "fragments_merged", "fragments_late", "fragments_ahead", "fragments_duplicate",
                  "fragments_disowned"),
        "framer": ("mfps", "fragments", *NOT_FRAMED),
    },
    ("rich", 2): {
        "merge": ("fragments_in", "fragments_merged", "fragments_duplicate", "hits_in", "hits_merged",
                  "hits_duplicate", "hits_truncated", "hits_rejected", "events_built", "events_rejected"),
        "merge.mep": ("fragments_in", "fragments_from_next", "fragments_to_previous", "hits_from_next",
                      "hits_to_previous", "fragments_wrong", "fragments_no_room"),
        "trigger": ("events", "events_with_1_ring", "primitives"), "store": ("events_seen",),
        "emit": ("primitives_in", "frames"), "listener": ("datagrams",),
    },
    ("camera", 1): {
        "receive.port0": ("datagrams",), "build.group0": ("datagrams", "fragments_in", "events_out"),
        "build.board4": ("placed", "missing", "late", "lost", "announced"),
        "source.board4": ("fragments", "burst_markers", "datagrams_sent", "fragments_lost_injected"),
        "pack": ("mfps", "parts_in", "parts_packed", "parts_other_run", "parts_before_start", "parts_after_end",
                 "parts_left"),
    },
    ("camera", 2): {
        "unpack": ("meps", "places", "places_empty", "events_out", "parts_in", "parts_joined", "parts_malformed",
                   "parts_of_other", "events_complete", "events_incomplete"),
        "send": ("events_in", "events_kept"), "filter": ("events_in",), "compress": ("events_encoded",),
        "camera_store": ("events_stored",), "camera_stream": ("events_sent",),
    },
}  # fmt: skip
EACH = [(chain, node, block, name) for (chain, node), blocks in BALANCED.items()
        for block, names in blocks.items() for name in names]  # fmt: skip


@pytest.mark.parametrize("chain", FARMS)
def test_a_farm_without_loss_balances(chain: str) -> None:
    ledger = ledger_of(FARMS[chain]())
    assert ledger.problems == []
    assert ledger.balanced


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize(("chain", "node", "block", "name"), EACH)
def test_each_counter_off_by_one_is_found(chain: str, node: int, block: str, name: str, change: int) -> None:
    farm = FARMS[chain]()
    farm[node][block][name] += change
    assert not ledger_of(farm).balanced


# All nodes together have only some of these.
NEEDED = [one for one in EACH if one[2:] not in {("merge.mep", "fragments_wrong"), ("merge.mep", "fragments_no_room"),
                                                 ("merge.mep", "fragments_in")}]  # fmt: skip


@pytest.mark.parametrize(("chain", "node", "block", "name"), NEEDED)
def test_a_missing_counter_is_named(chain: str, node: int, block: str, name: str) -> None:
    farm = FARMS[chain]()
    del farm[node][block][name]
    try:
        problems = ledger_of(farm).problems
    except KeyError as error:  # known by all nodes together: a node that has the block has its counters
        problems = [f"{block}.{error.args[0]}"]
    assert any(f"{block}.{name}" in problem for problem in problems)


# Rows of the chain on each of its nodes, in order. A row that is left out would hide behind others.
BEFORE_RICH = [
    *(f"{level}: board {board}: {name}" for board in range(4) for level, name in (
        ("packets", "made"), ("datagrams", "sent"), ("packets", "made, by the numbers heard"),
        ("packets", "made, by its markers"), ("fragments", "made, by its markers"), ("hits", "made, by its markers"),
        ("packets", "received"), ("fragments", "made"), ("hits", "made"), ("fragments", "placed"))),
    "fragments: taken by the builder", "fragments: to frames",
]  # fmt: skip
BEHIND_RICH = [
    "fragments: in MEPs", "hits: in MEPs", "events: built", "decisions: decided", "decisions: decided",
    "decisions: primitives",
    "decisions: primitives given to the emitter", "frames: written", "frames: sent", "decisions: primitives emitted",
    "decisions: decided", "decisions: given to the file",
]  # fmt: skip
BEFORE_CAMERA = [
    "datagrams: all boards: to be sent", "fragments: all boards: made, by its markers", "fragments: all boards: made",
    "fragments: all boards: on their way", "datagrams: sent", "datagrams: received", "datagrams: given to the builder",
    "datagrams: of strangers", "fragments: right", "fragments: of known boards", "events: handed on",
    "fragments: events x 2 boards", "fragments: missing", "parts: handed on by the builder", "parts: taken",
]  # fmt: skip
BEHIND_CAMERA = [
    "MEPs: handed to the camera", "events: places in MEPs", "parts: in MEPs", "events: joined", "events: joined",
    "events: given to the sending stage", "events: given to the sending stage", "events: kept",
    "events: given to the filter", "events: kept", "events: rejected", "events: kept", "events: compressed",
    "events: given to the file", "events: compressed", "events: given to the stream",
]  # fmt: skip


@pytest.mark.parametrize(("chain", "node", "names"), [
    ("rich", 1, BEFORE_RICH), ("rich", 2, BEHIND_RICH), ("camera", 1, BEFORE_CAMERA), ("camera", 2, BEHIND_CAMERA),
])  # fmt: skip
def test_each_node_tells_of_its_part_of_the_chain(chain: str, node: int, names: list[str]) -> None:
    farm = FARMS[chain]()
    rows = [row for row in ledger_of(farm).boards if row.name.startswith(f"node {node}: ")]
    of_exchange = {"framed", "packed", "taken for sending", "begun by builders", "that packets lack", "verified"}
    found = [(row.level, row.name.removeprefix(f"node {node}: ")) for row in rows]
    assert [f"{level}: {name}" for level, name in found if name not in of_exchange] == names


@pytest.mark.parametrize(("chain", "node", "block"), [("rich", 1, "source"), ("camera", 1, "source")])
def test_front_ends_elsewhere_are_known_by_what_they_said(chain: str, node: int, block: str) -> None:
    farm = FARMS[chain]()
    farm[node] = {name: counters for name, counters in farm[node].items() if not name.startswith(block)}
    ledger = ledger_of(farm)
    assert ledger.problems == []
    assert not any("made" in row.name for row in ledger.boards)


def test_front_ends_on_the_node_excuse_no_loss() -> None:
    farm = rich_farm()
    received = farm[1]["receive.board2"]
    farm[1]["receive.board2.verdict"]["ok"] -= 1
    for name, n in (("datagrams", 1), ("packets", 1), ("distinct_sequences", 1), ("fragments", 10), ("hits", 50)):
        received[name] -= n
    received["lost_sequences"] += 1
    assert any("board 2: sent: 1 datagrams were sent on this host" in problem for problem in ledger_of(farm).problems)
    camera = camera_farm()
    for block in ("receive.port0", "build.group0"):
        camera[1][block]["datagrams"] -= 1
    camera[1]["build.group0"]["markers"] -= 1
    camera[1]["receive.group0.verdict"]["ok"] -= 1
    assert any("1 datagrams were sent on this host" in problem for problem in ledger_of(camera).problems)


@pytest.mark.parametrize("cause", NOT_FRAMED)
def test_what_was_not_framed_is_reported_by_its_cause(cause: str) -> None:
    farm = rich_farm()
    farm[1]["framer"] |= {"fragments": N_FRAGMENTS - 7, cause: 7}
    row = next(row for row in ledger_of(farm).boards if row.name == "node 1: to frames")
    assert not row.problem
    assert row.parts == (("in MFPs", N_FRAGMENTS - 7), (NOT_FRAMED[cause], 7))


def names_of(ledger: Ledger) -> set[str]:
    return {row.name for row in ledger.rows}


def test_what_came_in_packets_is_compared_where_none_was_lost() -> None:
    """No counter has the number of fragments in packets that were lost or corrupted."""
    row, camera_row = "in MFPs, all nodes", "packed by all nodes"
    assert row in names_of(ledger_of(rich_farm()))
    assert camera_row in names_of(ledger_of(camera_farm()))
    for spoilt in ("frames_malformed", "frames_wrong_checksum"):
        farm = rich_farm()
        farm[2]["merge.mep"] |= {"fragments_in": N_FRAGMENTS - 1, "fragments_from_next": 2, spoilt: 1}
        farm[2]["merge"] |= {"fragments_in": N_FRAGMENTS - 1, "fragments_merged": N_FRAGMENTS - 2}
        assert row not in names_of(ledger_of(farm))
        assert ledger_of(farm).problems == []
    for farm, name in ((rich_farm(), row), (camera_farm(), camera_row)):
        farm[1]["readout"] |= {"mfps_sent": N_MEPS - 1, "mfps_too_late": 1}
        farm[2]["builder"]["mfps_received"] -= 1
        assert name not in names_of(ledger_of(farm))
    for farm, name in ((rich_farm(), row), (camera_farm(), camera_row)):
        assert name not in names_of(ledger_of(farm, left=(1,)))
        del farm[2]
        assert name not in names_of(ledger_of(farm))


def edges_row(*nodes: CounterDict, lost_mfps: bool = False) -> str:
    (row,) = (row for row in rich_farm_rows([{"framer": {}}, *nodes], lost_mfps) if "edges" in row.name)
    return row.problem


def test_fragments_across_edges_match_among_all_nodes_where_edges_are_sure() -> None:
    def builder(to_previous: int, from_next: int, **other: int) -> CounterDict:
        block = {"fragments_to_previous": to_previous, "fragments_from_next": from_next} | other
        return {"merge": {}, "merge.mep": block}

    assert not edges_row(builder(3, 1), builder(2, 4))
    problem = "5 were left to the packet before, and 6 taken from the next"
    assert edges_row(builder(3, 1), builder(2, 5)) == problem
    assert not edges_row(builder(3, 1), builder(2, 5, edges_unsure=1))
    assert not edges_row(builder(3, 1), builder(2, 5, frames_malformed=1))
    assert not edges_row(builder(3, 1), builder(2, 5, frames_wrong_checksum=1))
    assert not edges_row(builder(3, 1), builder(2, 5), lost_mfps=True)
