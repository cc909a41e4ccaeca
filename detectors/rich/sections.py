# SPDX-License-Identifier: Apache-2.0
"""The sections of the NA62 RICH chain's configuration; those that several chains have are in anello/sections.py."""

from typing import ClassVar

from pydantic import Field, field_validator

from anello.sections import FrontEndsRunSection, Port, ReceiveSection, ThreadsSection, layout_field

from .engine_keys import (
    AcceptanceKeys,
    AlmagestKeys,
    BatchRoomKeys,
    BlockRoomKeys,
    DeciderKeys,
    HistogramKeys,
    MergerKeys,
    MultiRingKeys,
    NodeTriggerKeys,
    RichFaultsKeys,
    RichSimulationKeys,
    RichSourceKeys,
    SingleKeys,
    StreamKeys,
)

N_RICH_BOARDS = 4


class RichRunSection(FrontEndsRunSection):
    """The run as a whole."""

    name: str = Field(
        default="na62-rich",
        pattern=r"^[\w.-]+$",
        description="Name of the run, with which its report directory's name begins.",
    )


class SourceSection(RichSourceKeys):
    """The front ends: what they send, where to, and how fast."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address of the node.")
    ports: list[Port] = Field(
        default=[0] * N_RICH_BOARDS, min_length=1, max_length=32,
        description="UDP port of the node for each board; 0: what the node has bound (anello run only).",
    )  # fmt: skip
    first_board: int = Field(
        default=0,
        ge=0,
        le=N_RICH_BOARDS - 1,
        description="Number of the first board; earlier ones belong to another node.",
    )
    n_boards: int = Field(
        default=N_RICH_BOARDS,
        ge=1,
        le=N_RICH_BOARDS,
        description="Number of boards; the others belong to another node.",
    )
    out_of_time_reach_ns: float = Field(
        default=212,
        ge=0,
        le=1000,
        description="--events: hits that the file marks as out of time come from particles up to this far from the "
        "event's time, ns; TEL62 boards read 17 ticks.",
    )
    simulation: RichSimulationKeys = RichSimulationKeys()
    faults: RichFaultsKeys = RichFaultsKeys()


class RichReceiveSection(BlockRoomKeys, StreamKeys, ReceiveSection):
    """Datagrams into persistent buffers, one stream per port."""

    ports: list[Port] = Field(
        default=[0] * N_RICH_BOARDS, min_length=1, max_length=32, description="UDP port of each board; 0: any free one."
    )


class BuildSection(BatchRoomKeys, MergerKeys):
    """Fragments of all boards into events."""


class TriggerSection(NodeTriggerKeys, DeciderKeys):
    """Events into rings, rings into decisions."""

    plugin: str = Field(
        default="", description="Your own shared library, which decides instead of the ring finder; empty: none."
    )
    plugin_parameters: str = Field(default="", description="Text passed to that library unchanged.")
    python: str = Field(
        default="", description="file.py:function, your own Python function instead; for prototypes; empty: none."
    )
    acceptance: AcceptanceKeys = AcceptanceKeys()
    histogram: HistogramKeys = HistogramKeys()
    almagest: AlmagestKeys = AlmagestKeys()
    single: SingleKeys = SingleKeys()
    multiring: MultiRingKeys = MultiRingKeys()

    @field_validator("primitive_ids")
    @classmethod
    def _high_byte_tells_primitives_from_timestamps(cls, primitive_ids: list[int]) -> list[int]:
        if any(0 < primitive_id < 0x100 for primitive_id in primitive_ids):
            raise ValueError("must be 0 or from 0x100 (256) on: a word without high byte would read as a timestamp")
        return primitive_ids


class RichThreadsSection(ThreadsSection):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar = ("receive", "build", "trigger", "emit", "store")
    layout: list[str] = layout_field(["receive+build", "trigger+emit", "store"])
