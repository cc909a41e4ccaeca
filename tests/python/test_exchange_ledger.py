# SPDX-License-Identifier: Apache-2.0
"""The ledger of a farm balances, and each counter that is off is found."""

from dataclasses import replace

import exchange_synthetic as synthetic
import pytest

from anello.account.ledger import Ledger
from anello.account.record import CounterDict
from anello.exchange.account.ledger import NodeCounters, Reconciled, build_exchange_ledger, reconciled
from anello.exchange.account.numbers import Account, ReceivedAccount, ReportedAccount, SentAccount, short_life

N = 3


@pytest.fixture
def farm() -> list[CounterDict]:
    return [synthetic.counters_of(rank, N) for rank in range(N)]


def ledger_of(
    farm: list[CounterDict],
    absent: dict[int, str] | None = None,
    left: tuple[int, ...] = (),
    *,
    may_lose: bool = False,
    accounts: dict[int, Account] | None = None,
) -> Ledger:
    nodes = [
        NodeCounters(
            rank,
            "em+ru+bu" if rank == 0 else "ru+bu",
            counters,
            rank in left,
            (accounts or {}).get(rank, synthetic.account_of(rank, N)),
        )
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
    assert {row.level for row in ledger.rows} == {"MFPs", "MEPs", "parts", "fragments"}
    sent = next(row for row in ledger.rows if row.name == "sent to nodes that lived to the end")
    assert sent.total == N * N * synthetic.N_MEPS
    assert len(ledger.boards) == 5 * N + 1  # and the manager's


BALANCED = [
    *(("generator", name) for name in ("mfps",)),
    *(("readout", name) for name in (
        "mfps_taken", "mfps_sent", "mfps_lost", "mfps_lost_to_dead_builder", "mfps_too_late", "mfps_before_start",
        "mfps_left_at_end", "mfps_in_flight_at_end", "sent_to_dead_builder")),
    *(("builder", name) for name in (
        "meps_opened", "meps_complete", "meps_incomplete", "meps_left", "sources_missing", "sources_absent",
        "sources_gone", "sources_spoilt", "sources_timed_out", "mfps_cut", "mfps_repeated",
        "mfps_received", "mfps_malformed", "mfps_wrong", "mfps_late",
        "mfps_duplicate", "mfps_unexpected", "taken_from_dead_readout", "fragments_verified", "fragments_ok",
        "fragments_wrong_checksum")),
    *(("manager", name) for name in (
        "meps_assigned", "meps_complete", "meps_incomplete", "meps_lost_with_builder", "lost_and_not_noted",
        "meps_open_at_end")),
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


def test_what_a_node_published_is_asked_of_those_that_stayed_to_the_end(farm: list[CounterDict]) -> None:
    farm[1]["publish"] = {"records_in": 1}
    for left, asked in (((), True), ((1,), False)):
        ledger = ledger_of(farm, left=left)
        assert any(row.level == "records" for row in (*ledger.rows, *ledger.boards)) is asked


N_UNREPORTED = 4
LOST = frozenset(range(100, 100 + N_UNREPORTED))


def kill_last(farm: list[CounterDict], n_before: int = 100) -> dict[int, Account]:
    """Node 2 dies: its record is gone, N_UNREPORTED packets with it; the others know what they had received from it.
    Returns the accounts that they leave then."""
    for counters in farm[:2]:
        add(counters, "readout", mfps_sent=-10, mfps_lost_to_dead_builder=10)
        counters["readout"]["sent_to_dead_builder"] = synthetic.N_MEPS - 10
        counters["builder"]["taken_from_dead_readout"] = n_before
        n_without = synthetic.N_MEPS - n_before
        add(counters, "builder", mfps_received=-n_without, meps_complete=-n_without, meps_incomplete=n_without,
            sources_missing=n_without, sources_gone=n_without)  # fmt: skip
    n_reported, n_incomplete = synthetic.N_MEPS - N_UNREPORTED, 2 * (synthetic.N_MEPS - n_before)
    add(farm[0], "manager", meps_complete=-N_UNREPORTED - n_incomplete, meps_incomplete=n_incomplete,
        meps_lost_with_builder=N_UNREPORTED, complete_at_lost_builders=n_reported)  # fmt: skip
    accounts = {}
    for rank in range(2):
        whole = synthetic.account_of(rank, N)
        broken = {2: SentAccount(synthetic.N_MEPS - 10, False)}, {2: ReceivedAccount(n_before, n_before, 0, False)}
        accounts[rank] = replace(
            whole, sent_to={**whole.sent_to, **broken[0]}, come_from={**whole.come_from, **broken[1]}
        )
    others = [
        ReportedAccount(rank, 1000 + rank, n_before, synthetic.N_MEPS - n_before, False, frozenset()) for rank in (0, 1)
    ]
    accounts[0] = replace(accounts[0], builders=(*others, ReportedAccount(2, 1002, n_reported, 0, True, LOST)))
    return accounts


def parts_of(ledger: Ledger, name: str) -> dict[str, int]:
    return dict(next(row for row in ledger.rows if row.name == name).parts)


def test_what_is_lost_with_a_node_is_counted(farm: list[CounterDict]) -> None:
    accounts = kill_last(farm)
    ledger = ledger_of(farm, {2: "killed by signal 9"}, accounts=accounts)
    assert ledger.problems == []
    assert parts_of(ledger, "assigned")["lost with their builder"] == N_UNREPORTED
    parts = parts_of(ledger, "built complete")
    assert parts["by builders that are gone, as they reported"] == synthetic.N_MEPS - N_UNREPORTED
    assert parts_of(ledger, "all nodes: taken for sending")["not sent, the builder was gone"] == 20
    assert parts_of(ledger, "all nodes: that packets lack")["their source was gone, or had not come"] == 400
    assert "sent, and come from nodes that are gone" in {row.name for row in ledger.rows}


def test_a_dead_node_hides_nothing_of_the_others(farm: list[CounterDict]) -> None:
    accounts = kill_last(farm)
    add(farm[1], "builder", mfps_received=-1)
    ledger = ledger_of(farm, {2: "killed by signal 9"}, accounts=accounts)
    assert not ledger.balanced
    assert parts_of(ledger, "sent, and come from nodes that are gone")["unexplained"] == 1


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize("end", ["complete", "incomplete"])
def test_a_dead_builder_does_not_take_over_what_a_living_one_did_not_build(
    farm: list[CounterDict], end: str, change: int
) -> None:
    accounts = kill_last(farm)
    add(farm[1], "builder", **{f"meps_{end}": change, "meps_opened": change})
    ledger = ledger_of(farm, {2: "killed by signal 9"}, accounts=accounts)
    assert parts_of(ledger, f"built {end}")["unexplained"] == -change
    assert not ledger.balanced


def continue_run(farm: list[CounterDict], accounts: dict[int, Account], n_found: int = 3) -> None:
    """Node 2 had only stood still: it built n_found of those that it was said to have lost, the last one incomplete."""
    found = sorted(LOST)[:n_found]
    accounts[2] = replace(
        synthetic.account_of(2, N), handed_on={mep: int(mep == found[-1]) for mep in found}, sent_to={}, come_from={}
    )
    n_not = N_UNREPORTED - n_found
    add(farm[2], "builder", meps_complete=-n_not - 1, meps_incomplete=1, meps_left=n_not)


def test_what_a_builder_built_though_it_was_taken_for_dead_is_not_lost(farm: list[CounterDict]) -> None:
    accounts = kill_last(farm)
    continue_run(farm, accounts)
    ledger = ledger_of(farm, left=(2,), accounts=accounts)
    assert ledger.problems == []
    assigned = parts_of(ledger, "assigned")
    assert assigned["lost with their builder"] == 1
    assert assigned["built complete, reported afterwards"] == 2
    assert assigned["built incomplete, reported afterwards"] == 1
    assert parts_of(ledger, "node 2: built, and considered dead")["reported afterwards"] == 3


def test_last_words_count_by_their_numbers(farm: list[CounterDict]) -> None:
    """Other packets are no explanation, even if they are as many."""
    accounts = kill_last(farm)
    continue_run(farm, accounts)
    accounts[2] = replace(accounts[2], handed_on=dict.fromkeys(range(200, 203), 0))
    ledger = ledger_of(farm, left=(2,), accounts=accounts)
    assert parts_of(ledger, "assigned")["lost with their builder"] == N_UNREPORTED
    assert parts_of(ledger, "node 2: built, and considered dead")["unexplained"] == 3
    assert not ledger.balanced


def test_last_words_of_another_life_do_not_count(farm: list[CounterDict]) -> None:
    accounts = kill_last(farm)
    continue_run(farm, accounts)
    accounts[2] = replace(accounts[2], life=7)
    nodes = [NodeCounters(rank, "ru+bu", farm[rank], rank == 2, accounts[rank]) for rank in range(N)]
    assert reconciled(nodes, lost=True) == Reconciled(0, 0, N_UNREPORTED)


def test_a_node_that_left_is_balanced_by_itself_and_counts_as_gone_for_the_others(farm: list[CounterDict]) -> None:
    accounts = kill_last(farm)
    continue_run(farm, accounts)
    add(farm[2], "readout", mfps_sent=1)
    problems = ledger_of(farm, left=(2,), accounts=accounts).problems
    assert len(problems) == 1
    assert "node 2: taken for sending" in problems[0]


def test_what_a_lossy_network_loses_is_known_by_its_numbers(farm: list[CounterDict]) -> None:
    add(farm[1], "builder", mfps_received=-7)
    row = "sent to nodes that lived to the end"
    for may_lose in (False, True):
        ledger = ledger_of(farm, may_lose=may_lose)
        assert not ledger.balanced
        assert parts_of(ledger, row)["unexplained"] == 7
    add(farm[1], "builder", mfps_never_came=5)
    accounts = {rank: synthetic.account_of(rank, N) for rank in range(N)}
    come = ReceivedAccount(synthetic.N_MEPS - 2, synthetic.N_MEPS - 7, 5, True)  # the last two are missing
    accounts[1] = replace(accounts[1], come_from={**accounts[1].come_from, 0: come})
    assert not ledger_of(farm, may_lose=False, accounts=accounts).balanced
    ledger = ledger_of(farm, may_lose=True, accounts=accounts)
    assert ledger.problems == []
    assert parts_of(ledger, row)["lost on the way"] == 7
    add(farm[1], "builder", mfps_received=1)
    assert parts_of(ledger_of(farm, may_lose=True, accounts=accounts), row)["unexplained"] == -1


def end_in_flight(farm: list[CounterDict], n_in_flight: int, n_never_came: int) -> dict[int, Account]:
    """Node 0 ends before its transport has reported the outcome of its last MFPs to node 1; some never came."""
    add(farm[0], "readout", mfps_sent=-n_in_flight, mfps_in_flight_at_end=n_in_flight)
    add(farm[1], "builder", mfps_received=-n_never_came)
    accounts = {rank: synthetic.account_of(rank, N) for rank in range(N)}
    sent = {**accounts[0].sent_to, 1: SentAccount(synthetic.N_MEPS, True, n_in_flight)}
    newest = synthetic.N_MEPS - n_never_came
    come = {**accounts[1].come_from, 0: ReceivedAccount(newest, newest, 0, True)}
    accounts[0] = replace(accounts[0], sent_to=sent)
    accounts[1] = replace(accounts[1], come_from=come)
    return accounts


@pytest.mark.parametrize("may_lose", [False, True])
def test_what_is_under_way_when_a_node_ends_is_matched_by_its_numbers(farm: list[CounterDict], may_lose: bool) -> None:
    accounts = end_in_flight(farm, n_in_flight=5, n_never_came=3)
    ledger = ledger_of(farm, accounts=accounts, may_lose=may_lose)
    assert ledger.problems == []
    assert parts_of(ledger, "all nodes: taken for sending")["under way when the node ended"] == 5
    row = parts_of(ledger, "sent to nodes that lived to the end, and under way")
    assert row["under way when the node ended"] == 3
    assert row["received"] == N * N * synthetic.N_MEPS - 3


def test_in_flight_excuses_no_more_than_was_in_flight(farm: list[CounterDict]) -> None:
    """MFPs that the transport reported as sent are not under way."""
    accounts = end_in_flight(farm, n_in_flight=5, n_never_came=7)
    row = "sent to nodes that lived to the end, and under way"
    ledger = ledger_of(farm, accounts=accounts)
    assert parts_of(ledger, row)["unexplained"] == 2
    assert not ledger.balanced
    assert parts_of(ledger_of(farm, accounts=accounts, may_lose=True), row)["lost on the way"] == 2


def test_late_parts_of_packets_that_were_given_up_lie_in_the_transport(farm: list[CounterDict]) -> None:
    """Their number is that of the packets that the builder had given up, and no more."""
    accounts = end_in_flight(farm, n_in_flight=0, n_never_came=7)
    row = "sent to nodes that lived to the end"
    assert parts_of(ledger_of(farm, accounts=accounts), row)["unexplained"] == 7
    add(farm[0], "builder", sources_timed_out=7, sources_missing=7)
    assert parts_of(ledger_of(farm, accounts=accounts), row)["unexplained"] == 7, "another builder's"
    add(farm[1], "builder", sources_timed_out=5, sources_missing=5)
    assert parts_of(ledger_of(farm, accounts=accounts), row)["unexplained"] == 2
    add(farm[1], "builder", sources_timed_out=2, sources_missing=2)
    ledger = ledger_of(farm, accounts=accounts)
    assert ledger.problems == []
    assert parts_of(ledger, row)["under way when the node ended"] == 7


@pytest.mark.parametrize("who", ["sender", "receiver"])
def test_a_connection_that_only_one_side_wrote_off_is_matched_by_its_numbers(farm: list[CounterDict], who: str) -> None:
    """The last answers were lost on the way: one node took the other for dead when both were at their end."""
    n = synthetic.N_MEPS
    accounts = {rank: synthetic.account_of(rank, N) for rank in range(N)}
    if who == "sender":
        add(farm[0], "readout", sent_to_dead_builder=n)
        accounts[0] = replace(accounts[0], sent_to={**accounts[0].sent_to, 1: SentAccount(n, False)})
    else:
        add(farm[1], "builder", taken_from_dead_readout=n)
        accounts[1] = replace(accounts[1], come_from={**accounts[1].come_from, 0: ReceivedAccount(n, n, 0, False)})
    ledger = ledger_of(farm, accounts=accounts, may_lose=True)
    assert ledger.problems == []
    assert "unexplained" not in parts_of(ledger, "sent over connections that broke or were left")
    add(farm[1], "builder", mfps_received=-1)
    assert not ledger_of(farm, accounts=accounts, may_lose=True).balanced


def test_what_went_to_and_came_of_a_node_that_died_at_the_very_end_is_taken_out(farm: list[CounterDict]) -> None:
    """The other nodes had ended before they could notice: none wrote it off."""
    accounts = {rank: synthetic.account_of(rank, N) for rank in (0, 1)}
    ledger = ledger_of(farm[:2], {2: "killed by signal 9"}, accounts=accounts)
    row = parts_of(ledger, "sent to nodes that lived to the end")
    assert "unexplained" not in row
    assert row["received"] == 2 * N * synthetic.N_MEPS
    accounts[1] = replace(accounts[1], come_from={**accounts[1].come_from, 2: ReceivedAccount(3, 3, 0, True)})
    ledger = ledger_of(farm[:2], {2: "killed by signal 9"}, accounts=accounts)
    assert "unexplained" in parts_of(ledger, "sent to nodes that lived to the end")


def test_numbers_of_a_process_that_died_are_not_compared_with_its_successor(farm: list[CounterDict]) -> None:
    """Node 1 came again; node 2 has heard of it, and has only its former life's numbers."""
    accounts = {rank: synthetic.account_of(rank, N) for rank in range(N)}
    former, own = short_life(1), short_life(accounts[1].life)
    accounts[1] = replace(accounts[1], sent_to={2: SentAccount(1, False)}, come_from={})
    row = "sent over connections that broke or were left"
    for life, compared in ((former, False), (own, True), (0, True)):
        come = {**accounts[2].come_from, 1: ReceivedAccount(11, 11, 0, False, life)}
        accounts[2] = replace(accounts[2], come_from=come)
        rows = {one.name: one for one in ledger_of(farm, accounts=accounts).all_rows}
        assert (row in rows) == compared
        assert not compared or not rows[row].balanced


def test_what_the_manager_heard_nothing_of_at_its_end_is_matched_by_numbers(farm: list[CounterDict]) -> None:
    """Four packets were with node 1: it built two whole and one without a source, and no node knows of the last."""
    add(farm[0], "manager", meps_complete=-4, meps_open_at_end=4)
    add(farm[1], "builder", meps_complete=-2, meps_incomplete=1, meps_left=1)
    accounts = {rank: synthetic.account_of(rank, N) for rank in range(N)}
    reports = list(accounts[0].builders)
    reports[1] = replace(reports[1], n_complete=synthetic.N_MEPS - 4, unreported=LOST)
    accounts[0] = replace(accounts[0], builders=tuple(reports))
    accounts[1] = replace(accounts[1], handed_on=dict(zip(sorted(LOST)[:3], (0, 0, 1), strict=True)))
    ledger = ledger_of(farm, accounts=accounts)
    assert ledger.problems == []
    assigned = parts_of(ledger, "assigned")
    assert assigned["without an outcome when the manager ended"] == 1
    assert assigned["built complete, reported afterwards"] == 2
    assert "lost with their builder" not in assigned
    accounts[1] = replace(accounts[1], handed_on={})
    assert not ledger_of(farm, accounts=accounts).balanced


def test_builders_beyond_those_noted_are_counted_and_not_what_is_left(farm: list[CounterDict]) -> None:
    accounts = kill_last(farm)
    accounts[0] = replace(accounts[0], builders=tuple(
        replace(one, unreported=frozenset()) if one.is_lost else one for one in accounts[0].builders))  # fmt: skip
    killed = {2: "killed by signal 9"}
    assert parts_of(ledger_of(farm, killed, accounts=accounts), "assigned")["unexplained"] == N_UNREPORTED
    add(farm[0], "manager", lost_and_not_noted=N_UNREPORTED)
    ledger = ledger_of(farm, killed, accounts=accounts)
    assert ledger.problems == []
    assert parts_of(ledger, "assigned")["lost with builders beyond those noted"] == N_UNREPORTED


def test_what_came_twice_counts_once(farm: list[CounterDict]) -> None:
    add(farm[1], "builder", mfps_duplicate=3)
    assert not ledger_of(farm, may_lose=True).balanced
    add(farm[1], "builder", mfps_repeated=3)
    assert ledger_of(farm, may_lose=True).balanced


def test_connections_that_broke_are_matched_where_both_sides_tell(farm: list[CounterDict]) -> None:
    """The manager is killed: all other nodes leave, and none is left to report more."""
    accounts = {rank: synthetic.account_of(rank, N) for rank in (1, 2)}
    accounts[1] = replace(
        accounts[1], sent_to={2: SentAccount(50, False)}, come_from={2: ReceivedAccount(60, 60, 0, False)}
    )
    accounts[2] = replace(
        accounts[2], sent_to={1: SentAccount(60, True)}, come_from={1: ReceivedAccount(48, 47, 1, False)}
    )
    row = "sent over connections that broke or were left"
    absent = {0: "killed by signal 9"}
    ledger = ledger_of(farm, absent, left=(1, 2), accounts=accounts, may_lose=True)
    assert ledger.problems == []
    assert parts_of(ledger, row) == {"come": 107, "under way at its end": 2, "lost on the way": 1}
    ledger = ledger_of(farm, absent, left=(1, 2), accounts=accounts)
    assert parts_of(ledger, row)["unexplained"] == 1
    assert not ledger.balanced


def test_what_the_file_did_not_take_is_seen(farm: list[CounterDict]) -> None:
    n = synthetic.N_MEPS
    farm[0]["mep_store"] = {"meps_taken": n, "meps_written": n - 8, "meps_lost": 8}
    ledger = ledger_of(farm)
    assert ledger.problems == []
    assert parts_of(ledger, "all nodes: taken by the file")["not written"] == 8
    add(farm[0], "mep_store", meps_taken=-1)
    assert not ledger_of(farm).balanced


@pytest.mark.parametrize("fields", [
    {}, {"life": -1}, {"life": "x"}, {"builders": [[0]]}, {"sent_to": {"a": [1, 1]}}, {"handed_on": {"1": 1 << 64}},
    {"come_from": {"1": [1, 2, True]}},
])  # fmt: skip
def test_a_wrong_account_is_refused(fields: dict[str, object]) -> None:
    right: dict[str, object] = synthetic.account_of(0, N).as_dict()
    assert Account.of(right) == synthetic.account_of(0, N)
    with pytest.raises(ValueError):  # noqa: PT011  (int() has words of its own)
        Account.of(right | fields if fields else {})
