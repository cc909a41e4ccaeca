# SPDX-License-Identifier: Apache-2.0
"""The results of a run of the exchange in numbers, for summary, terminal and report."""

from dataclasses import astuple
from typing import Any

from anello.exchange.account import causes
from anello.exchange.account.node_record import NodeRecord
from anello.exchange.account.record import ExchangeRecord
from anello.report.summary import in_percent

WAITS = {  # each counted when a step found nothing to do for this reason
    ("generator", "waits_for_room"): "the card for a free buffer",
    ("readout", "waits_for_transport"): "the readout unit for the transport",
    ("builder", "waits_for_sink"): "the builder for the next stage",
    ("manager", "waits_for_credit"): "the manager for a builder's credit",
    ("station", "waits_for_messages"): "control messages for the transport",
    ("station", "sleeps"): "the thread slept, nothing to do",
}


WAITED = {  # time of a node's thread from a step that found nothing to do to the next one
    "waited_for_sink_ns": "the next stage to take a packet",
    "waited_for_transport_ns": "the transport to take a part",
    "waited_for_credit_ns": "a builder to be named for a part",
    "waited_for_parts_ns": "parts of packets that are being built",
    "waited_for_data_ns": "anything to do",
}


def results(record: ExchangeRecord) -> dict[str, Any]:
    """The chain's own part of summary.json."""
    return {
        "rates": rates(record),
        "losses": {cause.words: cause.n for cause in causes.of_exchange(record)},
        "node_losses": {
            cause.words: cause.n for cause in (*causes.of_boards(record.ledger()), *causes.of_nodes(record))
        },
        "complete": share_complete(record),
        "verified": share_verified(record),
        "waits": _counted(record, WAITS),
        "waited_s": {words: record.total("station", name) * 1e-9 for name, words in WAITED.items()},
        "point_to_point": {"gbit_per_s": record.point_to_point.gbit_per_s, "about": record.point_to_point.about},
        "nodes": [_node(record, node) for node in record.nodes],
        "absent": {str(rank): why for rank, why in record.absent.items()},
        "rendezvous": dict(record.rendezvous),
        "start": record.start,
    }


def rates(record: ExchangeRecord) -> dict[str, float]:
    """Rates per second from start to end, including the start-up of the transport and the last packets."""
    seconds = record.seconds
    per_s = 1 / seconds if seconds else 0.0
    n_meps = record.total("builder", "meps_complete") + record.total("builder", "meps_incomplete")
    n_events = record.total("builder", "events_built")
    built = record.total("builder", "bytes_built") * 8e-9 * per_s
    builders = [node.gbit_per_s for node in record.nodes if node.builds]
    return {
        "seconds": seconds,
        "meps": n_meps,
        "meps_per_s": n_meps * per_s,
        "events": n_events,
        "events_per_s": n_events * per_s,
        "built_gbit_per_s": built,
        "built_gbit_per_s_min": min(builders, default=0.0),
        "built_gbit_per_s_max": max(builders, default=0.0),
        "moved_gbit_per_s": built * share_moved(record),
    }


def share_moved(record: ExchangeRecord) -> float:
    """The share of built data that came from other nodes."""
    roles = record.config.roles_of(record.n_nodes)
    n_readouts = sum("ru" in role for role in roles)
    builders = [role for role in roles if "bu" in role]
    own = sum("ru" in role for role in builders) / max(len(builders), 1)
    return max(0.0, 1 - own / n_readouts)


def of_point_to_point(record: ExchangeRecord) -> float | None:
    """The bandwidth of the average builder as a share of the transport's bandwidth between two idle nodes."""
    builders = [node for node in record.nodes if node.builds]
    if not builders or not record.point_to_point.gbit_per_s:
        return None
    return rates(record)["built_gbit_per_s"] / len(builders) / record.point_to_point.gbit_per_s


def share_complete(record: ExchangeRecord) -> float | None:
    complete, incomplete = record.total("builder", "meps_complete"), record.total("builder", "meps_incomplete")
    return complete / (complete + incomplete) if complete + incomplete else None


def share_verified(record: ExchangeRecord) -> float | None:
    """The share of built fragments that were verified."""
    n_fragments = record.total("builder", "mfps_received") * record.config.exchange.packing
    return record.total("builder", "fragments_verified") / n_fragments if n_fragments else None


def _counted(record: ExchangeRecord, names: dict[tuple[str, str], str]) -> dict[str, int]:
    """The counts by cause; causes with none are left out."""
    counts = {words: record.total(block, name) for (block, name), words in names.items()}
    return {words: n for words, n in counts.items() if n}


def _node(record: ExchangeRecord, node: NodeRecord) -> dict[str, Any]:
    return {
        "rank": node.rank,
        "host": node.host,
        "roles": node.roles,
        "wall_s": node.wall_s,
        "cores": node.cores,
        "built_gbit_per_s": node.gbit_per_s,
        "meps_complete": node.counters.get("builder", {}).get("meps_complete", 0),
        "meps_incomplete": node.counters.get("builder", {}).get("meps_incomplete", 0),
        "failure": node.failure,
        "series": [list(astuple(one)) for one in node.series],
    }


def headlines(record: ExchangeRecord) -> list[str]:
    """The run in a few lines."""
    rate, result = rates(record), results(record)
    complete = f"{in_percent(result['complete'])} complete"
    if result["complete"] == 1 and not record.verdict().is_as_ordered:
        complete = "each of these complete"  # this would not be the whole truth
    lines = [
        f"{rate['meps']:,} packets of {record.config.exchange.packing} events built on {record.n_nodes} nodes, "
        f"{rate['built_gbit_per_s']:.2f} Gb/s, {rate['events_per_s'] * 1e-6:.3f} million events/s, "
        f"{complete}",
        f"checksums of {in_percent(result['verified'])} of the fragments were verified",
    ]
    if record.point_to_point.gbit_per_s:
        lines.append(
            f"each builder {rate['built_gbit_per_s_min']:.2f} to {rate['built_gbit_per_s_max']:.2f} Gb/s, on average "
            f"{in_percent(of_point_to_point(record))} of the {record.point_to_point.gbit_per_s:.2f} Gb/s "
            "between two idle nodes"
        )
    lines += [f"node {rank} is gone: {why}" for rank, why in record.absent.items()]
    lines += [f"node {node.rank}: {node.failure}" for node in record.nodes if node.failure]
    refused = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in record.rendezvous.items())
    return [*lines, *([f"at the rendezvous: {refused}"] if refused else [])]
