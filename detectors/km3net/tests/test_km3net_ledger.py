# SPDX-License-Identifier: Apache-2.0
"""The ledger of an invented run accounts for each datagram and each hit, and shows one that is missing."""

from copy import deepcopy
from typing import Any

import pytest

from anello.account.ledger import TAKEN_FOR_STRANGERS, Ledger
from anello.configuration.load import load
from anello.counters.live import LIVE, SILENT, view_of
from anello.km3net.account.ledger import FATES, build_ledger, flaws

LATE, DUPLICATE = (list(FATES).index(name) + 1 for name in ("late", "duplicate"))
SLICE = 5
FATES_OF_ONE = dict.fromkeys(FATES, 0)


def node() -> dict[str, dict[str, int]]:
    """Two DOMs send four datagrams and a trailer each for one slice; one of the second DOM's is late and one lost."""
    return {
        "receive.port0": {"datagrams": 10, "bytes": 1000, "kernel_dropped": 0, "super_packets": 0},
        "build.verdict": {"ok": 10, "too_short": 0},
        "build": {"slices": 1, "slices_complete": 0, "slices_incomplete": 1, "hits": 60},
        "build.board0": FATES_OF_ONE
        | {
            "datagrams": 6,
            "used": 5,
            "duplicate": 1,
            "hits": 40,
            "frames_complete": 1,
            "frames_incomplete": 0,
            "frames_absent": 0,
        },
        "build.board1": FATES_OF_ONE
        | {
            "datagrams": 4,
            "used": 3,
            "late": 1,
            "hits": 20,
            "frames_complete": 0,
            "frames_incomplete": 1,
            "frames_absent": 0,
        },
        "trigger": {
            "slices": 1,
            "frames_used": 1,
            "frames_incomplete": 1,
            "frames_out_of_range": 0,
            "frames_out_of_order": 0,
            "hits_used": 39,
            "hits_continued": 1,
            "hits_rejected": 20,
            "events": 1,
        },
        "store": {"written": 3, "without_room": 0, "lost": 0},
    }


def source() -> dict[str, dict[str, int]]:
    return {
        f"source.board{dom}": {"packets": 5, "hits": 40, "datagrams_sent": sent, "packets_duplicated_injected": 1}
        for dom, sent in ((0, 6), (1, 4))
    }


MADE = {
    dom: {"made": [[SLICE, 0, 5, 0]], "withheld": [[SLICE, 2, 3, 1]] if dom else [], "not_listed": 0} for dom in (0, 1)
}
CAME: dict[int, Any] = {
    0: {"expected": [[SLICE, 0, 5, 0]], "missing": [], "unused": [[SLICE, 1, 2, DUPLICATE]], "not_listed": 0},
    1: {
        "expected": [[SLICE, 0, 2, 0], [SLICE, 4, 5, 0]],
        "missing": [],
        "unused": [[SLICE, 3, 4, LATE]],
        "not_listed": 0,
    },
}


def ledger(node_counters: Any = None, came: Any = None) -> Ledger:
    return build_ledger(node_counters or node(), source(), n_doms=2, one_host=True, made=MADE, came=came or CAME)


def test_each_datagram_has_its_place() -> None:
    found = ledger()
    assert found.problems == []
    made = next(row for row in found.rows if row.name == "made by the boards")
    assert dict(made.parts) == {"used": 8, "lost on purpose": 1, "late": 1}
    assert [(loss.words, loss.n, loss.ordered) for loss in found.losses] == [("lost on purpose", 1, True)]


def test_one_that_did_not_come_is_a_loss_with_its_number() -> None:
    came = deepcopy(CAME)
    came[1]["unused"] = []
    lost = [loss.line for loss in ledger(came=came).losses if not loss.ordered]
    assert lost == ["board 1: 1 datagrams never came: 3"]


def test_one_that_was_not_made_is_a_problem() -> None:
    came = deepcopy(CAME)
    came[0]["expected"] = [[SLICE, 0, 6, 0]]
    assert "1 numbers came that the board did not make" in "".join(ledger(came=came).problems)


@pytest.mark.parametrize(
    ("block", "name"),
    [
        (block, name)
        for block, counters in node().items()
        for name in counters
        if name not in ("bytes", "super_packets", "ok") and not (block == "receive.port0" and name == "kernel_dropped")
    ],
)
def test_a_counter_that_is_off_by_one_is_noticed(block: str, name: str) -> None:
    counters = node()
    counters[block][name] += 1
    assert ledger(counters).problems


def test_what_was_late_is_a_flaw_and_what_was_ordered_is_none() -> None:
    config: Any = load(None, ["chain=km3net", "line.doms=2"])
    found = {flaw.words: flaw.ordered for flaw in flaws(node(), source(), config, ledger())}
    assert found == {"datagrams duplicate": True, "datagrams late": False, "slices incomplete": False}


def test_the_live_page_knows_which_doms_are_silent_and_which_nobody_hears() -> None:
    config = load(None, ["chain=km3net", "line.doms=2"])
    view = view_of(config)
    assert [board.state for board in view.boards(node())] == [LIVE, LIVE]
    silent = node()
    silent["build.board1"]["silent"] = 1
    assert [board.state for board in view.boards(silent)] == [LIVE, SILENT]
    refused = node()
    refused["build.board1"] |= FATES_OF_ONE | {"datagrams": 4, "strangers": 4, "hits": 0}
    words = {flaw.words: flaw.where for flaw in view.flaws(refused, None)}
    assert words[f"datagrams {TAKEN_FOR_STRANGERS}"] == ("board 1",)
