# SPDX-License-Identifier: Apache-2.0
"""The ledger of this chain accounts for each datagram that a board made, by its number in its slice, and for each hit.

An epoch is a slice, because boards number their datagrams from 0 in each slice. A trailer is a datagram with a number.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anello.account.identity import (
    CAUSES,
    COUNTED,
    ORDERED,
    CameByBoard,
    ListedAsCame,
    ListedAsMade,
    MadeByBoard,
    Ranges,
    ReceivedNumbers,
    SentNumbers,
    difference,
    intersection,
    matched,
    ranges_of,
    size,
    union,
)
from anello.account.ledger import (
    Counters,
    Ledger,
    Loss,
    Part,
    Reader,
    Row,
    count_of,
    front_ends_in,
    numbered,
    sent_row,
    total,
)
from anello.account.verdict import DROP_POLICIES, Flaw, Word, incomplete_flaws, source_flaws

from ..configuration.config import Km3netConfig

# fmt: off
FATES = {  # words of each DomCounter, in the order of DomCounter from `used` on
    "used": "used", "duplicate": "duplicate", "conflicting": "of a number that had come with other hits",
    "late": "late", "ahead": "ahead of the other DOMs", "other_run": "of another run",
    "wrong_time": "of no slice's time", "no_clock": "of a clock that is not valid",
    "beyond": "with a number beyond a slice's", "no_room": "without room for their hits",
    "no_buffer": "without a free buffer", "strangers": "of strangers",
}
# fmt: on
FIRST_FATE = 1  # position of `used` among the counters of a DOM
COSTS_NOTHING = ("duplicate", FATES["strangers"])
FRAMES = {"frames_complete": "complete", "frames_incomplete": "incomplete", "frames_absent": "absent"}
NEVER_CAME = "never came"


def losses(node: Counters) -> dict[str, int]:
    """Number of datagrams that were received but not used, by cause; causes without datagrams are left out."""
    counts = {words: total(node, "build.board", name) for name, words in FATES.items() if name != "used"}
    counts |= {f"malformed: {verdict}": n for verdict, n in node.get("build.verdict", {}).items() if verdict != "ok"}
    return {words: n for words, n in counts.items() if n}


@dataclass(frozen=True)
class DomAccount:
    """The datagrams of one DOM by number: all that its board made, split into disjoint parts by their fate."""

    made: Ranges
    parts: Mapping[str, Ranges]
    never_made: Ranges  # numbers that the node received but the board did not make

    @classmethod
    def of(cls, made: ListedAsMade, came: ListedAsCame) -> "DomAccount | None":
        """Returns None when one of the two lists is incomplete."""
        own, here = SentNumbers.of(made), ReceivedNumbers.of(came)
        match = matched(own, here)
        if match is None:
            return None
        left = match.never_came
        parts = {"used": intersection(own.numbers, here.seen)} | {cause: match.causes[cause] for cause in CAUSES}
        for index, words in list(enumerate(FATES.values(), FIRST_FATE))[1:]:
            unused = intersection(left, union(ranges_of(came["unused"], index)))
            parts[words], left = unused, difference(left, unused)
        return cls(own.numbers, parts | {NEVER_CAME: left}, match.never_made)


@dataclass(frozen=True)
class DomLedger:
    """The ledger's rows for one DOM."""

    node: Reader
    source: Reader | None
    dom: int
    account: DomAccount | None

    def rows(self) -> Iterator[Row]:
        block, where = f"build.board{self.dom}", f"board {self.dom}: "
        fates = [(words, self.node(block, name)) for name, words in FATES.items()]
        yield self.node.row("datagrams", where + "well-formed", self.node(block, "datagrams"), fates)
        frames = [(words, self.node(block, name)) for name, words in FRAMES.items()]
        yield self.node.row("frames", where + "slices passed on", self.node("build", "slices"), frames)
        if self.account is None or self.source is None:
            return
        n_made = self.source(f"source.board{self.dom}", "packets")
        parts: list[Part] = [(words, size(numbers)) for words, numbers in self.account.parts.items()]
        odd = size(self.account.never_made)
        problem = f"{odd} numbers came that the board did not make" if odd else ""
        yield self.source.row("datagrams", where + "made", n_made, parts, problem)
        seen: list[Part] = [("by number", size(self.account.parts["used"]) + odd)]
        yield self.node.row("datagrams", where + "used", self.node(block, "used"), seen)

    def losses(self) -> Iterator[Loss]:
        for cause in (*CAUSES, NEVER_CAME) if self.account else ():
            numbers = self.account.parts[cause] if self.account else ()
            if numbers:
                yield Loss("datagrams", cause, size(numbers), cause in ORDERED, f"board {self.dom}", numbers)


