# SPDX-License-Identifier: Apache-2.0
"""Ledger, verdict and report of numbered packets: a made-up run of two boards, and one that is missing is noticed."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from pydantic import ValidationError

from anello.account.ledger import Reader, Row
from anello.account.verdict import Word
from anello.configuration.python_keys import ChainName, chain_field
from anello.configuration.sections import ReceiveSection
from anello.packet_chain.config import PacketBoardsSection, PacketConfig
from anello.packet_chain.engine_keys import PacketFaultsKeys
from anello.packet_chain.presentation import PacketPresentation
from anello.packet_chain.record import PacketRecord
from anello.report.html import document


class MadeUpConfig(PacketConfig):
    """A chain that is none of ours; any registered name may be given."""

    chain: ChainName = chain_field("rich")


CONFIG = MadeUpConfig(boards=PacketBoardsSection(count=2))
FATES = {"duplicates": 0, "conflicting": 0, "strays": 0, "strangers": 0, "disowned": 0, "source_changes": 0}
NODE: dict[str, dict[str, int]] = {  # board 0: number 3 twice; board 1: number 1 lost on purpose, 4 on the way
    "receive.port0": {"datagrams": 12, "bytes": 120, "kernel_dropped": 0, "super_packets": 0},
    "receive.verdict": {"ok": 9, "too_short": 2, "wrong_magic": 1},
    "receive.board0": FATES | {"packets": 6, "used": 5, "duplicates": 1},
    "receive.board1": FATES | {"packets": 3, "used": 3},
    "tracks": {"planes": 8},
}
SOURCE = {
    "source.board0": {"packets": 5, "datagrams_sent": 6, "packets_duplicated_injected": 1},
    "source.board1": {"packets": 5, "datagrams_sent": 3},
}
MADE = {board: {"made": [[0, 0, 5, 0]], "withheld": [[0, 1, 2, 1]] if board else [], "not_listed": 0}
        for board in (0, 1)}  # fmt: skip
CAME = {0: {"expected": [[0, 0, 5, 0]], "missing": [], "not_listed": 0},
        1: {"expected": [[0, 0, 4, 0]], "missing": [[0, 1, 2, 0]], "not_listed": 0}}  # fmt: skip


def own_rows(node: Reader) -> Iterator[Row]:
    yield node.row("parts", "planes", 8, [("in events", node("tracks", "planes"))])


def record(node: Any = NODE, came: Any = CAME, **others: Any) -> PacketRecord:
    known: dict[str, Any] = {"made": MADE, "came": came, "source": SOURCE, "latency": {}, "wall_s": 2.0}
    return PacketRecord(config=CONFIG, node=deepcopy(node), own_rows=own_rows, **known | others)


def row(of: PacketRecord, name: str) -> dict[str, int]:
    return dict(next(one for one in (*of.ledger().rows, *of.ledger().boards) if one.name == name).parts)


def test_each_packet_has_its_place() -> None:
    found = record()
    assert found.ledger().problems == []
    assert row(found, "made by the boards") == {"used": 8, "lost on purpose": 1, "never came": 1}
    assert row(found, "that came") == {
        "in the name of a board": 9,
        "malformed: too_short": 2,
        "malformed: wrong_magic": 1,
    }
    assert row(found, "board 0: well-formed packets") == {"used": 5, "duplicate": 1}
    assert row(found, "planes") == {"in events": 8}
    assert [(loss.where, loss.words, loss.n, loss.ordered) for loss in found.ledger().losses] == [
        ("board 1", "lost on purpose", 1, True), ("board 1", "never came", 1, False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("block", "counter", "row_off"),
    [
        ("receive.board0", "used", "board 0: "),
        ("receive.board0", "packets", "that came"),
        ("receive.verdict", "too_short", "that came"),
        ("receive.board1", "disowned", "board 1: used"),
        ("tracks", "planes", "planes"),
    ],
)
def test_one_that_is_missing_is_noticed(block: str, counter: str, row_off: str) -> None:
    node = deepcopy(NODE)
    node[block][counter] += 1
    problems = record(node).ledger().problems
    assert any(row_off in problem for problem in problems), problems


def test_a_number_that_no_board_made_is_noticed() -> None:
    came = CAME | {1: {"expected": [[0, 0, 4, 0], [1, 9, 10, 0]], "missing": [[0, 1, 2, 0]], "not_listed": 0}}
    assert "1 numbers came that the board did not make" in " ".join(record(came=came).ledger().problems)


def test_what_this_system_sent_came_or_was_dropped_here() -> None:
    assert row(record(one_host=True), "sent by the boards' system") == {"came": 9}
    node = NODE | {"receive.port0": NODE["receive.port0"] | {"datagrams": 11, "kernel_dropped": 1}}
    node["receive.verdict"] = {"ok": 8, "too_short": 2, "wrong_magic": 1}
    node["receive.board1"] = FATES | {"packets": 2, "used": 2}
    assert row(record(node, one_host=True), "sent by the boards' system") == {"came": 8, "dropped by the kernel": 1}


def test_flaws_are_named_and_only_those_of_the_configuration_are_ordered() -> None:
    node = NODE | {
        "receive.board1": NODE["receive.board1"] | {"strays": 1, "strangers": 2, "disowned": 3, "conflicting": 4}
    }
    flaws = {flaw.words: (flaw.n, flaw.ordered, flaw.word is Word.LOST) for flaw in record(node).flaws()}
    assert flaws == {
        "packets duplicate": (1, True, False),
        "packets of a number that had come with other content": (4, False, True),
        "packets far from the board's number": (1, False, True),
        "packets of strangers": (2, False, False),
        "packets malformed: too_short": (2, False, True),
        "packets malformed: wrong_magic": (1, False, True),
        "packets used of an address that was not the board's": (3, False, True),
    }


def test_the_report_shows_the_detectors_own_counters() -> None:
    meanings = {"tracks": {"planes": "planes in events"}}
    shown = PacketPresentation(record(meanings=meanings))
    assert shown.results()["detector"] == {"tracks": {"planes": 8}}
    assert shown.results()["complete"] == 0.8
    assert "8 packets used, 80 % of those made" in shown.headlines()[0]
    page = document("made up", "".join([*shown.tiles(), *shown.sections()]))
    assert "tracks.planes" in page
    assert "planes in events" in page


@pytest.mark.parametrize(
    ("sections", "field"),
    [
        (
            {"boards": PacketBoardsSection(count=2, faults=PacketFaultsKeys(dead_board=2))},
            "boards.faults.dead_board",
        ),
        ({"boards": PacketBoardsSection(faults=PacketFaultsKeys(loss=0.6, reorder=0.5))}, "boards.faults.loss"),
        ({"receive": ReceiveSection(sources=["10.0.0.1", "10.0.0.2"])}, "receive.sources"),
        ({"receive": ReceiveSection(policy="drop_new")}, "receive.policy"),
    ],
)
def test_relations_between_keys_are_checked(sections: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        MadeUpConfig(**sections)
    assert caught.value.errors()[0]["ctx"]["error"].field == field


def test_the_runs_length_follows_from_its_duration() -> None:
    assert MadeUpConfig().run_length() == {"run.n_packets": 10_000}
    assert MadeUpConfig(boards=PacketBoardsSection(rate_hz=0.01)).run_length() == {"run.n_packets": 1}
