# SPDX-License-Identifier: Apache-2.0
"""The ledger of a farm: every part that a node generated, sent, received, and every packet that was built or lost.

Each node has its own rows (Ledger.boards); the display shows their sums. MFP: a node's part of a multi-event packet,
MEP. Reports of two nodes on the same thing are matched by identity: messages by the numbers that their sender gave
them, packets by theirs. No part is calculated as a mere remainder: a remainder is `unexplained`, and its row does not
balance.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anello.account.ledger import Counters, Ledger, Loss, Part, Reader, Row, publish_rows
from anello.exchange.account.detector_part import ExchangeLosses, detector_parts
from anello.exchange.account.numbers import Account, ReceivedAccount, ReportedAccount, SentAccount, short_life

DISCARDED = {
    "mfps_malformed": "discarded, malformed", "mfps_wrong": "discarded, of another source or event",
    "mfps_late": "discarded, late", "mfps_duplicate": "discarded, come twice",
    "mfps_unexpected": "discarded, unexpected", "mfps_cut": "come in part only",
}  # fmt: skip
LOST_ON_THE_WAY = "lost on the way"
UNDER_WAY = "under way when the node ended"
UNEXPLAINED = "unexplained"
CONSIDERED_DEAD = "built, and considered dead"
KEPT_BACK = {
    "mfps_lost": "lost by the transport", "mfps_lost_to_dead_builder": "not sent, the builder was gone",
    "mfps_too_late": "not sent, too late", "mfps_before_start": "not sent, before this node's start",
    "mfps_left_at_end": "left at the end",
}  # fmt: skip
OPEN = "without an outcome when the manager ended"
MISSING = {
    "sources_absent": "their source had none", "sources_gone": "their source was gone, or had not come",
    "sources_spoilt": "come in part, malformed or wrong", "sources_timed_out": "not there in time",
}  # fmt: skip
OUTCOMES = {
    "meps_complete": "built complete", "meps_incomplete": "built incomplete",
    "meps_lost_with_builder": "lost with their builder, as assumed", "meps_open_at_end": OPEN,
}  # fmt: skip


@dataclass(frozen=True)
class NodeCounters:
    """The counters and account of one node. has_left: it left before the end, so that others considered it dead."""

    rank: int
    roles: str  # em, ru, bu, joined by +
    counters: Counters
    has_left: bool = False
    account: Account = field(default_factory=Account)

    def is_a(self, role: str) -> bool:
        return role in self.roles.split("+")


@dataclass(frozen=True)
class Reconciled:
    """Packets assigned to a builder that the manager has no report on: those that the builder did build, according
    to the numbers in its last report, and those whose fate is unknown."""

    n_complete: int = 0
    n_incomplete: int = 0
    n_unknown: int = 0

    def __add__(self, other: "Reconciled") -> "Reconciled":
        return Reconciled(self.n_complete + other.n_complete, self.n_incomplete + other.n_incomplete,
                          self.n_unknown + other.n_unknown)  # fmt: skip


def reconciled(nodes: Sequence[NodeCounters], *, lost: bool) -> Reconciled:
    """Reconciles the reports. lost: of builders that the manager counts as lost; otherwise of those that lived when
    it ended."""
    return sum((_reconcile(nodes, report) for report in _reports(nodes) if report.is_lost == lost), Reconciled())


def _reconcile(nodes: Sequence[NodeCounters], report: ReportedAccount) -> Reconciled:
    found = [n_missing for node in nodes if (node.rank, node.account.life) == (report.rank, report.life)
             for mep, n_missing in node.account.handed_on.items() if mep in report.unreported]  # fmt: skip
    return Reconciled(found.count(0), len(found) - found.count(0), len(report.unreported) - len(found))


def _reports(nodes: Sequence[NodeCounters]) -> Iterator[ReportedAccount]:
    for node in _took_over(nodes) or nodes:
        yield from node.account.builders


def _took_over(nodes: Sequence[NodeCounters]) -> list[NodeCounters]:
    """The standby, if it took over: its account is then the farm's."""
    return [node for node in nodes if node.counters.get("manager", {}).get("takeovers")]


def _in_charge(nodes: Sequence[NodeCounters]) -> list[NodeCounters]:
    """The node whose account is valid: the event manager, or the standby if it took over. A manager that restarted
    after that does not count."""
    return _took_over(nodes) or [node for node in nodes if node.is_a("em") and "manager" in node.counters]


