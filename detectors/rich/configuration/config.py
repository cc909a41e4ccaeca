# SPDX-License-Identifier: Apache-2.0
"""The configuration of the NA62 RICH chain."""

import math
from collections.abc import Iterator
from typing import Any, Self

from pydantic import model_validator

from anello.configuration.base import FrontEndsConfig, Relation, publish_relations
from anello.configuration.engine_keys import PublishKeys
from anello.configuration.python_keys import ChainName, chain_field
from anello.configuration.section import greatest

from ..engine_keys import EmitKeys, RichEndpointsKeys, StoreKeys
from .sections import (
    BuildSection,
    RichReceiveSection,
    RichRunSection,
    RichThreadsSection,
    SourceSection,
    TriggerSection,
)

PYTHON_APART = ["receive+build", "trigger+emit", "store"]  # default layout of threads when a Python function decides
N_RICH_BOARDS = greatest(RichEndpointsKeys, "n_boards")


class RichConfig(FrontEndsConfig):
    """Configuration of the chain from four readout boards to rings and primitives."""

    source_section = "source"

    chain: ChainName = chain_field("rich")
    run: RichRunSection = RichRunSection()
    source: SourceSection = SourceSection()
    receive: RichReceiveSection = RichReceiveSection()
    build: BuildSection = BuildSection()
    trigger: TriggerSection = TriggerSection()
    emit: EmitKeys = EmitKeys()
    store: StoreKeys = StoreKeys()
    publish: PublishKeys = PublishKeys()
    threads: RichThreadsSection = RichThreadsSection()

    @model_validator(mode="before")
    @classmethod
    def _python_behind_a_ring(cls, given: Any) -> Any:
        """Gives a Python trigger its own thread unless the user sets a layout: in a lane it would delay datagrams."""
        if not isinstance(given, dict):
            return given
        trigger, threads = given.get("trigger"), given.get("threads", {})
        decides = isinstance(trigger, dict) and trigger.get("python")
        if not decides or not isinstance(threads, dict) or {"layout", "cores"} & threads.keys():
            return given
        return given | {"threads": threads | {"layout": PYTHON_APART}}

    @model_validator(mode="after")
    def _python_has_no_lane(self) -> Self:
        if self.trigger.python:
            self.threads._apart = ("trigger", "emit")
        return self

    @property
    def remarks(self) -> list[str]:
        if not self.trigger.python:
            return []
        threads = [{stage.strip() for stage in thread.split("+")} for thread in self.threads.layout]
        if any({"receive", "trigger"} <= thread for thread in threads):
            return ["trigger.python decides in the thread of receive, as threads.layout says: datagrams wait for it"]
        return ["trigger.python decides on a thread of its own, behind a ring: datagrams do not wait for it"]

    @property
    def data_files(self) -> list[str]:
        return [self.store.decisions] if self.store.decisions else []

    @property
    def packet_bytes(self) -> int:
        return self.source.mtu_bytes

    @property
    def front_ends(self) -> SourceSection:
        return self.source

    @property
    def n_lanes(self) -> dict[str, int]:
        return {"receive": self.receive.lanes, "trigger": self.trigger.threads}

    @property
    def n_bursts(self) -> int:
        """Number of bursts of the run; 0: the run has no end."""
        if self.source.n_bursts or not self.run.duration_s:
            return self.source.n_bursts
        return max(1, math.ceil(self.run.duration_s * 1e3 / (self.source.burst_ms + self.source.gap_ms)))

    def run_length(self) -> dict[str, int]:
        return {"source.n_bursts": self.n_bursts}

    def relations(self) -> Iterator[Relation]:
        yield Relation(
            len(self.source.ports) == self.source.n_boards,
            "source.ports",
            f"the RICH has {self.source.n_boards} readout boards, one port each",
            "The default is [0, 0, 0, 0]",
        )
        yield Relation(
            self.source.first_board + self.source.n_boards <= N_RICH_BOARDS,
            "source.first_board",
            f"must leave source.n_boards, {self.source.n_boards}, among {N_RICH_BOARDS}",
            "The default is 0",
        )
        yield from super().relations()
        yield from self._relations_of_simulation()
        yield from publish_relations(self.publish)
        yield Relation(
            not self.source.faults.corrupt or (self.source.format == "mgp" and self.source.checksum),
            "source.faults.corrupt",
            "needs source.format mgp with source.checksum: nothing else tells a changed byte",
            'Set source.checksum = true and source.format = "mgp"',
        )
        yield Relation(
            self.receive.lanes <= len(self.receive.ports),
            "receive.lanes",
            f"must not be above the number of ports, {len(self.receive.ports)}",
            "The default is 1",
        )
        yield Relation(
            self.receive.lanes == 1 or self.receive.backend in ("socket", "io_uring"),
            "receive.lanes",
            f"must be 1 where receive.backend is {self.receive.backend}: it takes all ports from one place",
            'Set receive.backend = "socket"',
        )
        accept = self.trigger.acceptance
        yield Relation(
            accept.radius_min_mm + 1 <= accept.radius_max_mm,
            "trigger.acceptance.radius_min_mm",
            f"must be at least 1 mm below radius_max_mm, {accept.radius_max_mm}",
            "The default is 88",
        )
        yield Relation(
            self.trigger.cheaper_after <= self.trigger.pass_after,
            "trigger.pass_after",
            f"must not be below cheaper_after, {self.trigger.cheaper_after:g}",
            "The defaults are 0.5 and 0.75",
        )
        yield Relation(
            not (self.trigger.plugin and self.trigger.python),
            "trigger.python",
            "cannot be given together with trigger.plugin",
            "Leave one of them empty",
        )

    def _relations_of_simulation(self) -> Iterator[Relation]:
        simulation = self.source.simulation
        yield Relation(
            simulation.momentum_min_gev <= simulation.momentum_max_gev,
            "source.simulation.momentum_min_gev",
            f"must not be above momentum_max_gev, {simulation.momentum_max_gev}",
            "The default is 15",
        )
        yield Relation(
            sum(simulation.ring_shares) > 0,
            "source.simulation.ring_shares",
            "must not all be 0",
            "[0, 1] makes events with one ring",
        )
        particles = (simulation.pion_share, simulation.muon_share, simulation.electron_share, simulation.kaon_share)
        yield Relation(
            sum(particles) > 0,
            "source.simulation.pion_share",
            "the shares of pions, muons, electrons and kaons must not all be 0",
            "Set one of them to 1",
        )
        yield Relation(
            simulation.momentum_min_gev <= simulation.momentum_mean_gev <= simulation.momentum_max_gev,
            "source.simulation.momentum_mean_gev",
            f"must be {simulation.momentum_min_gev} to {simulation.momentum_max_gev}, as momentum_min_gev and _max_gev "
            "say",
            "The default is 31.34",
        )
        yield Relation(
            simulation.centre_max_mm >= simulation.centre_sd_mm / 10,
            "source.simulation.centre_max_mm",
            f"must be at least a tenth of centre_sd_mm, {simulation.centre_sd_mm}: centres are drawn until they lie "
            "inside",
            "The default is 1000",
        )
        yield Relation(
            simulation.radius_min_mm <= simulation.radius_max_mm,
            "source.simulation.radius_min_mm",
            f"must not be above radius_max_mm, {simulation.radius_max_mm}",
            "The default is 100",
        )
        yield Relation(
            simulation.out_of_time_min_ns <= simulation.out_of_time_max_ns,
            "source.simulation.out_of_time_min_ns",
            f"must not be above out_of_time_max_ns, {simulation.out_of_time_max_ns}",
            "The default is 8",
        )
        yield Relation(
            simulation.out_of_time_min_ns <= self.source.out_of_time_reach_ns,
            "source.out_of_time_reach_ns",
            f"must not be below simulation.out_of_time_min_ns, {simulation.out_of_time_min_ns}",
            "The default is 212",
        )