def build_ledger(
    node_counters: Counters,
    source_counters: Counters | None,
    *,
    n_doms: int,
    one_host: bool,
    made: MadeByBoard,
    came: CameByBoard,
) -> Ledger:
    """All rows that the available counters and lists allow."""
    node, source = Reader(node_counters), Reader(source_counters) if source_counters is not None else None
    doms = [
        DomLedger(node, source, dom, DomAccount.of(made[dom], came[dom]) if dom in made and dom in came else None)
        for dom in range(n_doms)
    ]
    frames = {words: total(node.counters, "build.board", name) for name, words in FRAMES.items()}
    rows = [
        *_datagram_rows(node, source, doms, one_host),
        _slices_row(node),
        *_frame_rows(node, node("build", "slices"), n_doms, frames),
        *_made_rows(node, source, doms),
        _used_hits_row(node),
        _hits_row(node, node("build", "hits")),
        *_message_rows(node),
    ]
    boards = tuple(row for dom in doms for row in dom.rows())
    return Ledger(tuple(rows), boards, tuple(loss for dom in doms for loss in dom.losses()))


def _datagram_rows(node: Reader, source: Reader | None, doms: list[DomLedger], one_host: bool) -> Iterator[Row]:
    accounts = [dom.account for dom in doms if dom.account]
    if source and len(accounts) == len(doms):
        words = accounts[0].parts
        parts = [(one, sum(size(account.parts[one]) for account in accounts)) for one in words]
        n_made = total(source.counters, "source.board", "packets")
        yield source.row("datagrams", "made by the boards", n_made, parts)
    received = total(node.counters, "receive.port", "datagrams")
    if source and one_host:
        yield _sent_row(node, source)
    verdicts = node.counters.get("build.verdict", {})
    malformed: list[Part] = [(f"malformed: {name}", n) for name, n in verdicts.items() if name != "ok"]
    named = total(node.counters, "build.board", "datagrams")
    yield node.row("datagrams", "that came", received, [("in the name of a DOM", named), *malformed])


def _sent_row(node: Reader, source: Reader) -> Row:
    others = losses(node.counters)
    strangers = others.get(FATES["strangers"], 0)
    spoilt = sum(n for words, n in others.items() if words.startswith("malformed"))
    received = total(node.counters, "receive.port", "datagrams")
    return sent_row(node, source, received - strangers - spoilt, strangers)


def _slices_row(node: Reader) -> Row:
    parts = [(words, node("build", f"slices_{words}")) for words in ("complete", "incomplete")]
    return node.row("frames", "slices passed on", node("build", "slices"), parts)


def _frame_rows(node: Reader, slices: int, n_doms: int, frames: Mapping[str, int]) -> Iterator[Row]:
    """Rows of the slices and frames of all DOMs, from the slice builder to the trigger."""
    yield node.row("frames", "slices looked at", slices, [("by the trigger", node("trigger", "slices"))])
    yield node.row("frames", "of all DOMs", slices * n_doms, list(frames.items()))
    kinds = ("used", "incomplete", "out_of_range", "out_of_order")
    looked_at: list[Part] = [(kind.replace("_", " "), node("trigger", f"frames_{kind}")) for kind in kinds]
    yield node.row("frames", "with data", slices * n_doms - frames["absent"], looked_at)


def _made_rows(node: Reader, source: Reader | None, doms: list[DomLedger]) -> Iterator[Row]:
    if source and all(dom.account and dom.account.parts["used"] == dom.account.made for dom in doms):
        made = total(source.counters, "source.board", "hits")
        yield source.row("hits", "made by the boards", made, [("in slices", node("build", "hits"))])


def _used_hits_row(node: Reader) -> Row:
    used = total(node.counters, "build.board", "hits")
    return node.row("hits", "in datagrams used", used, [("in slices", node("build", "hits"))])


def _hits_row(node: Reader, in_slices: int) -> Row:
    parts = [(words, node("trigger", f"hits_{words}")) for words in ("used", "continued", "rejected")]
    return node.row("hits", "in slices", in_slices, parts)


def _message_rows(node: Reader) -> Iterator[Row]:
    if "store" not in node.counters:
        return
    made = 2 * node("trigger", "slices") + node("trigger", "events")
    parts = [(name.replace("_", " "), node("store", name)) for name in ("written", "without_room", "lost")]
    yield node.row("records", "messages, two of a slice and one of an event", made, parts)


# --- A node of a farm: its own DOMs before the exchange, slices of all DOMs after it --------------------------------
NOT_PACKED = {
    "before_start": "before the first packet",
    "after_end": "after the last packet",
    "left": "left, no room by the end",
}


