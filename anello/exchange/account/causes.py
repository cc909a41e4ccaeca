# SPDX-License-Identifier: Apache-2.0
"""The losses of a run of the exchange, by cause: in the exchange itself, and on its nodes before and after it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from anello.account.ledger import Ledger
from anello.account.verdict import Flaw, Word, is_only_as_ordered, losses_of, publish_flaws
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


def of_boards(ledger: Ledger) -> list[LossCause]:
    """What boards made and their nodes did not receive."""
    counts: dict[tuple[str, bool], int] = {}
    for flaw in losses_of(ledger):
        counts[flaw.words, flaw.ordered] = counts.get((flaw.words, flaw.ordered), 0) + (flaw.n or 0)
    return [LossCause(words, n, ordered) for (words, ordered), n in counts.items()]


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


def flaws(record: ExchangeRun, ledger: Ledger) -> list[Flaw]:
    """What is wrong with the run, apart from the losses that its ledger names."""
    of_these_nodes, in_exchange = (_flaws(causes) for causes in (of_nodes(record), of_exchange(record)))
    found = [*of_these_nodes, *in_exchange]
    found += [Flaw(f"node {rank} is gone: {why}") for rank, why in record.absent.items()]
    found += [Flaw(f"node {node.rank}: {node.failure}") for node in record.nodes if node.failure]
    share = record.config.run.max_degraded_share
    for node in record.nodes:
        found += publish_flaws(node.counters)
        found += [flaw for part in detector_parts() for flaw in part.flaws(node.counters, share)]
    if not record.absent and is_only_as_ordered([*losses_of(ledger), *found]):
        as_ordered = {flaw: replace(flaw, ordered=True) for flaw in of_these_nodes if flaw.word is Word.INCOMPLETE}
        return [as_ordered.get(flaw, flaw) for flaw in found]
    return found


def _flaws(causes: list[LossCause]) -> list[Flaw]:
    return [Flaw(cause.words, cause.n, ordered=cause.ordered, word=cause.word) for cause in causes]
