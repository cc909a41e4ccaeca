# SPDX-License-Identifier: Apache-2.0
"""The losses of a run of the exchange, by cause: in the exchange itself, and on its nodes before and after it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from anello.account.identity import COUNTED, ORDERED
from anello.account.ledger import Ledger, total
from anello.account.verdict import Flaw, Word, losses_of, n_came, publish_flaws
from anello.exchange.account.detector_part import detector_parts
from anello.exchange.account.ledger import (
    DISCARDED,
    KEPT_BACK,
    LOST_ON_THE_WAY,
    OPEN,
    UNDER_WAY,
    NodeCounters,
    reconciled,
)
from anello.exchange.account.node_record import NodeRecord
from anello.exchange.configuration.config import ExchangeConfig

PARTS = {
    ("readout", "mfps_lost"): KEPT_BACK["mfps_lost"],
    ("readout", "mfps_lost_to_dead_builder"): KEPT_BACK["mfps_lost_to_dead_builder"],
    ("readout", "mfps_too_late"): KEPT_BACK["mfps_too_late"],
    ("readout", "mfps_in_flight_at_end"): UNDER_WAY,
    **{("builder", name): words for name, words in DISCARDED.items()},
}
# names of counters of incomplete things end like this; the reason is counted where the part was lost
RECEIVED_NOT_USED = ("dropped_packets", "overwritten_packets", "conflicting_packets")  # of block receive.board<i>
INCOMPLETE = "_incomplete"
WRONG_CHECKSUM = ("builder", "fragments_wrong_checksum"), "fragments with a wrong checksum"


class ExchangeRun(Protocol):
    """The part of an exchange record that is needed for its losses."""

    @property
    def config(self) -> ExchangeConfig: ...
    @property
    def nodes(self) -> tuple[NodeRecord, ...]: ...
    @property
    def absent(self) -> Mapping[int, str]: ...
    def ledger(self) -> Ledger: ...
    def node_counters(self) -> list[NodeCounters]: ...
    def total(self, block: str, name: str) -> int: ...


@dataclass(frozen=True)
class LossCause:
    """One cause of loss. ordered: the configuration asks for it, as where a card may drop. word: what a run with
    this loss is worth."""

    words: str
    n: int
    ordered: bool = False
    word: Word = Word.LOST


def of_exchange(record: ExchangeRun) -> list[LossCause]:
    """Parts and packets that were made and not delivered completely."""
    return [cause for cause in (*_parts(record), *_packets(record)) if cause.n]


def of_nodes(record: ExchangeRun) -> list[LossCause]:
    """Losses of the nodes before and after the exchange."""
    parts = detector_parts()
    counts: dict[str, int] = {}
    incomplete = set()
    for (block, name), words in [WRONG_CHECKSUM, *(cause for part in parts for cause in part.causes.items())]:
        counts[words] = counts.get(words, 0) + record.total(block, name)
        incomplete |= {words} if name.endswith(INCOMPLETE) else set()
    for node in record.nodes:
        for words, n in [lost for part in parts for lost in part.losses(node.counters).items()]:
            counts[words] = counts.get(words, 0) + n
    of_boards = dict.fromkeys(incomplete, Word.INCOMPLETE)
    return [LossCause(words, n, word=of_boards.get(words, Word.LOST)) for words, n in counts.items() if n]


def _parts(record: ExchangeRun) -> Iterator[LossCause]:
    dropped = record.total("generator", "mfps_dropped")
    yield LossCause("parts dropped by the card, no free buffer", dropped, record.config.generator.when_full == "drop")
    for (block, name), words in PARTS.items():
        yield LossCause(f"parts {words}", record.total(block, name))
    yield LossCause(f"parts {LOST_ON_THE_WAY}", _lost_on_the_way(record))


def _lost_on_the_way(record: ExchangeRun) -> int:
    """Number of MFPs lost between nodes, as in the ledger."""
    return sum(n for row in record.ledger().rows for words, n in row.parts if words == LOST_ON_THE_WAY)


def _packets(record: ExchangeRun) -> Iterator[LossCause]:
    n_incomplete = record.total("builder", f"meps{INCOMPLETE}")
    yield LossCause("packets built incomplete", n_incomplete, _is_ordered(record), Word.INCOMPLETE)
    nodes = record.node_counters()
    yield LossCause("packets lost with their builder", reconciled(nodes, lost=True).n_unknown)
    yield LossCause(f"packets {OPEN}", reconciled(nodes, lost=False).n_unknown)
    yield LossCause("packets not handed on by the end", record.total("builder", "meps_left"))
    yield LossCause("packets not written", record.total("mep_store", "meps_lost"))


def _is_ordered(record: ExchangeRun) -> bool:
    """True if the configuration permits the loss of every part that packets lack."""
    let_go = record.total("builder", "sources_absent") if record.config.generator.when_full == "drop" else 0
    return let_go == record.total("builder", "sources_missing")


def flaws(record: ExchangeRun) -> list[Flaw]:
    """What is wrong with the run, apart from the losses that its ledger names."""
    causes = [*of_nodes(record), *of_exchange(record)]
    if _is_all_withheld_on_purpose(record, causes):
        causes = [replace(cause, ordered=True) if cause.word is Word.INCOMPLETE else cause for cause in causes]
    found = [Flaw(cause.words, cause.n, ordered=cause.ordered, word=cause.word) for cause in causes]
    found += [Flaw(f"node {rank} is gone: {why}") for rank, why in record.absent.items()]
    found += [Flaw(f"node {node.rank}: {node.failure}") for node in record.nodes if node.failure]
    share = record.config.run.max_degraded_share
    for node in record.nodes:
        found += publish_flaws(node.counters)
        found += [flaw for part in detector_parts() for flaw in part.flaws(node.counters, share)]
    return found


def _is_all_withheld_on_purpose(record: ExchangeRun, causes: list[LossCause]) -> bool:
    """True if simulated front ends withheld data on purpose, and all that they sent was received and used: only then
    do events lack nothing but what the configuration withheld."""
    withheld = [f"{level}_{COUNTED[cause]}" for cause in ORDERED for level in ("packets", "fragments")]
    if record.absent or not any(_of_boards(record, "source.board", name) for name in withheld):
        return False
    lost = [cause.ordered for cause in causes if cause.word is Word.LOST]
    lost += [flaw.ordered for flaw in losses_of(record.ledger())]
    n_received = sum(n_came(node.counters) for node in record.nodes)
    n_unused = sum(_of_boards(record, "receive.board", name) for name in RECEIVED_NOT_USED)
    return all(lost) and n_received == _of_boards(record, "source.board", "datagrams_sent") and not n_unused


def _of_boards(record: ExchangeRun, prefix: str, name: str) -> int:
    return sum(total(node.counters, prefix, name) for node in record.nodes)
