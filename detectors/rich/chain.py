# SPDX-License-Identifier: Apache-2.0
"""The NA62 RICH chain, as the command line starts, watches and stops it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anello.errors import InputError
from anello.run.chain import MEAN_INTERVALS, Chain, GivenEvents, RunEnd

from .configuration.config import RichConfig
from .engine import Node, Source, engine

if TYPE_CHECKING:  # modules of node and report, which the front ends' process does not load
    from anello.account.record import CounterDict
    from anello.account.verdict import Flaw

    from .account.record import RichRecord
    from .analysis.events_csv import HitEvents
    from .report.event_sampler import EventSampler
    from .report.progress import RichMeter


class RichChain(Chain):
    """The chain from four readout boards over rings to primitives."""

    config: RichConfig

    def own_node_values(self, directory: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self.config.trigger.python:
            from . import python_trigger

            values["trigger.python_function"] = python_trigger.load(self.config.trigger.python)
        if self.config.store.decisions:
            values["store.decisions"] = str(directory / self.config.store.decisions)
        return values

    def events_of(self, file: Path) -> GivenEvents:
        """The hits of this file, and the rings of another reconstruction if a file of them lies next to it."""
        from .analysis import events_csv

        hits = events_csv.read(events_csv.read_hits, file)
        beside = events_csv.rings_beside(file)
        return GivenEvents(hits, None if beside is None else events_csv.read(events_csv.read_rings, beside, hits))

    def prepare(self, source: Source, given: GivenEvents | None) -> None:
        if given is not None:
            source.set_events(*_hits_for_engine(given.events, self.config))
        source.prepare()

    def keeper(self) -> EventSampler:
        from .report.event_sampler import EventSampler

        return EventSampler(self.config.run.n_report_events)

    def meter(self) -> RichMeter:
        from .report.progress import RichMeter

        return RichMeter(self.config.n_bursts)

    def longest_pause_s(self) -> float:
        return self.config.source.gap_ms * 1e-3 + MEAN_INTERVALS / self.config.source.rate_hz

    def flaws(self, node: CounterDict, source: CounterDict | None) -> Sequence[Flaw]:
        from .account.losses import flaws_by_now

        return flaws_by_now(node, source, self.config)

    def record(self, end: RunEnd) -> RichRecord:
        from .account.record import RichRecord

        node = cast(Node, end.node)
        decided = self._decisions(end)  # first, because it may add notices
        return RichRecord(
            config=self.config,
            **end.common(),
            execution=node.execution(),
            events=end.kept.events(),
            decisions=decided,
            truth=end.truth,
            reference=end.reference,
            positions=engine().positions(self.config.trigger.fit_frame),
        )

    def _decisions(self, end: RunEnd) -> dict[str, Any] | None:
        """Decisions that the run stored; None if there are none, or if the file is damaged, e.g. after a full disk."""
        path = end.directory / self.config.store.decisions
        if not (self.config.store.decisions and path.exists()):
            return None
        from . import decisions

        try:
            return decisions.read(path)
        except (OSError, KeyError, IndexError, ValueError, RuntimeError) as error:
            end.notices.report(f"{path} cannot be read: {error}; scores are of the events kept for displays")
            return None


def _hits_for_engine(events: HitEvents, config: RichConfig) -> tuple[Any, Any, Any]:
    """Returns PMT numbers, hit times in 1/256 tick from the event's time, and offsets."""
    from .analysis.file_times import hit_times_fine

    if events.pmt is None:
        raise InputError(
            "--events: the file needs a column pmt_seq, the PMTs that the boards send; anello rings does not"
        )
    return events.pmt, hit_times_fine(events, config.source, config.run.seed), events.event_offset