def readout_rows(counters: Counters) -> Iterator[Row]:
    """Rows of a readout unit. `counters` includes those of the front ends that the node started, if any."""
    node = Reader(counters)
    source = Reader(counters) if front_ends_in(counters) else None
    numbers = [int(rest) for block in counters if (rest := block.removeprefix("build.board")).isdigit()]
    doms = [DomLedger(node, None, dom, None) for dom in sorted(numbers)]
    yield from _datagram_rows(node, source, doms, one_host=source is not None)
    yield from (row for dom in doms for row in dom.rows() if row.problem)  # errors of two DOMs can cancel in a sum
    fates, frames = (
        [(words, total(counters, "build.board", name)) for name, words in names.items()] for names in (FATES, FRAMES)
    )
    yield node.row("datagrams", "in the name of a DOM", total(counters, "build.board", "datagrams"), fates)
    yield node.row("frames", "of this node's DOMs", node("build", "slices") * len(doms), frames)
    yield from (_slices_row(node), _used_hits_row(node))
    parts = [(words, node("slice_pack", f"slices_{name}")) for name, words in NOT_PACKED.items()]
    packed = ("packed", node("slice_pack", "slices_packed"))
    yield node.row("parts", "slices passed on", node("build", "slices"), [("taken", node("slice_pack", "slices_in"))])
    yield node.row("parts", "slices taken", node("slice_pack", "slices_in"), [packed, *parts])
    hits = [("packed", node("slice_pack", "hits")), ("in slices dropped", node("slice_pack", "hits_dropped"))]
    yield node.row("hits", "in slices taken", node("build", "hits"), hits)


def farm_board_losses(node: Counters, *, by_now: bool) -> Iterator[Loss]:
    """Datagrams that boards of a node of a farm made and the node did not receive: how many, not which."""
    for board, block in numbered(node, "source.board"):
        for cause, name in COUNTED.items():
            if n := block.get(f"packets_{name}", 0):
                yield Loss("datagrams", cause, n, cause in ORDERED, f"board {board}")
    dropped = total(node, "receive.port", "kernel_dropped")
    gone = [("dropped by the kernel", dropped)]
    if front_ends_in(node) and not by_now:
        gone = list(_sent_row(Reader(node), Reader(node)).parts[1:])
    yield from (Loss("datagrams", words, n) for words, n in gone if n)


def builder_rows(counters: Counters) -> Iterator[Row]:
    node = Reader(counters)

    def found(name: str) -> int:
        return node("slice_unpack", name)

    handed_on = node("builder", "meps_complete") + node("builder", "meps_incomplete")
    yield node.row("MEPs", "handed on", handed_on, [("taken", found("meps"))])
    slices = found("slices_out")
    yield node.row(
        "frames", "places in MEPs", found("places"), [("passed on", slices), ("empty", found("places_empty"))]
    )
    joined = [
        ("joined", found("parts_joined")),
        ("malformed", found("parts_malformed")),
        ("of other DOMs, slices or runs", found("parts_of_other")),
    ]
    yield node.row("parts", "in MEPs", found("parts_in"), joined)
    ends = [(words, found(f"slices_{words}")) for words in ("complete", "incomplete")]
    yield node.row("frames", "slices of all DOMs", slices, ends)
    frames = {words: found(name) for name, words in FRAMES.items()}
    n_doms = sum(frames.values()) // slices if slices else 0
    yield from _frame_rows(node, slices, n_doms, frames)
    yield _hits_row(node, found("hits"))
    yield from _message_rows(node)


def farm_hits_rows(nodes: Sequence[Counters]) -> Iterator[Row]:
    """The row exists only when builders joined every part that they received: hits packed = hits in slices."""
    joined, parts, hits = (
        sum(node.get("slice_unpack", {}).get(name, 0) for node in nodes)
        for name in ("parts_joined", "parts_in", "hits")
    )
    if joined == parts:
        packed = sum(node.get("slice_pack", {}).get("hits", 0) for node in nodes)
        yield Reader({}).row("hits", "packed by all nodes", packed, [("in slices", hits)])


NODE_FLAWS = {  # words of each (block, counter)
    ("trigger", "frames_out_of_range"): "frames rejected, hits out of range",
    ("trigger", "frames_out_of_order"): "frames rejected, hits out of order",
    ("trigger", "l1_not_looked_at"): "L1 not looked at for events",
    ("store", "without_room"): "messages without room",
    ("store", "lost"): "messages lost, the file refused",
}


def node_flaws(node: Counters) -> list[Flaw]:
    return [
        Flaw(words, n, word=Word.DEGRADED if name == "l1_not_looked_at" else Word.LOST)
        for (block, name), words in NODE_FLAWS.items()
        if (n := count_of(node, block, name))
    ]


def flaws(node: Counters, source: Counters | None, config: Km3netConfig, ledger: Ledger) -> list[Flaw]:
    """Everything that is wrong with the run, apart from the losses in the ledger."""
    duplicated = total(source or {}, "source.board", "packets_duplicated_injected") > 0
    ordered = {"duplicate": duplicated, FATES["no_buffer"]: config.receive.policy in DROP_POLICIES}
    found = [
        Flaw(f"datagrams {words}", n, ordered.get(words, False), Word.GOOD if words in COSTS_NOTHING else Word.LOST)
        for words, n in losses(node).items()
    ]
    found += node_flaws(node)
    found += source_flaws(source, config.run.duration_s)
    silences = [name for name, block in node.items() if block.get("silences")]
    found += [Flaw(f"{name.removeprefix('build.')} fell silent", word=Word.GOOD) for name in silences]
    incomplete = incomplete_flaws(node.get("build", {}).get("slices_incomplete", 0), ledger, found)
    return [*found, *(replace(one, words="slices incomplete") for one in incomplete)]
