# SPDX-License-Identifier: Apache-2.0
"""One line says what is wrong with a run, wherever it is shown, and the exit code agrees with it."""

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import camera_synthetic
import pytest
import synthetic
from rich.console import Console

from anello.account.ledger import Ledger, Loss, Row
from anello.account.record import Record
from anello.account.verdict import Flaw, Word, incomplete_flaws, judged
from anello.control.run_sampler import silent_boards
from anello.counters.live import LIVE, SILENT, Board
from anello.report import report
from anello.rich.account.losses import less_effort, of_same_time
from anello.rich.account.record import RichRecord
from anello.rich.report.summary import rates
from anello.system import exit_codes

WHOLE = "good: all data was delivered"
BALANCED = Ledger((Row("packets", "made", 1, (("placed", 1),)),))
OFF = Ledger((Row("packets", "made", 1, (("placed", 0),), "1 unaccounted for"),))


def rich_record(**changes: Any) -> Record:
    return synthetic.record(30, **changes)


def with_node(record: Any, block: str, **counters: int) -> Any:
    node = {name: dict(values) for name, values in record.node.items()}
    node[block] |= counters
    return dataclasses.replace(record, node=node)


def with_source(record: Any, **counters: int) -> Any:
    return dataclasses.replace(record, source=dict(record.source) | {"source": counters})


def said(record: Record) -> str:
    output = io.StringIO()
    report.show(record, Console(file=output, width=200))
    return output.getvalue()


# --- The function -------------------------------------------------------------------------------------------------
def test_a_whole_run_says_so_and_exits_with_0() -> None:
    verdict = judged(BALANCED, [], interrupted=False)
    assert (verdict.line, verdict.exit_code, verdict.is_whole) == (WHOLE, 0, True)


def test_what_was_ordered_is_named_and_does_not_fail() -> None:
    ledger = dataclasses.replace(BALANCED, losses=(Loss("packets", "lost on purpose", 3, ordered=True),))
    verdict = judged(ledger, [Flaw("events incomplete", 2, ordered=True)], interrupted=False)
    assert verdict.line == "good, with the faults that were asked for: 3 packets lost on purpose, 2 events incomplete"
    assert (verdict.exit_code, verdict.is_whole, verdict.is_as_ordered) == (0, False, True)


def test_each_board_adds_to_one_cause() -> None:
    losses = tuple(Loss("packets", "dropped by the kernel", n, where=f"board {n}") for n in (1, 2))
    verdict = judged(dataclasses.replace(BALANCED, losses=losses), [], interrupted=False)
    assert verdict.line == "lost: 3 packets dropped by the kernel (board 1, board 2)"
    assert verdict.exit_code == exit_codes.LOST


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_ledger_that_is_off_never_exits_with_0_nor_as_interrupted(interrupted: bool) -> None:
    verdict = judged(OFF, [], interrupted=interrupted)
    assert verdict.exit_code == exit_codes.LEDGER
    assert "the ledger does not balance" in verdict.line


def test_the_gravest_cause_gives_the_exit_code() -> None:
    lost = [Flaw("events not stored", 1)]
    assert judged(BALANCED, lost, interrupted=True).exit_code == exit_codes.LOST
    assert judged(OFF, lost, interrupted=True, ended_badly="killed").exit_code == exit_codes.LEDGER
    assert judged(BALANCED, lost, interrupted=True, ended_badly="killed").exit_code == exit_codes.FAILED


def test_a_stop_that_was_ordered_is_no_failure() -> None:
    stopped = judged(BALANCED, [], interrupted=True)
    assert (stopped.exit_code, stopped.is_whole) == (0, False)
    assert stopped.line == f"{WHOLE}; stopped as ordered"
    lost = judged(BALANCED, [Flaw("events not stored", 1)], interrupted=True)
    assert lost.line == "lost: 1 events not stored; stopped as ordered"


WORDS = list(Word)


