# SPDX-License-Identifier: Apache-2.0
"""What a run of the exchange lost, by cause: in the exchange itself, and on its nodes before and behind it."""

from collections.abc import Iterator
from dataclasses import dataclass

from anello.camera.summary import losses as camera_losses
from anello.camera.summary import node_losses as camera_node_losses
from anello.exchange.ledger import DISCARDED, KEPT_BACK, LOST_ON_THE_WAY, OPEN, UNDER_WAY, reconciled
from anello.exchange.record import ExchangeRecord
from anello.exchange.rich_ledger import NOT_FRAMED
from anello.record import CounterDict

PARTS = {
    ("readout", "mfps_lost"): KEPT_BACK["mfps_lost"],
    ("readout", "mfps_lost_to_dead_builder"): KEPT_BACK["mfps_lost_to_dead_builder"],
    ("readout", "mfps_too_late"): KEPT_BACK["mfps_too_late"],
    ("readout", "mfps_in_flight_at_end"): UNDER_WAY,
    **{("builder", name): words for name, words in DISCARDED.items()},
}
# Behind the exchange, or before it.
NODE = {
    ("builder", "fragments_wrong_checksum"): "fragments with a wrong checksum",
    ("build", "fragments_late"): "fragments late",
    **{("framer", name): f"fragments {NOT_FRAMED[name]}" for name in ("fragments_no_room", "fragments_left")},
    ("merge.mep", "frames_malformed"): "frames malformed",
    ("merge.mep", "frames_wrong_checksum"): "frames with a wrong checksum",
    ("merge.mep", "fragments_wrong"): "fragments of frames wrong",
    ("merge.mep", "fragments_no_room"): "fragments of frames without room",
    ("merge", "events_incomplete"): "events incomplete",
    ("merge", "hits_truncated"): "hits beyond a batch",
    ("emit", "primitives_late"): "primitives late",
    ("emit", "primitives_overflow"): "primitives in a full frame",
    ("emit", "frames_lost"): "frames of primitives refused by the system",
    ("store", "events_lost"): "decisions not stored",
    ("pack", "parts_left"): "parts of events left, no room by the end",
    ("unpack", "events_incomplete"): "events incomplete",
    ("unpack", "parts_malformed"): "parts of events malformed",
}


@dataclass(frozen=True)
class Cause:
    """ordered: the configuration asks for it: a card that drops, faults on purpose."""

    words: str
    n: int
    ordered: bool = False


def of_exchange(record: ExchangeRecord) -> list[Cause]:
    """Parts and packets that were made and not delivered whole."""
    return [cause for cause in (*_parts(record), *_packets(record)) if cause.n]


def of_nodes(record: ExchangeRecord) -> list[Cause]:
    """What nodes lost before the exchange and behind it."""
    counts = {words: record.total(block, name) for (block, name), words in NODE.items() if words != "events incomplete"}
    counts["events incomplete"] = record.total("merge", "events_incomplete") + record.total(
        "unpack", "events_incomplete"
    )
    for node in record.nodes:
        for words, n in _of_front_ends(node.counters).items():
            counts[words] = counts.get(words, 0) + n
    return [Cause(words, n) for words, n in counts.items() if n]


def _parts(record: ExchangeRecord) -> Iterator[Cause]:
    dropped = record.total("generator", "mfps_dropped")
    yield Cause("parts dropped by the card, no free buffer", dropped, record.config.generator.when_full == "drop")
    for (block, name), words in PARTS.items():
        twice = name == "mfps_duplicate" and record.total("faults", "duplicated") > 0
        yield Cause(f"parts {words}", record.total(block, name), twice)
    yield Cause(f"parts {LOST_ON_THE_WAY}", _lost_on_the_way(record), record.total("faults", "lost") > 0)


def _lost_on_the_way(record: ExchangeRecord) -> int:
    """As the ledger has it."""
    return sum(n for row in record.ledger().rows for words, n in row.parts if words == LOST_ON_THE_WAY)


def _packets(record: ExchangeRecord) -> Iterator[Cause]:
    yield Cause("packets built incomplete", record.total("builder", "meps_incomplete"), _is_ordered(record))
    nodes = record.node_counters()
    yield Cause("packets lost with their builder", reconciled(nodes, lost=True).n_unknown)
    yield Cause(f"packets {OPEN}", reconciled(nodes, lost=False).n_unknown)
    yield Cause("packets not handed on by the end", record.total("builder", "meps_left"))
    yield Cause("packets not written", record.total("mep_store", "meps_lost"))


def _is_ordered(record: ExchangeRecord) -> bool:
    """All that packets lack the configuration let go."""
    let_go = 0
    if record.config.generator.when_full == "drop":
        let_go += record.total("builder", "sources_absent")
    if record.total("faults", "lost"):
        let_go += record.total("builder", "sources_timed_out") + record.total("builder", "sources_spoilt")
    return let_go == record.total("builder", "sources_missing")


def _of_front_ends(counters: CounterDict) -> dict[str, int]:
    if "pack" in counters or "unpack" in counters:
        return {f"fragments {words}": n for words, n in camera_losses(counters).items()} | camera_node_losses(counters)
    return {}