def build_exchange_ledger(
    nodes: Sequence[NodeCounters], *, absent: Mapping[int, str] | None = None, may_lose: bool = False
) -> Ledger:
    """The ledger of a finished run. absent: nodes whose last record is missing, and why; may_lose: the transport may
    lose messages."""
    rows_of_nodes = _rows_of_all(nodes)
    farm = _Farm(nodes, absent or {}, may_lose=may_lose)
    losses = tuple(board_losses(nodes, by_now=False))
    return Ledger(rows=(*_sums(rows_of_nodes), *farm.rows()), boards=tuple(rows_of_nodes), losses=losses)


def live_ledger(nodes: Sequence[NodeCounters], *, may_lose: bool) -> Ledger:
    """The ledger of a farm that still runs, from counters only: the rows of the living nodes, and their reports on
    each other. Rows that need the final accounts of nodes are left out."""
    living = [node for node in nodes if not node.has_left]
    farm = _Farm(nodes, {}, may_lose=may_lose)
    rows = (*_sums(_rows_of_all(living)), *farm.live_rows())
    return Ledger(tuple(_without_unexplained(row) for row in rows))


def board_losses(nodes: Sequence[NodeCounters], *, by_now: bool) -> Iterator[Loss]:
    """What boards made and their nodes did not receive, node by node. by_now: the farm still runs."""
    for node in nodes:
        for part in detector_parts():
            for loss in part.board_losses(node.counters, by_now=by_now):
                yield replace(loss, where=f"{loss.where} of node {node.rank}" if loss.where else f"node {node.rank}")


def _sums(rows: Sequence[Row]) -> Iterator[Row]:
    """Equal rows of all nodes added to one row. A fault of a node is shown in its own row."""
    by_name: dict[tuple[str, str, str], list[Row]] = {}  # the same total may be split in several ways
    for row in rows:
        by_name.setdefault((row.level, row.name.partition(": ")[2], row.parts[0][0]), []).append(row)
    for (level, name, _), same in by_name.items():
        parts: dict[str, int] = {}
        for row in same:
            for label, value in row.parts:
                parts[label] = parts.get(label, 0) + value
        yield Row(level, f"all nodes: {name}", sum(row.total for row in same), tuple(parts.items()))


def _rows_of_all(nodes: Sequence[NodeCounters]) -> list[Row]:
    in_charge = _in_charge(nodes)
    return [row for node in nodes for row in _rows_of(node, manages=node in in_charge)]


def _rows_of(node: NodeCounters, *, manages: bool) -> Iterator[Row]:
    """The rows that need only this node's counters."""
    reader = Reader(node.counters)

    def row(level: str, name: str, total: int, parts: list[Part]) -> Row:
        return reader.row(level, f"node {node.rank}: {name}", total, parts)

    if node.is_a("ru"):
        taken = reader("readout", "mfps_taken")
        sources = {block: word for part in detector_parts() for block, word in part.packs.items()}
        sources["generator"] = "generated"
        source = next((block for block in sources if block in node.counters), "generator")
        word = sources[source]
        yield row("MFPs", word, reader(source, "mfps"), [("taken for sending", taken)])
        kept_back = [(words, reader("readout", name)) for name, words in KEPT_BACK.items()]
        yield row(
            "MFPs",
            "taken for sending",
            taken,
            [
                ("sent", reader("readout", "mfps_sent")),
                *kept_back,
                (UNDER_WAY, reader("readout", "mfps_in_flight_at_end")),
            ],
        )
    if manages:
        outcomes = [(words, reader("manager", name)) for name, words in OUTCOMES.items()]
        yield row("MEPs", "assigned, as the manager counts", reader("manager", "meps_assigned"), outcomes)
    for part in detector_parts():
        yield from _named(node.rank, part.rows_of_node(node.counters))
    if node.is_a("bu"):
        ends = [("complete", reader("builder", "meps_complete")), ("incomplete", reader("builder", "meps_incomplete"))]
        left = ("not handed on by the end", reader("builder", "meps_left"))
        yield row("MEPs", "begun by builders", reader("builder", "meps_opened"), [*ends, left])
        missing = [(words, reader("builder", name)) for name, words in MISSING.items()]
        yield row("parts", "that packets lack", reader("builder", "sources_missing"), missing)
        yield from _stored_rows(node.rank, node.counters, sum(value for _, value in ends))
        verified = [("right", reader("builder", "fragments_ok")),
                    ("with a wrong checksum", reader("builder", "fragments_wrong_checksum"))]  # fmt: skip
        yield row("fragments", "verified", reader("builder", "fragments_verified"), verified)
        if not node.has_left:
            yield from _named(node.rank, publish_rows(reader, "MEPs handed on", sum(n for _, n in ends)))
    for part in () if node.has_left else detector_parts():
        yield from _named(node.rank, part.rows_of_node_at_end(node.counters))


