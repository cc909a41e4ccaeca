# SPDX-License-Identifier: Apache-2.0
"""The ledger of numbered packets: each packet that a board made was used, or was lost for a named cause."""

from collections.abc import Callable, Iterator, Mapping

from anello.account.identity import (
    CAUSES,
    ORDERED,
    CameByBoard,
    ListedAsCame,
    ListedAsMade,
    MadeByBoard,
    Matched,
    ReceivedNumbers,
    SentNumbers,
    matched,
    size,
)
from anello.account.ledger import Counters, Ledger, Loss, Part, Reader, Row, sent_row, total
from anello.account.verdict import Flaw, Word, source_flaws

FATES = {  # PacketCounter -> words
    "used": "used",
    "duplicates": "duplicate",
    "conflicting": "of a number that had come with other content",
    "strays": "far from the board's number",
    "strangers": "of strangers",
}
DISOWNED = "of an address that was not the board's"
NEVER_CAME = "never came"
OwnRows = Callable[[Reader], Iterator[Row]]


def malformed(node: Counters) -> list[Part]:
    """Datagrams that the node could not use at all, by verdict."""
    verdicts = node.get("receive.verdict", {})
    return [(f"malformed: {verdict}", n) for verdict, n in verdicts.items() if verdict != "ok"]


def losses(node: Counters) -> dict[str, int]:
    """Datagrams that arrived and were not used, by cause; causes without datagrams are left out."""
    fates = {words: total(node, "receive.board", name) for name, words in FATES.items() if name != "used"}
    return {words: n for words, n in (fates | dict(malformed(node))).items() if n}


def build_ledger(
    node_counters: Counters,
    source_counters: Counters | None,
    own_rows: OwnRows,
    *,
    n_boards: int,
    one_host: bool,
    made: MadeByBoard,
    came: CameByBoard,
) -> Ledger:
    """The ledger of the run. own_rows: the detector's rows on the packets used."""
    node, source = Reader(node_counters), Reader(source_counters) if source_counters is not None else None
    matches = {board: match for board in range(n_boards) if (match := _match(made.get(board), came.get(board)))}
    boards = [row for board in range(n_boards) for row in _board_rows(node, source, board, matches.get(board))]
    rows = [*_made_rows(source, matches, n_boards), *_datagram_rows(node, source, one_host), *own_rows(node)]
    lost = [loss for board, match in matches.items() for loss in _losses(board, match)]
    return Ledger(tuple(rows), tuple(boards), tuple(lost))


def _match(made: ListedAsMade | None, came: ListedAsCame | None) -> Matched | None:
    """Matches sent and received numbers. A board never restarts here, even where the node took a jump for a restart."""
    return (
        None if made is None or came is None else matched(SentNumbers.of(made), ReceivedNumbers.of(came).in_one_epoch())
    )


def _parts(match: Matched) -> list[Part]:
    return [("used", match.came), *((cause, match.n(cause)) for cause in CAUSES), (NEVER_CAME, size(match.never_came))]


def _made_rows(source: Reader | None, matches: Mapping[int, Matched], n_boards: int) -> Iterator[Row]:
    if source is None or len(matches) < n_boards:
        return
    sums: dict[str, int] = {}
    for words, n in (part for match in matches.values() for part in _parts(match)):
        sums[words] = sums.get(words, 0) + n
    yield source.row(
        "packets", "made by the boards", total(source.counters, "source.board", "packets"), [*sums.items()]
    )


def _datagram_rows(node: Reader, source: Reader | None, one_host: bool) -> Iterator[Row]:
    received = total(node.counters, "receive.port", "datagrams")
    named, foreign = (total(node.counters, "receive.board", name) for name in ("packets", "strangers"))
    if source and one_host:
        own = received - foreign - sum(n for _, n in malformed(node.counters))
        yield sent_row(node, source, own, foreign)
    yield node.row("datagrams", "that came", received, [("in the name of a board", named), *malformed(node.counters)])


def _board_rows(node: Reader, source: Reader | None, board: int, match: Matched | None) -> Iterator[Row]:
    block, where = f"receive.board{board}", f"board {board}: "
    fates = [(words, node(block, name)) for name, words in FATES.items()]
    yield node.row("datagrams", where + "well-formed packets", node(block, "packets"), fates)
    if source is None or match is None:
        return
    odd = size(match.never_made)
    problem = f"{odd} numbers came that the board did not make" if odd else ""
    yield source.row("packets", where + "made", source(f"source.board{board}", "packets"), _parts(match), problem)
    seen = [("by number", match.came + odd), (DISOWNED, node(block, "disowned"))]
    yield node.row("datagrams", where + "used", node(block, "used"), seen)


def _losses(board: int, match: Matched) -> Iterator[Loss]:
    for cause, numbers in [*((cause, match.causes[cause]) for cause in CAUSES), (NEVER_CAME, match.never_came)]:
        if numbers:
            yield Loss("packets", cause, size(numbers), cause in ORDERED, f"board {board}", numbers)


def flaws(node: Counters, source: Counters | None, duration_s: float) -> list[Flaw]:
    """What is wrong with the run, apart from the losses in the ledger."""
    duplicated = total(source or {}, "source.board", "packets_duplicated_injected") > 0
    ordered = {"duplicate": duplicated}
    found = [
        Flaw(
            f"packets {words}",
            n,
            ordered.get(words, False),
            Word.GOOD if words in ("duplicate", "of strangers") else Word.LOST,
        )
        for words, n in losses(node).items()
    ]
    disowned = total(node, "receive.board", "disowned")
    found += [Flaw(f"packets used {DISOWNED}", disowned)] if disowned else []
    return [*found, *source_flaws(source, duration_s)]
