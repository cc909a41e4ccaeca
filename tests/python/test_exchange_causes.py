# SPDX-License-Identifier: Apache-2.0
"""Each loss of a farm is named, and whether the configuration ordered it."""

from dataclasses import replace

import exchange_synthetic as synthetic
import pytest

from anello.account.record import CounterDict
from anello.account.verdict import Word, losses_of
from anello.exchange.account.causes import LossCause, of_exchange, of_nodes
from anello.exchange.account.numbers import ReceivedAccount
from anello.exchange.account.record import ExchangeRecord
from anello.exchange.report.summary import results


def record_with(block: str, *settings: str, **changes: int) -> ExchangeRecord:
    """A record of two nodes, with these further counters at node 1."""
    record = synthetic.exchange_record(2, *settings)
    counters = record.nodes[1].counters.setdefault(block, {})
    for name, n in changes.items():
        counters[name] = counters.get(name, 0) + n
    return record


def test_a_run_without_loss_names_none() -> None:
    record = synthetic.exchange_record(2)
    assert of_exchange(record) == of_nodes(record) == []


@pytest.mark.parametrize(("block", "name", "words"), [
    ("generator", "mfps_dropped", "parts dropped by the card, no free buffer"),
    ("readout", "mfps_lost_to_dead_builder", "parts not sent, the builder was gone"),
    ("readout", "mfps_too_late", "parts not sent, too late"),
    ("readout", "mfps_in_flight_at_end", "parts under way when the node ended"),
    ("builder", "mfps_late", "parts discarded, late"),
    ("builder", "mfps_cut", "parts come in part only"),
    ("builder", "meps_left", "packets not handed on by the end"),
    ("mep_store", "meps_lost", "packets not written"),
])  # fmt: skip
def test_what_the_exchange_lost_is_in_losses(block: str, name: str, words: str) -> None:
    record = record_with(block, **{name: 7})
    assert of_exchange(record) == [LossCause(words, 7)]
    assert results(record)["losses"] == {words: 7}


@pytest.mark.parametrize(("block", "name", "words"), [
    ("builder", "fragments_wrong_checksum", "fragments with a wrong checksum"),
    ("framer", "fragments_left", "fragments left at the end"),
    ("merge", "events_incomplete", "events incomplete"),
    ("unpack", "events_incomplete", "events incomplete"),
    ("store", "events_lost", "decisions not stored"),
])  # fmt: skip
def test_what_nodes_lost_is_in_node_losses(block: str, name: str, words: str) -> None:
    assert results(record_with(block, **{name: 7}))["node_losses"] == {words: 7}


def test_a_cameras_late_fragments_and_unwritten_events_are_named() -> None:
    """A farm once said "100 % complete, lost: none" with 21 fragments late."""
    record = record_with("build.group0", fragments_late=21)
    record.nodes[1].counters["pack"] = {}
    record.nodes[1].counters["camera_store"] = {"events_lost": 512}
    assert of_nodes(record) == [LossCause("fragments late", 21), LossCause("events not stored", 512)]


def test_packets_that_lack_what_the_card_may_drop_were_ordered() -> None:
    changes = {"meps_incomplete": 3, "sources_missing": 4, "sources_absent": 4}
    packets = LossCause("packets built incomplete", 3, word=Word.INCOMPLETE)
    assert of_exchange(record_with("builder", **changes)) == [packets]
    drops = "generator.when_full=drop"
    assert of_exchange(record_with("builder", drops, **changes)) == [replace(packets, ordered=True)]
    changes |= {"sources_missing": 5, "sources_gone": 1}
    assert of_exchange(record_with("builder", drops, **changes)) == [packets]


@pytest.mark.parametrize(("block", "name", "word"), [
    ("merge", "events_incomplete", Word.INCOMPLETE), ("slice_unpack", "slices_incomplete", Word.INCOMPLETE),
    ("framer", "fragments_beyond_burst", Word.LOST), ("framer", "fragments_of_unknown_burst", Word.LOST),
])  # fmt: skip
def test_what_lacks_a_board_is_incomplete_and_what_is_gone_is_lost(block: str, name: str, word: Word) -> None:
    """The words are those of a run without the exchange."""
    assert [flaw.word for flaw in record_with(block, **{name: 7}).flaws()] == [word]


