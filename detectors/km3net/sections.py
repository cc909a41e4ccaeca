# SPDX-License-Identifier: Apache-2.0
"""The sections of this chain's configuration. Keys that the engine reads are declared in keys.cpp; those that several
chains have are in anello/sections.py."""

from typing import ClassVar

from pydantic import Field

from anello.sections import FrontEndsRunSection, Port, ReceiveSection, ThreadsSection, layout_field

from .engine_keys import Km3netBoardsKeys, Km3netFaultsKeys, Km3netLineKeys, Km3netRunKeys

SLICES_PER_S = 10


class Km3netRunSection(FrontEndsRunSection, Km3netRunKeys):
    """The run as a whole."""

    name: str = Field(
        default="km3net",
        pattern=r"^[\w.-]+$",
        description="Name of the run, with which its report directory's name begins.",
    )
    duration_s: float = Field(default=10, ge=0, le=1e6, description="Time the front ends send; 0: endless.")
    n_report_events: int = Field(
        default=20_000, ge=0, le=1_000_000, description="Events whose size is kept for the report."
    )


class LineSection(Km3netLineKeys):
    """The line of optical modules (DOMs), and how their boards send."""

    @property
    def header_bytes(self) -> int:
        """Of a datagram, before its hits."""
        return 40 if self.long_header else 28


class BoardsSection(Km3netBoardsKeys):
    """The front ends: what a simulated sea lets the PMTs see, and how the boards send it."""

    faults: Km3netFaultsKeys = Km3netFaultsKeys()

    @property
    def rate_hz(self) -> float:
        """Slices per second."""
        return SLICES_PER_S


class Km3netReceiveSection(ReceiveSection):
    """Datagrams from the network, or from a file."""

    ports: list[Port] = Field(
        default=[0], min_length=1, max_length=1024, description="UDP ports to listen at; 0: any free one."
    )


class Km3netThreadsSection(ThreadsSection):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar = ("receive", "trigger", "store")
    layout: list[str] = layout_field(["receive", "trigger", "store"])
