# SPDX-License-Identifier: Apache-2.0
"""Pages of many nodes combined into one, and what the page of a farm shows of it."""

import json
from collections.abc import Iterator
from dataclasses import replace

import exchange_synthetic as synthetic
import pytest
from fake_farm import EXCHANGE, N_NODES, FakeFarm, FarmPages

from anello.account.verdict import as_it_stands
from anello.configuration.load import load
from anello.control.run_sampler import RunSample, RunSampler
from anello.control.web import messages
from anello.counters.farm_copy import FarmNode, Seen, of_nodes, state_of, together
from anello.counters.page_copy import PageCopy
from anello.exchange.report.live_view import ExchangeLive


class Watched:
    """A farm whose pages are read twice a second."""

    def __init__(self) -> None:
        self.farm, self.pages = FakeFarm(), FarmPages()
        self.sight = RunSampler(self.farm.status, copy=self.copy, clock=self.pages.clock)
        self.without: set[str] = set()  # pages that are not there

    def copy(self, name: str) -> PageCopy:
        if name in self.without:
            raise FileNotFoundError(name)
        return self.pages.copy(name)

    def look(self, n: int = 1) -> RunSample:
        for _ in range(n):
            self.pages.advance(0.5)
            look = self.sight.look()
        return look


@pytest.fixture
def watched() -> Iterator[Watched]:
    return Watched()


def seen(rank: int, state: str = "", page: PageCopy | None = None) -> Seen:
    return Seen(FarmNode(rank, "here", f"anello.node.{rank}", state), page)


def test_before_the_first_page_there_is_nothing() -> None:
    assert together([seen(0), seen(1)]) is None


def test_a_node_is_waiting_live_ended_or_gone() -> None:
    page = FarmPages().copy("anello.node.1")
    whole = together([seen(0), seen(1, page=page), seen(2, "ended", page), seen(3, "gone", page)])
    assert whole is not None
    assert [state_of(blocks) for blocks in of_nodes(whole.counters).values()] == ["waiting", "live", "ended", "silent"]
    assert set(of_nodes(whole.counters)[0]) == {"member"}


def test_pages_are_put_together_by_their_nodes() -> None:
    pages = FarmPages()
    pages.advance(1)
    whole = together([seen(rank, page=pages.copy(f"anello.node.{rank}")) for rank in range(N_NODES)])
    assert whole is not None
    assert whole.counters["node2.builder"]["meps_complete"] == synthetic.N_MEPS
    assert [thread.name for thread in whole.threads] == ["node0.exchange", "node1.exchange", "node2.exchange"]
    assert [one.stage for one in whole.buffers] == ["builder.node0", "builder.node1", "builder.node2"]
    assert whole.latency["ready_to_built"]["10s"]["count"] == 3000
    assert whole.header.heartbeat_ns == pages.now_ns - 200_000_000, "of the one that has been quiet for longest"


def test_the_heartbeat_is_of_those_that_live() -> None:
    pages = FarmPages()
    dead = pages.copy("anello.node.1")
    pages.advance(60)
    whole = together([seen(0, page=pages.copy("anello.node.0")), seen(1, "gone", dead)])
    assert whole is not None
    assert whole.header.heartbeat_ns == pages.now_ns


def test_a_farm_is_seen_whole(watched: Watched) -> None:
    look = watched.look(4)
    live = messages.tick(look)["live"]
    json.dumps(live, allow_nan=False)
    assert live["rates"]["built_hz"] == pytest.approx(3 * 600 * synthetic.N_MEPS, rel=0.01)
    assert live["rates"]["lost_hz"] == 0
    assert live["ledger"]["off"] == 0
    assert {row["level"] for row in live["ledger"]["levels"]} == {"MFPs", "MEPs", "fragments"}
    assert [stage["name"] for stage in live["stages"]] == ["generator", "readout", "builder"]
    assert live["stages"][2]["occupancy"] == pytest.approx(0.1), "of the fullest"
    assert [(one["rank"], one["machine"], one["state"]) for one in live["members"]] == [
        (0, "here", "live"), (1, "rack1", "live"), (2, "rack2", "live")
    ]  # fmt: skip
    assert look.figures["nodes_gone"] == 0
    assert look.figures["p50_us"] == 150
    assert look.whole_way["count"] == 3000