@pytest.mark.parametrize(
    ("withheld", "received", "others", "ordered"),
    [
        ({"packets_dead_board": 50}, {}, {}, True),
        ({"packets_lost_injected": 50}, {}, {}, True),
        ({"packets_not_sent": 50}, {}, {}, False),
        ({"packets_dead_board": 50}, {}, {"framer": {"fragments_left": 1}}, False),
        ({"packets_dead_board": 50}, {"packets": 99, "datagrams": 99, "kernel_dropped": 1}, {}, False),
        ({"packets_dead_board": 50}, {"packets": 99, "dropped_packets": 1}, {}, False),
        ({"packets_dead_board": 50}, {"conflicting_packets": 1}, {}, False),
    ],
)
def test_events_that_lack_only_what_front_ends_withheld_on_purpose_are_incomplete_as_ordered(
    withheld: dict[str, int], received: dict[str, int], others: dict[str, dict[str, int]], ordered: bool
) -> None:
    record = record_with("merge", events_incomplete=7)
    record.nodes[0].counters.update(with_a_board(withheld, received) | others)
    incomplete = [flaw for flaw in record.flaws() if flaw.word is Word.INCOMPLETE]
    assert [(flaw.n, flaw.ordered) for flaw in incomplete] == [(7, ordered)]


def with_a_board(withheld: dict[str, int], received: dict[str, int]) -> CounterDict:
    """A readout unit's counters of RICH board 3, which made 150 packets and sent 100 of them."""
    sent = {"packets": 150, "datagrams_sent": 100, **withheld}
    return {
        "framer": {},
        "source": {},
        "source.board3": sent,
        "receive.board3": {"datagrams": 100, "packets": 100, **received},
    }


@pytest.mark.parametrize(("chain", "counters", "words", "where"), [
    ("rich", with_a_board({"packets_dead_board": 50}, {"packets": 93, "datagrams": 93, "kernel_dropped": 7}),
     "packets dropped by the kernel", "board 3 of node 1"),
    ("km3net", {"slice_pack": {}, "source.board4": {"datagrams_sent": 100}, "build.board4": {"datagrams": 93},
                "receive.port0": {"datagrams": 93, "kernel_dropped": 7}},
     "datagrams dropped by the kernel", "node 1"),
    ("camera", {"pack": {}, "source.board0": {"fragments": 100, "datagrams_sent": 100}, "build.board0": {"placed": 93},
                "receive.port0": {"datagrams": 93, "kernel_dropped": 7}},
     "fragments dropped by the kernel", "board 0 of node 1"),
])  # fmt: skip
def test_what_the_kernel_dropped_is_lost_as_in_a_run_without_the_exchange(
    chain: str, counters: CounterDict, words: str, where: str
) -> None:
    """Farms whose kernel had dropped datagrams once were `incomplete`, without a word of the kernel."""
    record = synthetic.exchange_record(2)
    record.nodes[1].counters.update(counters)
    lost = [flaw for flaw in losses_of(record.ledger()) if not flaw.ordered]
    assert [(flaw.words, flaw.n, flaw.where, flaw.word) for flaw in lost] == [(words, 7, (where,), Word.LOST)]
    assert results(record)["node_losses"][words] == 7, chain


def test_what_a_network_loses_nobody_ordered() -> None:
    record = synthetic.exchange_record(2, "fabric.transport=udp")
    account = record.nodes[1].account
    n = synthetic.N_MEPS
    account = replace(account, come_from={**account.come_from, 0: ReceivedAccount(n - 2, n - 2, 0, True)})
    record = replace(record, nodes=(record.nodes[0], replace(record.nodes[1], account=account)))
    record.nodes[1].counters["builder"]["mfps_received"] -= 2
    assert of_exchange(record) == [LossCause("parts lost on the way", 2)]


def test_batches_that_the_trigger_plugin_failed_on_are_named_as_in_a_run_without_the_exchange() -> None:
    record = record_with("trigger", plugin_failed_batches=1141)
    (flaw,) = record.flaws()
    assert flaw.in_words == "1,141 batches without rings, the trigger plug-in failed"
    assert flaw.word is Word.LOST


@pytest.mark.parametrize(("n_passed", "word"), [(1, Word.GOOD), (50, Word.DEGRADED)])
def test_events_that_a_node_did_not_look_at_degrade_the_farm_s_run(n_passed: int, word: Word) -> None:
    record = record_with("trigger", events=100, events_passed=n_passed)
    assert [flaw.word for flaw in record.flaws() if "passed without a look" in flaw.words] == [word]


def test_decisions_that_subscribers_missed_are_named() -> None:
    record = record_with("publish.decisions", records_dropped_at_end=7)
    assert [flaw.in_words for flaw in record.flaws()] == ["7 records not published by the end"]
