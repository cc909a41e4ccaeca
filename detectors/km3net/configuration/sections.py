# SPDX-License-Identifier: Apache-2.0
"""The sections of this chain's configuration. keys.cpp declares the keys that the engine reads; keys that several
chains share are in anello/configuration/sections.py."""

from typing import ClassVar

from anello.configuration.section import KeyOverride
from anello.configuration.sections import FrontEndsRunSection, ThreadsSection

from ..engine_keys import Km3netBoardsKeys, Km3netFaultsKeys, Km3netLineKeys, Km3netRunKeys, Km3netThreadsKeys

SLICES_PER_S = 10


class Km3netRunSection(FrontEndsRunSection, Km3netRunKeys):
    """The run as a whole."""

    own: ClassVar = {
        "name": KeyOverride("km3net"),
        "n_report_events": KeyOverride(meaning="Events whose size is kept for the report."),
    }


class LineSection(Km3netLineKeys):
    """The line of optical modules (DOMs), and how their boards send."""

    @property
    def header_bytes(self) -> int:
        """Length of the header of a datagram, which stands before its hits, in bytes."""
        return 40 if self.long_header else 28


class BoardsSection(Km3netBoardsKeys):
    """The front ends: what a simulated sea lets the PMTs see, and how the boards send it."""

    faults: Km3netFaultsKeys = Km3netFaultsKeys()

    @property
    def rate_hz(self) -> float:
        """Slices per second."""
        return SLICES_PER_S


class Km3netThreadsSection(Km3netThreadsKeys, ThreadsSection):
    """Which stages share a thread, and where threads run."""
