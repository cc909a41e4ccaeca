# SPDX-License-Identifier: Apache-2.0
"""The ledger of a farm: every part that a node generated, sent, received, and every packet that was built or lost.

Each node has its own rows (Ledger.boards), people are shown their sums. MFP: a node's part of a multi-event packet,
MEP. The transport's row joins what senders and receivers that lived to the end say of each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anello.camera.ledger import farm_node_rows, farm_rows
from anello.exchange import rich_ledger
from anello.ledger import Counters, Ledger, Part, Reader, Row, publish_rows

DISCARDED = {
    "mfps_malformed": "discarded, malformed", "mfps_wrong": "discarded, of another source or event",
    "mfps_late": "discarded, late", "mfps_duplicate": "discarded, come twice",
    "mfps_unexpected": "discarded, unexpected",
}  # fmt: skip
KEPT_BACK = {
    "mfps_lost": "lost by the transport", "mfps_lost_to_dead_builder": "not sent, the builder was gone",
    "mfps_too_late": "not sent, too late", "mfps_before_start": "not sent, before this node's start",
    "mfps_left_at_end": "left at the end",
}  # fmt: skip
MANAGED = {
    "meps_complete": "built complete", "meps_incomplete": "built incomplete",
    "meps_lost_with_builder": "lost with their builder",
}  # fmt: skip


@dataclass(frozen=True)
class NodeCounters:
    """What a ledger needs of a node. has_left: it went before the end, so that others took it for dead."""

    rank: int
    roles: str  # em, ru, bu, joined by +
    counters: Counters
    has_left: bool = False

    def is_a(self, role: str) -> bool:
        return role in self.roles.split("+")


def build_exchange_ledger(
    nodes: Sequence[NodeCounters], *, absent: Mapping[int, str] | None = None, may_lose: bool = False
) -> Ledger:
    """absent: nodes whose last record is missing, and why; may_lose: the transport does not deliver everything."""
    rows_of_nodes = [row for node in nodes for row in _rows_of(node)]
    farm = _Farm(nodes, bool(absent) or any(node.has_left for node in nodes), may_lose)
    return Ledger(rows=(*_sums(rows_of_nodes), *farm.rows()), boards=tuple(rows_of_nodes))


def _sums(rows: Sequence[Row]) -> Iterator[Row]:
    """The same row of all nodes as one. What is wrong with a node stands in its own row."""
    by_name: dict[tuple[str, str, str], list[Row]] = {}  # the same total may be taken apart in several ways
    for row in rows:
        by_name.setdefault((row.level, row.name.partition(": ")[2], row.parts[0][0]), []).append(row)
    for (level, name, _), same in by_name.items():
        parts: dict[str, int] = {}
        for row in same:
            for label, value in row.parts:
                parts[label] = parts.get(label, 0) + value
        yield Row(level, f"all nodes: {name}", sum(row.total for row in same), tuple(parts.items()))


def _rows_of(node: NodeCounters) -> Iterator[Row]:
    """Of one node by itself; only what it knows alone."""
    reader = Reader(node.counters)

    def row(level: str, name: str, total: int, parts: list[Part]) -> Row:
        return reader.row(level, f"node {node.rank}: {name}", total, parts)

    if node.is_a("ru"):
        taken = reader("readout", "mfps_taken")
        sources = {"pack": "packed", "framer": "framed", "generator": "generated"}
        source = next((block for block in sources if block in node.counters), "generator")
        word = sources[source]
        yield row("MFPs", word, reader(source, "mfps"), [("taken for sending", taken)])
        kept_back = [(words, reader("readout", name)) for name, words in KEPT_BACK.items()]
        yield row("MFPs", "taken for sending", taken, [("sent", reader("readout", "mfps_sent")), *kept_back])
    yield from rich_ledger.node_rows(node.rank, node.counters)
    if node.is_a("bu"):
        ends = [("complete", reader("builder", "meps_complete")), ("incomplete", reader("builder", "meps_incomplete"))]
        yield row("MEPs", "handed on", sum(value for _, value in ends), ends)
        verified = [("right", reader("builder", "fragments_ok")),
                    ("with a wrong checksum", reader("builder", "fragments_wrong_checksum"))]  # fmt: skip
        yield row("fragments", "verified", reader("builder", "fragments_verified"), verified)
        for published in () if node.has_left else publish_rows(reader, "MEPs handed on", sum(n for _, n in ends)):
            yield replace(published, name=f"node {node.rank}: {published.name}")
    for of_camera in () if node.has_left else farm_node_rows(node.counters):
        yield replace(of_camera, name=f"node {node.rank}: {of_camera.name}")


class _Farm:
    """What only all nodes together know."""

    def __init__(self, nodes: Sequence[NodeCounters], some_are_gone: bool, may_lose: bool) -> None:
        self._nodes, self._some_are_gone, self._may_lose = nodes, some_are_gone, may_lose
        self._reader = Reader({})  # collects what is missing

    def rows(self) -> Iterator[Row]:
        yield self._transport_row()
        if any(node.is_a("em") for node in self._nodes):
            yield self._row(
                "MEPs", "assigned", self._of("em", "manager", "meps_assigned"),
                [(words, self._of("em", "manager", name)) for name, words in MANAGED.items()],
            )  # fmt: skip
            yield self._told_row("complete")
            yield self._told_row("incomplete")
        counters = [node.counters for node in self._nodes]
        yield from rich_ledger.farm_rows(counters, self._lost_mfps, self._some_are_gone)
        if not self._some_are_gone:
            yield from farm_rows([node.counters for node in self._nodes], mfps_lost=self._n_mfps_lost > 0)

    @property
    def _lost_mfps(self) -> bool:
        taken, received = self._of("ru", "readout", "mfps_taken"), self._of("bu", "builder", "mfps_received")
        return self._some_are_gone or taken != received

    def _transport_row(self) -> Row:
        """Between nodes that lived to the end; what the others sent and took is taken out on both sides."""
        sent = self._living("ru", "readout", "mfps_sent") - self._living("ru", "readout", "sent_to_dead_builder")
        of_dead = self._living("bu", "builder", "taken_from_dead_readout")
        parts = [("received", self._living("bu", "builder", "mfps_received"))]
        parts += [(words, self._living("bu", "builder", name)) for name, words in DISCARDED.items()]
        total = sent + of_dead
        if self._may_lose:
            rest = total - sum(value for _, value in parts)
            twice, on_purpose = min(max(-rest, 0), self._faults("duplicated")), min(max(rest, 0), self._faults("lost"))
            total += twice  # which also counts messages other than MFPs: an upper bound, as for those lost on purpose
            parts += [("lost on purpose", on_purpose), ("lost in the network", rest + twice - on_purpose)]
        name = "sent, and come from nodes that are gone" if of_dead else "sent to nodes that lived to the end"
        return self._row("MFPs", name, total, parts)

    @property
    def _n_mfps_lost(self) -> int:
        kept_back = sum(self._of("ru", "readout", name) for name in KEPT_BACK)
        return kept_back + sum(self._of("bu", "builder", name) for name in DISCARDED)

    def _faults(self, name: str) -> int:
        return sum(int(node.counters.get("faults", {}).get(name, 0)) for node in self._nodes)

    def _told_row(self, end: str) -> Row:
        """What the manager was told, and what builders say; of builders that are gone nobody knows more."""
        total = self._of("em", "manager", f"meps_{end}")
        by_builders = self._of("bu", "builder", f"meps_{end}")
        parts: list[Part] = [("handed on by builders", by_builders)]
        if self._some_are_gone:
            parts = [("handed on by builders", min(by_builders, total)),
                     ("by builders that are gone", total - min(by_builders, total))]  # fmt: skip
        return self._row("MEPs", f"built {end}", total, parts)

    def _of(self, role: str, block: str, name: str) -> int:
        return sum(self._read(node, block, name) for node in self._nodes if node.is_a(role))

    def _living(self, role: str, block: str, name: str) -> int:
        return sum(self._read(node, block, name) for node in self._nodes if node.is_a(role) and not node.has_left)

    def _read(self, node: NodeCounters, block: str, name: str) -> int:
        try:
            return int(node.counters[block][name])
        except KeyError:
            self._reader.missing.append(f"node{node.rank}.{block}.{name}")
            return 0

    def _row(self, level: str, name: str, total: int, parts: list[Part]) -> Row:
        return self._reader.row(level, name, total, parts)