def test_a_node_that_dies_is_reported_and_what_it_said_last_stays(watched: Watched) -> None:
    before = watched.look(4)
    watched.farm.gone.add(2)
    watched.without.add("anello.node.2")
    look = watched.look(4)
    assert look.figures["nodes_gone"] == 1
    assert look.members[2].state == "silent"
    assert look.node is not None
    assert before.node is not None
    assert look.node.counters["node2.builder"] == before.node.counters["node2.builder"]
    assert look.node.counters["node0.builder"] != before.node.counters["node0.builder"]
    (row,) = [one for one in messages.tick(look)["live"]["members"] if one["state"] == "silent"]
    assert (row["rank"], row["cause"]) == (2, "killed by signal 9")


NONSENSE = {
    "a state that there is not": {"member": {"state": 99}},
    "a negative number of packets": {"builder": {"meps_complete": -(10**40)}},
    "blocks of other nodes": {"node0.builder": {"meps_complete": 7}, "node9.member": {"state": 99}},
    "nothing that anybody knows": {"": {"": 1}, "manager": {}},
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_a_page_that_makes_no_sense_silences_its_node_alone(watched: Watched, kind: str) -> None:
    watched.look(4)
    copy = watched.pages.copy

    def with_nonsense(name: str) -> PageCopy:
        page = copy(name)
        return replace(page, counters={**page.counters, **NONSENSE[kind]}) if name == "anello.node.1" else page

    watched.pages.copy = with_nonsense  # type: ignore[method-assign]
    look = watched.look(4)
    json.dumps(messages.tick(look)["live"], allow_nan=False)
    assert look.rates["built_hz"] > 0
    assert {"nodes_gone", "lost_hz"} <= look.figures.keys(), "alarms continue"
    assert [one.state for one in look.members][0::2] == ["live", "live"]
    if look.members[1].state == "silent":
        assert "makes no sense" in look.members[1].member.cause


def test_the_next_run_has_not_the_last_one_s_pages(watched: Watched) -> None:
    watched.look(2)
    watched.farm.run += 1
    watched.without.add("anello.node.2")
    assert watched.look().members[2].page is None


LOSSES = [
    ("readout", "mfps_too_late", "readout", "parts not sent, too late"),
    ("builder", "mfps_malformed", "builder", "parts discarded, malformed"),
    ("manager", "meps_lost_with_builder", "builder", "packets lost with their builder"),
]


@pytest.mark.parametrize(("block", "name", "stage", "words"), LOSSES)
def test_a_loss_stands_at_its_stage_and_in_the_sum(block: str, name: str, stage: str, words: str) -> None:
    page = FarmPages().copy("anello.node.0")
    counters = {**page.counters, block: {**page.counters[block], name: 7}}
    whole = together([seen(0, page=replace(page, counters=counters))])
    assert whole is not None
    view = ExchangeLive(load(EXCHANGE))  # type: ignore[arg-type]
    assert as_it_stands(view.flaws(whole.counters, None), balanced=True).lost == {words: 7}
    assert {one.name: one.n_lost for one in view.stages(whole.counters) if one.n_lost} == {stage: 7}


def test_parts_that_vanish_are_no_part_of_the_ledger() -> None:
    """The row that does not close must show what is missing, and not contain it."""
    pages = FarmPages()
    pages.advance(1)
    copies = {rank: pages.copy(f"anello.node.{rank}") for rank in range(N_NODES)}
    copies[1].counters["builder"]["mfps_received"] -= 5  # type: ignore[index]
    whole = together([seen(rank, page=page) for rank, page in copies.items()])
    assert whole is not None
    ledger = ExchangeLive(load(EXCHANGE)).ledger(whole.counters, None)  # type: ignore[arg-type]
    off = {row.name: row.total - sum(n for _, n in row.parts) for row in ledger.rows
           if row.total != sum(n for _, n in row.parts)}  # fmt: skip
    assert off == {"sent to nodes that lived to the end": 5}


def test_what_a_readout_unit_s_kernel_drops_is_lost_while_the_farm_runs() -> None:
    pages = FarmPages()
    pages.advance(1)
    page = pages.copy("anello.node.0")
    boards = {"framer": {}, "receive.board3": {"packets": 90, "lost_sequences": 7, "kernel_dropped": 7}}
    whole = together([seen(0, page=replace(page, counters={**page.counters, **boards}))])
    assert whole is not None
    flaws = ExchangeLive(load(EXCHANGE)).flaws(whole.counters, None)  # type: ignore[arg-type]
    lost = [(flaw.n, flaw.words, flaw.where) for flaw in flaws if "dropped" in flaw.words]
    assert lost == [(7, "packets dropped by the kernel", ("board 3 of node 0",))]
