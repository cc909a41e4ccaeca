# SPDX-License-Identifier: Apache-2.0
"""The configuration that such a chain has at least. A detector derives from PacketConfig and adds sections."""

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from anello.config_base import FrontEndsConfig, Relation, Scalar
from anello.section import Section
from anello.sections import FrontEndsRunSection, Port, ReceiveSection, Share, ThreadsSection, layout_field

MAX_BOARDS = 1024
MAX_PACKETS = 2**32 - 1
IP_AND_UDP_BYTES, MAX_PACKET_BYTES = 28, 9000


class PacketRunSection(FrontEndsRunSection):
    """The run as a whole."""

    duration_s: float = Field(default=10, ge=0, le=1e6, description="Time the front ends send; 0: endless.")
    n_packets: int = Field(
        default=0, ge=0, le=MAX_PACKETS, description="Packets of each board in the run; 0: as duration_s says."
    )


class PacketFaultsSection(Section):
    """Faults that the boards make on purpose, by run.seed. Shares are per packet."""

    loss: Share = Field(default=0, description="Share of packets that are not sent.")
    duplicate: Share = Field(default=0, description="Share of packets that are sent twice.")
    reorder: Share = Field(default=0, description="Share of packets that are sent after their successor.")
    dead_board: int = Field(default=-1, ge=-1, lt=MAX_BOARDS, description="Board that sends nothing; -1: none.")


class PacketBoardsSection(Section):
    """The front ends: each board sends packets with the numbers 0, 1, 2, ..."""

    count: int = Field(default=4, ge=1, le=MAX_BOARDS, description="Number of boards.")
    rate_hz: float = Field(default=1000, gt=0, le=1e6, description="Packets of each simulated board, /s.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address of the node.")
    ports: list[Port] = Field(
        default=[0], min_length=1, max_length=MAX_BOARDS,
        description="UDP ports of the node, which boards take in turn; 0: what the node has bound (anello run only).",
    )  # fmt: skip
    max_behind_ms: float = Field(
        default=50, ge=0.001, le=10_000, description="Farther behind, time is forgone instead of sending a flood, ms."
    )
    core: int = Field(default=-1, ge=-1, le=4095, description="Logical core of the sending thread; -1: any.")
    faults: PacketFaultsSection = PacketFaultsSection()


class PacketThreadsSection(ThreadsSection):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar = ("receive",)
    layout: list[str] = layout_field(["receive"])


class PacketConfig(FrontEndsConfig):
    """From numbered packets to what the detector makes of them."""

    source_section = "boards"

    run: PacketRunSection = PacketRunSection()
    boards: PacketBoardsSection = PacketBoardsSection()
    receive: ReceiveSection = ReceiveSection()
    threads: PacketThreadsSection = PacketThreadsSection()

    @property
    def packet_bytes(self) -> int:
        """What the largest can have; a detector may know better."""
        return IP_AND_UDP_BYTES + MAX_PACKET_BYTES

    @property
    def front_ends(self) -> PacketBoardsSection:
        return self.boards

    @property
    def n_threads(self) -> int:
        return len(self.threads.layout)

    @property
    def n_packets(self) -> int:
        """Of each board in the run; 0: endless."""
        if self.run.n_packets or not self.run.duration_s:
            return self.run.n_packets
        return min(MAX_PACKETS, max(1, round(self.run.duration_s * self.boards.rate_hz)))

    def run_length(self) -> dict[str, int]:
        return {"run.n_packets": self.n_packets}

    def source_values(self) -> dict[str, Scalar]:
        """All keys under their whole names."""
        return self.flat()

    def relations(self) -> Iterator[Relation]:
        yield from super().relations()
        boards, faults = self.boards, self.boards.faults
        yield Relation(
            faults.dead_board < boards.count, "boards.faults.dead_board",
            f"must be one of boards.count, {boards.count}", "They count from 0",
        )  # fmt: skip
        yield Relation(
            faults.loss + faults.duplicate + faults.reorder <= 1, "boards.faults.loss",
            "must leave, with duplicate and reorder, a sum of 1 at most", "A packet suffers one of them",
        )  # fmt: skip
        yield Relation(
            len(self.receive.sources) in (0, 1, boards.count), "receive.sources",
            f"must name none, one for all boards, or one for each, {boards.count}", "Empty text leaves one open",
        )  # fmt: skip
        yield Relation(
            self.receive.policy == "wait", "receive.policy", "must be wait here: packets are used as they come",
            "Leave it out",
        )  # fmt: skip