@pytest.mark.parametrize(("better", "worse"), [(WORDS[i], worse) for i in range(6) for worse in WORDS[i + 1 :]])
def test_the_worst_word_counts_whatever_the_order(better: Word, worse: Word) -> None:
    def of(word: Word) -> list[Flaw]:
        return [Flaw(f"that are {word}", 3, ordered=word is Word.AS_ORDERED, word=word)]

    for flaws in ([*of(better), *of(worse)], [*of(worse), *of(better)]):
        verdict = judged(BALANCED, flaws, interrupted=False)
        assert verdict.word is worse
        assert verdict.line.startswith(f"{worse}: 3 that are {worse}")


def test_each_word_has_its_exit_code() -> None:
    codes = {word: judged(BALANCED, [Flaw("x", 1, word=word)], interrupted=False).exit_code for word in WORDS}
    assert codes == {"good": 0, "good, with the faults that were asked for": 0, "degraded": 7, "incomplete": 6,
                     "lost": 5, "unknown": 8, "wrong": 3}  # fmt: skip


def test_the_first_line_says_what_how_much_where_since_when_and_what_to_do() -> None:
    flaws = [Flaw("boards are slow", 1, word=Word.DEGRADED),
             *(Flaw("events incomplete", 5, word=Word.INCOMPLETE, where=(f"board {i}",), remedy="look at its cable")
               for i in range(5))]  # fmt: skip
    verdict = judged(BALANCED, flaws, interrupted=False).since([(0.5, {}), (1.0, {"events incomplete": 2}), (1.5, {})])
    assert verdict.line == (
        "incomplete: 25 events incomplete (board 0, board 1, board 2 and 2 more, since 1.0 s): look at its cable; "
        "1 boards are slow"
    )


def test_all_data_was_delivered_is_said_of_good_alone() -> None:
    for word in WORDS[1:]:
        line = judged(BALANCED, [Flaw("x", 1, ordered=word is Word.AS_ORDERED, word=word)], interrupted=False).line
        assert "all data was delivered" not in line


def test_a_run_that_nothing_came_to_is_unknown() -> None:
    record = rich_record()
    nothing = {name: dict.fromkeys(block, 0) for name, block in record.node.items()}
    record = dataclasses.replace(record, node=nothing, source=None)
    assert record.verdict().word is Word.UNKNOWN
    assert "nothing came: see what is sent here" in record.verdict().line


@pytest.mark.parametrize(("interrupted", "word"), [(False, Word.UNKNOWN), (True, Word.GOOD)])
def test_a_board_whose_end_never_came_is_no_proof(interrupted: bool, word: Word) -> None:
    record = dataclasses.replace(with_node(rich_record(), "build.board2", state=0), interrupted=interrupted)
    assert record.verdict().word is word
    assert ("1 boards whose end never came (board 2)" in record.verdict().line) != interrupted


@pytest.mark.parametrize(("n_passed", "word"), [(1, Word.GOOD), (5, Word.DEGRADED)])
def test_events_that_nobody_looked_at_degrade_a_run_beyond_a_share(n_passed: int, word: Word) -> None:
    record = with_node(rich_record(), "trigger", events=100, events_passed=n_passed, events_in_full=100 - n_passed)
    (flaw,) = less_effort(record.node, 0.01)
    assert flaw.word is word
    assert flaw.in_words == f"{n_passed} of 100 events passed without a look"


def test_a_long_list_is_cut_and_says_so() -> None:
    verdict = judged(BALANCED, [Flaw(f"of kind {kind}", 1) for kind in range(10)], interrupted=False)
    assert verdict.line.endswith("1 of kind 7; and 2 more")


# --- Runs ---------------------------------------------------------------------------------------------------------
def test_late_fragments_of_a_camera() -> None:
    record = with_node(camera_synthetic.record(), "build.group0", fragments_late=21)
    assert "21 fragments late" in record.verdict().line
    assert record.verdict().exit_code != 0
    assert "100 % complete" not in said(record)


def test_fragments_of_the_same_time_are_lost() -> None:
    record = with_node(rich_record(), "build", fragments_duplicate=21)
    assert "21 fragments of the same time as the one before" in record.verdict().line
    assert record.verdict().exit_code != 0


