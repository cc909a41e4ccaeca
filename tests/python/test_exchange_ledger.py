# SPDX-License-Identifier: Apache-2.0
"""The ledger of a farm balances, and each counter that is off is found."""

import exchange_synthetic as synthetic
import pytest

from anello.exchange.ledger import NodeCounters, build_exchange_ledger
from anello.ledger import Ledger
from anello.record import CounterDict

N = 3


@pytest.fixture
def farm() -> list[CounterDict]:
    return [synthetic.counters_of(rank, N) for rank in range(N)]


def ledger_of(
    farm: list[CounterDict], absent: dict[int, str] | None = None, left: tuple[int, ...] = (), *, may_lose: bool = False
) -> Ledger:
    nodes = [
        NodeCounters(rank, "em+ru+bu" if rank == 0 else "ru+bu", counters, rank in left)
        for rank, counters in enumerate(farm)
        if rank not in (absent or {})
    ]
    return build_exchange_ledger(nodes, absent=absent, may_lose=may_lose)


def add(counters: CounterDict, block: str, **changes: int) -> None:
    for name, value in changes.items():
        counters[block][name] += value


def test_a_run_without_loss_balances(farm: list[CounterDict]) -> None:
    ledger = ledger_of(farm)
    assert ledger.problems == []
    assert {row.level for row in ledger.rows} == {"MFPs", "MEPs", "fragments"}
    sent = next(row for row in ledger.rows if row.name == "sent to nodes that lived to the end")
    assert sent.total == N * N * synthetic.N_MEPS
    assert len(ledger.boards) == 4 * N


BALANCED = [
    *(("generator", name) for name in ("mfps",)),
    *(("readout", name) for name in (
        "mfps_taken", "mfps_sent", "mfps_lost", "mfps_lost_to_dead_builder", "mfps_too_late", "mfps_before_start",
        "mfps_left_at_end", "sent_to_dead_builder")),
    *(("builder", name) for name in (
        "meps_complete", "meps_incomplete", "mfps_received", "mfps_malformed", "mfps_wrong", "mfps_late",
        "mfps_duplicate", "mfps_unexpected", "taken_from_dead_readout", "fragments_verified", "fragments_ok",
        "fragments_wrong_checksum")),
    *(("manager", name) for name in (
        "meps_assigned", "meps_complete", "meps_incomplete", "meps_lost_with_builder")),
]  # fmt: skip


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize(("block", "name"), BALANCED)
def test_a_counter_that_is_off_by_one_is_found(farm: list[CounterDict], block: str, name: str, change: int) -> None:
    add(farm[0], block, **{name: change})
    assert not ledger_of(farm).balanced


@pytest.mark.parametrize(("block", "name"), BALANCED)
def test_a_missing_counter_is_found(farm: list[CounterDict], block: str, name: str) -> None:
    del farm[0][block][name]
    assert any(f"{block}.{name}" in problem for problem in ledger_of(farm).problems)


def test_nodes_need_only_what_they_are() -> None:
    n_meps = synthetic.N_MEPS
    manager, readout, builder = (synthetic.counters_of(0, 1) for _ in range(3))
    nodes = [
        NodeCounters(0, "em", {"manager": manager["manager"]}),
        NodeCounters(1, "ru", {name: readout[name] for name in ("generator", "readout")}),
        NodeCounters(2, "bu", {"builder": builder["builder"]}),
    ]
    ledger = build_exchange_ledger(nodes)
    assert ledger.problems == []
    assert next(row for row in ledger.rows if row.name == "assigned").total == n_meps


def kill_last(farm: list[CounterDict], n_lost: int = 4, n_before: int = 100) -> None:
    """Node 2 dies: its record is gone, n_lost packets with it, and what had come from it is known by the others."""
    for counters in farm[:2]:
        add(counters, "readout", mfps_sent=-10, mfps_lost_to_dead_builder=10)
        counters["readout"]["sent_to_dead_builder"] = synthetic.N_MEPS - 10
        counters["builder"]["taken_from_dead_readout"] = n_before
        add(counters, "builder", mfps_received=n_before - synthetic.N_MEPS, meps_complete=n_before - synthetic.N_MEPS,
            meps_incomplete=synthetic.N_MEPS - n_before)  # fmt: skip
    n_incomplete = 2 * (synthetic.N_MEPS - n_before)
    add(farm[0], "manager", meps_complete=-n_lost - n_incomplete, meps_incomplete=n_incomplete,
        meps_lost_with_builder=n_lost)  # fmt: skip


def test_what_is_lost_with_a_node_is_counted(farm: list[CounterDict]) -> None:
    kill_last(farm)
    ledger = ledger_of(farm, {2: "killed by signal 9"})
    assert ledger.problems == []
    rows = {row.name: dict(row.parts) for row in ledger.rows}
    assert rows["assigned"]["lost with their builder"] == 4
    assert rows["built complete"]["by builders that are gone"] == synthetic.N_MEPS - 4
    assert rows["all nodes: taken for sending"]["not sent, the builder was gone"] == 20
    assert "sent, and come from nodes that are gone" in rows


def test_a_dead_node_hides_nothing_of_the_others(farm: list[CounterDict]) -> None:
    kill_last(farm)
    add(farm[1], "builder", mfps_received=-1)
    assert not ledger_of(farm, {2: "killed by signal 9"}).balanced


def test_a_node_that_left_is_balanced_by_itself_and_counts_as_gone_for_the_others(farm: list[CounterDict]) -> None:
    kill_last(farm)
    ledger = ledger_of(farm, left=(2,))
    assert [problem for problem in ledger.problems if "node 2" in problem] == []
    add(farm[2], "readout", mfps_sent=1)
    assert any("node 2: taken for sending" in problem for problem in ledger_of(farm, left=(2,)).problems)


def test_a_lossy_network_may_lose_but_not_make(farm: list[CounterDict]) -> None:
    add(farm[1], "builder", mfps_received=-7)
    assert not ledger_of(farm).balanced
    ledger = ledger_of(farm, may_lose=True)
    assert ledger.balanced
    assert ("lost in the network", 7) in next(row for row in ledger.rows if row.name.startswith("sent to")).parts
    add(farm[1], "builder", mfps_received=8)
    assert not ledger_of(farm, may_lose=True).balanced


def test_what_is_lost_or_doubled_on_purpose_is_told_apart(farm: list[CounterDict]) -> None:
    farm[0]["faults"] = {"lost": 5, "duplicated": 3}
    add(farm[1], "builder", mfps_received=-7)
    parts = dict(next(row for row in ledger_of(farm, may_lose=True).rows if row.name.startswith("sent to")).parts)
    assert (parts["lost on purpose"], parts["lost in the network"]) == (5, 2)
    add(farm[1], "builder", mfps_received=7, mfps_duplicate=3)
    assert ledger_of(farm, may_lose=True).balanced
    add(farm[1], "builder", mfps_duplicate=1)
    assert not ledger_of(farm, may_lose=True).balanced