def _named(rank: int, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        yield replace(row, name=f"node {rank}: {row.name}")


def _stored_rows(rank: int, counters: Counters, n_handed_on: int) -> Iterator[Row]:
    """Rows of packets that are stored without further processing."""
    if "mep_store" not in counters:
        return
    reader = Reader(counters)
    taken = reader("mep_store", "meps_taken")
    yield reader.row("MEPs", f"node {rank}: handed on to the file", n_handed_on, [("taken", taken)])
    ends = [("written", reader("mep_store", "meps_written")), ("not written", reader("mep_store", "meps_lost"))]
    yield reader.row("MEPs", f"node {rank}: taken by the file", taken, ends)


class _Farm:
    """The rows that need the counters of all nodes."""

    def __init__(self, nodes: Sequence[NodeCounters], absent: Mapping[int, str], *, may_lose: bool) -> None:
        lost = {(report.rank, report.life) for report in _reports(nodes) if report.is_lost}
        # A node that the manager considered dead has left the farm, even if it leads the run and writes the report.
        self._nodes = [replace(node, has_left=True) if (node.rank, node.account.life) in lost else node
                       for node in nodes]  # fmt: skip
        self._in_charge = _in_charge(self._nodes)
        self._may_lose = may_lose
        self._some_are_gone = bool(absent) or any(node.has_left for node in self._nodes)
        self._reader = Reader({})  # collects the missing counters

    def rows(self) -> Iterator[Row]:
        yield self._transport_row()
        yield from self._broken_row()
        if self._in_charge:
            yield self._assigned_row()
            yield self._reported_row("complete")
            yield self._reported_row("incomplete")
            yield from self._last_words_rows()
        elif not self._some_are_gone:
            self._reader.missing.extend(f"node{node.rank}.manager" for node in self._nodes if node.is_a("em"))
        for part in detector_parts():
            yield from part.rows_of_farm([node.counters for node in self._nodes], self._gone())

    def live_rows(self) -> Iterator[Row]:
        yield self._transport_row()
        if not self._some_are_gone and self._in_charge:
            yield self._reported_row("complete")
            yield self._reported_row("incomplete")

    def _gone(self) -> ExchangeLosses:
        taken, received = self._of("ru", "readout", "mfps_taken"), self._of("bu", "builder", "mfps_received")
        return ExchangeLosses(self._some_are_gone, taken != received, self._n_mfps_lost > 0)

    def _transport_row(self) -> Row:
        """The row between nodes that lived to the end; messages from and to other nodes are subtracted on both
        sides."""
        sent = self._living("ru", "readout", "mfps_sent") - self._living("ru", "readout", "sent_to_dead_builder")
        of_dead = self._living("bu", "builder", "taken_from_dead_readout")
        twice = self._living("bu", "builder", "mfps_repeated")
        parts = [("received", self._living("bu", "builder", "mfps_received"))]
        parts += [(words, self._living("bu", "builder", name)) for name, words in DISCARDED.items()]
        pairs = list(self._pairs(is_up=True))
        in_flight = sum(sent.n_in_flight for sent, _ in pairs)
        under_way = self._n_under_way()
        if in_flight or under_way:
            parts.append((UNDER_WAY, under_way))
        if self._may_lose:
            after_the_last = sum(sent.number - received.newest for sent, received in pairs) - under_way
            parts.append((LOST_ON_THE_WAY, self._living("bu", "builder", "mfps_never_came") + after_the_last))
        name = "sent to nodes that lived to the end"
        if of_dead:
            name = "sent, and come from nodes that are gone"
        if twice:
            name += ", and come twice"
        if in_flight:
            name += ", and under way"
        return self._row("MFPs", name, sent + self._one_sided() + in_flight + of_dead + twice, parts)

    def _n_under_way(self) -> int:
        """Number of messages in transit, with numbers above the last one received: those that the sender has no
        completion for, or, where the transport loses nothing, those whose packets the builder no longer waited
        for."""
        behind: dict[int, int] = {}
        excused: dict[int, int] = {}
        builders = [node for node in self._nodes if node.is_a("bu") and not node.has_left]
        timed_out = {} if self._may_lose else {
            node.rank: self._read(node, "builder", "sources_timed_out") for node in builders}  # fmt: skip
        for sender, builder, sent, received in self._known_pairs():
            if not self._lasts(sender, builder, sent, received):
                continue
            rank = builder.rank
            behind[rank] = behind.get(rank, 0) + sent.number - received.newest
            n_in_flight = min(sent.n_in_flight, sent.number - received.newest)
            excused[rank] = excused.get(rank, timed_out.get(rank, 0)) + n_in_flight
        return sum(min(n, excused[rank]) for rank, n in behind.items())

    def _one_sided(self) -> int:
        """Number of messages counted on one side only, on connections that this side did not close: the last
        acknowledgements were lost and one side took the other for dead at its end, or the other side died
        unnoticed as the run ended. Taken from the numbers that this side knows."""
        taken: set[tuple[int, int, int]] = set()  # rank and life of the sender, and the receiver
        given: set[tuple[int, int, int]] = set()
        for sender, builder, sent, received in self._known_pairs():
            if sender.has_left or builder.has_left:
                continue
            if received.is_up:
                taken.add((sender.rank, sender.account.life, builder.rank))
            if sent.is_up:
                given.add((builder.rank, builder.account.life, sender.rank))
        difference = 0
        for node in self._nodes:
            if node.has_left:
                continue
            who = (node.rank, node.account.life)
            difference += sum(sent.n_in_flight - sent.number for rank, sent in node.account.sent_to.items()
                              if sent.is_up and (*who, rank) not in taken)  # fmt: skip
            difference += sum(received.n_come + received.n_given_up for rank, received in node.account.come_from.items()
                              if received.is_up and (*who, rank) not in given)  # fmt: skip
        return difference

    def _broken_row(self) -> Iterator[Row]:
        """The row over connections that broke, for which both sides have left an account."""
        pairs = list(self._pairs(is_up=False))
        total = sum(sent.number for sent, _ in pairs)
        if not total:
            return
        parts = [("come", sum(received.n_come for _, received in pairs)),
                 ("under way at its end", sum(sent.number - received.newest for sent, received in pairs))]  # fmt: skip
        if self._may_lose:
            parts.append((LOST_ON_THE_WAY, sum(received.n_given_up for _, received in pairs)))
        yield self._row("MFPs", "sent over connections that broke or were left", total, parts)

    def _pairs(self, *, is_up: bool) -> Iterator[tuple[SentAccount, ReceivedAccount]]:
        """Both sides of connections; is_up: those that lasted to the end of the run on both sides."""
        for sender, builder, sent, received in self._known_pairs():
            if self._lasts(sender, builder, sent, received) == is_up:
                yield sent, received

    @staticmethod
    def _lasts(sender: NodeCounters, builder: NodeCounters, sent: SentAccount, received: ReceivedAccount) -> bool:
        return sent.is_up and received.is_up and not sender.has_left and not builder.has_left

    def _known_pairs(self) -> Iterator[tuple[NodeCounters, NodeCounters, SentAccount, ReceivedAccount]]:
        """Sender, receiver, and the accounts of both sides. Numbers of a process that died and was replaced are not
        compared."""
        nodes: dict[int, list[NodeCounters]] = {}
        for node in self._nodes:
            nodes.setdefault(node.rank, []).append(node)
        for sender in self._nodes:
            for rank, sent in sender.account.sent_to.items():
                for builder in nodes.get(rank, []):
                    received = builder.account.come_from.get(sender.rank)
                    if received and _is_of(sent.to_life, builder.account) and _is_of(received.of_life, sender.account):
                        yield sender, builder, sent, received

    def _assigned_row(self) -> Row:
        total = self._of_manager("meps_assigned")
        of_lost, of_living = (reconciled(self._nodes, lost=lost) for lost in (True, False))
        found, not_noted = of_lost + of_living, self._of_manager("lost_and_not_noted")
        parts = [("built complete", self._of_manager("meps_complete")),
                 ("built incomplete", self._of_manager("meps_incomplete")),
                 ("built complete, reported afterwards", found.n_complete),
                 ("built incomplete, reported afterwards", found.n_incomplete),
                 ("lost with their builder", of_lost.n_unknown), (OPEN, of_living.n_unknown),
                 ("lost with builders beyond those noted", not_noted)]  # fmt: skip
        return self._row("MEPs", "assigned", total, parts)

    @property
    def _n_mfps_lost(self) -> int:
        kept_back = sum(self._of("ru", "readout", name) for name in KEPT_BACK)
        return kept_back + sum(self._of("bu", "builder", name) for name in DISCARDED)

    def _reported_row(self, end: str) -> Row:
        """Packets reported to the manager, builder by builder, against the records of builders that have left a
        final one."""
        total = self._of_manager(f"meps_{end}")
        lives = {(node.rank, node.account.life) for node in self._nodes if not node.has_left and node.is_a("bu")}
        afterwards = sum((_reconcile(self._nodes, report) for report in _reports(self._nodes)
                          if not report.is_lost and (report.rank, report.life) in lives), Reconciled())  # fmt: skip
        n_after = afterwards.n_complete if end == "complete" else afterwards.n_incomplete
        of_others = sum(_count_of(report, end) for report in _reports(self._nodes)
                        if report.is_lost or (report.rank, report.life) not in lives)  # fmt: skip
        parts = [("handed on by builders", self._living("bu", "builder", f"meps_{end}")),
                 ("by builders that are gone, as they reported", of_others)]  # fmt: skip
        return self._row("MEPs", f"built {end}", total + n_after, parts)

    def _last_words_rows(self) -> Iterator[Row]:
        """Builders that were considered dead but continued: the packets that they built, by their own account."""
        lost = {(report.rank, report.life): report for report in _reports(self._nodes) if report.is_lost}
        for node in self._nodes:
            report = lost.get((node.rank, node.account.life))
            if not report or not node.is_a("bu"):
                continue
            reader = Reader(node.counters)
            total = reader("builder", "meps_complete") + reader("builder", "meps_incomplete")
            after = sum(mep in report.unreported for mep in node.account.handed_on)
            parts = [("reported before", report.n_complete + report.n_incomplete), ("reported afterwards", after)]
            yield _with_unexplained(reader.row("MEPs", f"node {node.rank}: {CONSIDERED_DEAD}", total, parts))

    def _of(self, role: str, block: str, name: str) -> int:
        return sum(self._read(node, block, name) for node in self._nodes if node.is_a(role))

    def _of_manager(self, name: str) -> int:
        return sum(self._read(node, "manager", name) for node in self._in_charge)

    def _living(self, role: str, block: str, name: str) -> int:
        return sum(self._read(node, block, name) for node in self._nodes if node.is_a(role) and not node.has_left)

    def _read(self, node: NodeCounters, block: str, name: str) -> int:
        try:
            return int(node.counters[block][name])
        except KeyError:
            self._reader.missing.append(f"node{node.rank}.{block}.{name}")
            return 0

    def _row(self, level: str, name: str, total: int, parts: list[Part]) -> Row:
        return _with_unexplained(self._reader.row(level, name, total, parts))


def _with_unexplained(row: Row) -> Row:
    """The row with an extra part for what neither side accounts for; this part does not make it balance."""
    difference = row.total - sum(value for _, value in row.parts)
    return replace(row, parts=(*row.parts, (UNEXPLAINED, difference))) if difference else row


def _without_unexplained(row: Row) -> Row:
    """The row without the part for messages in transit."""
    return replace(row, parts=tuple(part for part in row.parts if part[0] != UNEXPLAINED))


def _is_of(life: int, account: Account) -> bool:
    """True if the account is of this process. 0: of no process yet, or unknown."""
    return life in (0, short_life(account.life))


def _count_of(report: ReportedAccount, end: str) -> int:
    return report.n_complete if end == "complete" else report.n_incomplete
