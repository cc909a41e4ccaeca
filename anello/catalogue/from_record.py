# SPDX-License-Identifier: Apache-2.0
"""Converts a run's record into the catalogue's results."""

from collections.abc import Mapping

from anello.account.leg import LegLatency
from anello.account.record import CounterDict, Record
from anello.account.run_state import RunState
from anello.account.verdict import Word
from anello.catalogue.end import Counters, End, Leg, LossCount
from anello.registry import presentation_of
from anello.system.exit_codes import FAILED


def end_of(record: Record, exit_code: int, *, aborted: bool = False) -> End:
    """The catalogue's results of a run. exit_code: of the command."""
    verdict, presentation = record.verdict(), presentation_of(record)
    results = presentation.results()
    losses = [LossCount(flaw.words, flaw.n or 1, flaw.ordered) for flaw in verdict.flaws if flaw.word is not Word.GOOD]
    leg = judging_leg(record, presentation.legs)
    statistics = record.latency.get(leg or "", {})
    rates = results["rates"]
    return End(
        state=RunState.ABORTED if aborted else RunState.FAILED if exit_code == FAILED else RunState.ENDED,
        exit_code=exit_code, balanced=verdict.balanced, events=int(rates["events"]),
        lost=sum(verdict.lost.values()), bytes=bytes_in(record.node),
        seconds=float(rates.get("seconds", rates.get("beam_s", record.wall_s))),
        leg=leg, p50_ns=statistics.get("p50_ns"), p999_ns=statistics.get("p999_ns"), verdict=verdict.line,
        word=verdict.word.value,
        quality_found=results.get("quality"), losses=losses,
        latency={name: histogram(stage) for name, stage in record.latency.items()},
        counters=_counters(record),
    )  # fmt: skip


def judging_leg(record: Record, legs: Mapping[str, str]) -> str | None:
    """The leg of the latency that the run is judged by, or else the last leg. None: there was no leg."""
    measured = [name for name in [*legs, record.whole_way] if record.latency.get(name, {}).get("count")]
    return measured[-1] if measured else None


def histogram(stage: LegLatency) -> Leg:
    """A leg's histogram. stage: its statistics, with bins_ns and bin_counts."""
    edges, counts = stage["bins_ns"], stage["bin_counts"]
    bins = [(float(edges[i]), float(edges[min(i + 1, len(edges) - 1)]), int(n)) for i, n in enumerate(counts) if n]
    return Leg(int(stage["count"]), bins)


def bytes_in(node: CounterDict) -> int:
    """Bytes built into events between nodes, or, without such a building, bytes received."""
    built = sum(values.get("bytes_built", 0) for values in node.values())
    return built or sum(values.get("bytes", 0) for block, values in node.items() if block.startswith("receive."))


def _counters(record: Record) -> Counters:
    return {"node": record.node, **({"source": record.source} if record.source else {})}
