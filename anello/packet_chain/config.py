# SPDX-License-Identifier: Apache-2.0
"""The configuration that every chain of numbered packets has. A detector derives from PacketConfig and adds
sections."""

from collections.abc import Iterator

from anello.configuration.base import FrontEndsConfig, Relation, Scalar
from anello.configuration.section import greatest
from anello.configuration.sections import FrontEndsRunSection, ReceiveSection, ThreadsSection
from anello.packet_chain.engine_keys import (
    PacketBoardsKeys,
    PacketFaultsKeys,
    PacketRunKeys,
    PacketThreadsKeys,
)

IP_AND_UDP_BYTES, MAX_PACKET_BYTES = 28, 9000


class PacketRunSection(FrontEndsRunSection, PacketRunKeys):
    """The run as a whole."""


class PacketBoardsSection(PacketBoardsKeys):
    """The front ends: each board sends packets with the numbers 0, 1, 2, ..."""

    faults: PacketFaultsKeys = PacketFaultsKeys()


class PacketThreadsSection(PacketThreadsKeys, ThreadsSection):
    """Which stages share a thread, and where threads run."""


class PacketConfig(FrontEndsConfig):
    """From numbered packets to what the detector makes of them."""

    source_section = "boards"

    run: PacketRunSection = PacketRunSection()
    boards: PacketBoardsSection = PacketBoardsSection()
    receive: ReceiveSection = ReceiveSection()
    threads: PacketThreadsSection = PacketThreadsSection()

    @property
    def packet_bytes(self) -> int:
        """Size of the largest possible packet in bytes; a detector may override it with a smaller one."""
        return IP_AND_UDP_BYTES + MAX_PACKET_BYTES

    @property
    def front_ends(self) -> PacketBoardsSection:
        return self.boards

    @property
    def n_packets(self) -> int:
        """Number of packets of each board in the run; 0: endless."""
        if self.run.n_packets or not self.run.duration_s:
            return self.run.n_packets
        return min(greatest(PacketRunKeys, "n_packets"), max(1, round(self.run.duration_s * self.boards.rate_hz)))

    def run_length(self) -> dict[str, int]:
        return {"run.n_packets": self.n_packets}

    def source_values(self) -> dict[str, Scalar]:
        """All keys of the front ends under their full names."""
        return self.flat()

    def relations(self) -> Iterator[Relation]:
        yield from super().relations()
        boards, faults = self.boards, self.boards.faults
        yield Relation(
            faults.dead_board < boards.count,
            "boards.faults.dead_board",
            f"must be one of boards.count, {boards.count}",
            "They count from 0",
        )
        yield Relation(
            faults.loss + faults.duplicate + faults.reorder <= 1,
            "boards.faults.loss",
            "must leave, with duplicate and reorder, a sum of 1 at most",
            "A packet suffers one of them",
        )
        yield Relation(
            len(self.receive.sources) in (0, 1, boards.count),
            "receive.sources",
            f"must name none, one for all boards, or one for each, {boards.count}",
            "Empty text leaves one open",
        )
        yield Relation(
            self.receive.policy == "wait",
            "receive.policy",
            "must be wait here: packets are used as they come",
            "Leave it out",
        )
