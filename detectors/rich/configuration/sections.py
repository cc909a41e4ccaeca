# SPDX-License-Identifier: Apache-2.0
"""The sections that only the RICH's configuration has; others are in anello/configuration/sections.py."""

from typing import ClassVar

from pydantic import field_validator

from anello.configuration.section import KeyOverride
from anello.configuration.sections import FrontEndsRunSection, ReceiveSectionWithoutPorts, ThreadsSection

from ..engine_keys import (
    AcceptanceKeys,
    AlmagestKeys,
    BatchRoomKeys,
    BlockRoomKeys,
    DeadlineKeys,
    DeciderKeys,
    HistogramKeys,
    MergerKeys,
    MultiRingKeys,
    NodeTriggerKeys,
    PluginKeys,
    RichEndpointsKeys,
    RichFaultsKeys,
    RichPortsKeys,
    RichSimulationKeys,
    RichSourceKeys,
    RichThreadsKeys,
    SingleKeys,
    StreamKeys,
)
from .python_keys import EventsFileKeys


class RichRunSection(FrontEndsRunSection):
    """The run as a whole."""

    own: ClassVar = {
        "name": KeyOverride("na62-rich"),
        "duration_s": KeyOverride(
            20, "Time the front ends send, gaps included, rounded up to whole bursts; 0: endless."
        ),
    }


class SourceSection(EventsFileKeys, RichSourceKeys, RichEndpointsKeys):
    """The front ends: what they send, where to, and how fast."""

    simulation: RichSimulationKeys = RichSimulationKeys()
    faults: RichFaultsKeys = RichFaultsKeys()


class RichReceiveSection(BlockRoomKeys, StreamKeys, RichPortsKeys, ReceiveSectionWithoutPorts):
    """Datagrams into persistent buffers, one stream per port."""


class BuildSection(BatchRoomKeys, MergerKeys):
    """Fragments of all boards into events."""


class TriggerSection(PluginKeys, NodeTriggerKeys, DeciderKeys, DeadlineKeys):
    """Events into rings, rings into decisions."""

    acceptance: AcceptanceKeys = AcceptanceKeys()
    histogram: HistogramKeys = HistogramKeys()
    almagest: AlmagestKeys = AlmagestKeys()
    single: SingleKeys = SingleKeys()
    multiring: MultiRingKeys = MultiRingKeys()

    @field_validator("primitive_ids", "pass_primitive")
    @classmethod
    def _high_byte_tells_primitives_from_timestamps(cls, given: list[int] | int) -> list[int] | int:
        if any(0 < one < 0x100 for one in (given if isinstance(given, list) else [given])):
            raise ValueError("must be 0 or from 0x100 (256) on: a word without high byte would read as a timestamp")
        return given


class RichThreadsSection(RichThreadsKeys, ThreadsSection):
    """Which stages share a thread, and where threads run."""