def test_the_card_takes_packets_that_come_twice_for_fragments_of_the_same_time() -> None:
    node = {"build": {"fragments_duplicate": 21}, "nanet.merge": {}}
    source = {"source.board0": {"fragments_duplicated_injected": 20}, "source": {}}
    assert of_same_time(node, source) == 1
    assert of_same_time({"build": {"fragments_duplicate": 21}}, source) == 21, "a node knows them by their numbers"


def test_a_source_that_forwent_most_of_its_time() -> None:
    record = with_source(rich_record(), time_forgone_ns=4_900_000_000)
    assert record.verdict().line == (
        f"{WHOLE}; not at rate: the front ends were too slow, they reset their clock by 4.9 s of 4 s"
    )
    assert isinstance(record, RichRecord)
    assert rates(record)["beam_s"] == pytest.approx(4.0 + 4.9), "the rate is that of the time that it took"
    assert record.verdict().exit_code == 0  # what was made was delivered


@pytest.mark.parametrize(
    ("make", "block", "counters", "words"),
    [
        (rich_record, "store", {"events_lost": 51, "events_stored": 49}, "51 decisions not stored"),
        (camera_synthetic.record, "camera_store", {"events_lost": 52, "events_stored": 23}, "52 events not stored"),
        (rich_record, "build", {"fragments_late": 7}, "7 fragments late"),
        (rich_record, "emit", {"primitives_late": 4}, "4 primitives late"),
        (camera_synthetic.record, "compress", {"events_failed": 2}, "2 events that could not be compressed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_was_lost_behind_the_receiver_is_in_the_line(
    make: Any, block: str, counters: dict[str, int], words: str
) -> None:
    verdict = with_node(make(), block, **counters).verdict()
    assert words in verdict.line
    assert verdict.exit_code != 0


def test_incomplete_events_are_as_configured_only_where_losses_were() -> None:
    record = with_node(rich_record(), "build", events_incomplete=30, events_complete=970)
    (flaw,) = record.verdict().flaws
    assert (flaw.in_words, flaw.ordered) == ("30 events incomplete", False)


def test_front_ends_that_were_killed() -> None:
    record = rich_record(ended_badly="the front ends ended early, killed by signal 9 (SIGKILL)")
    assert record.verdict().exit_code == exit_codes.FAILED
    assert "killed by signal 9" in record.verdict().line


def test_terminal_summary_and_report_say_the_same_line(tmp_path: Path) -> None:
    for number, record in enumerate((rich_record(), with_node(rich_record(), "build", fragments_late=7))):
        directory = tmp_path / str(number)
        directory.mkdir()
        report.write(record, directory)
        line = record.verdict().line
        assert json.loads((directory / "summary.json").read_text())["verdict"]["line"] == line
        assert line in (directory / "report.html").read_text()
        assert line in said(record)


def test_what_nodes_say_of_their_parts_is_added_up() -> None:
    parts = [Flaw("events passed without a look", n, word=Word.DEGRADED, of=100) for n in (30, 50)]
    (flaw,) = judged(BALANCED, parts, interrupted=False).flaws
    assert flaw.in_words == "80 of 200 events passed without a look"


def test_events_decided_with_less_effort_are_no_cause_of_a_missing_board() -> None:
    ledger = dataclasses.replace(BALANCED, losses=(Loss("packets", "board dead", 3, ordered=True),))
    less = [Flaw("events passed without a look", 5, word=word, of=9) for word in (Word.GOOD, Word.DEGRADED)]
    (flaw,) = incomplete_flaws(3, ledger, less)
    assert flaw.ordered
    (flaw,) = incomplete_flaws(3, ledger, [*less, Flaw("fragments late", 1)])
    assert not flaw.ordered


def test_boards_that_are_dead_on_purpose_are_silent_by_the_configuration() -> None:
    boards = [Board(1, 5, 0, SILENT), Board(2, 5, 0, SILENT), Board(3, 5, 0, LIVE)]
    found = list(silent_boards(boards, {"source.board2": {"packets_dead_board": 7}}))
    assert [(flaw.where, flaw.counts) for flaw in found] == [
        (("board 1",), Word.INCOMPLETE), (("board 2",), Word.AS_ORDERED)
    ]  # fmt: skip
    assert len(list(silent_boards(boards, None))) == 1
