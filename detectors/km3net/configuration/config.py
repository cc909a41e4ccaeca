# SPDX-License-Identifier: Apache-2.0
"""The configuration of the KM3NeT chain."""

from collections.abc import Iterator

from anello.configuration.base import FrontEndsConfig, Relation, Scalar
from anello.configuration.python_keys import ChainName, chain_field
from anello.configuration.sections import ReceiveSection

from ..engine_keys import Km3netCoincidencesKeys, Km3netSlicesKeys, Km3netStoreKeys
from .sections import SLICES_PER_S, BoardsSection, Km3netRunSection, Km3netThreadsSection, LineSection

IP_AND_UDP_BYTES, HIT_BYTES = 28, 6
MAX_PACKET_BYTES = 65_535


class Km3netConfig(FrontEndsConfig):
    """Configuration of the chain from the boards of a line's DOMs to events."""

    source_section = "boards"

    chain: ChainName = chain_field("km3net")
    run: Km3netRunSection = Km3netRunSection()
    line: LineSection = LineSection()
    boards: BoardsSection = BoardsSection()
    receive: ReceiveSection = ReceiveSection()
    slices: Km3netSlicesKeys = Km3netSlicesKeys()
    coincidences: Km3netCoincidencesKeys = Km3netCoincidencesKeys()
    store: Km3netStoreKeys = Km3netStoreKeys()
    threads: Km3netThreadsSection = Km3netThreadsSection()

    @property
    def data_files(self) -> list[str]:
        return [self.store.messages] if self.store.messages else []

    @property
    def raw_files(self) -> list[str]:
        return self.data_files

    @property
    def packet_bytes(self) -> int:
        return IP_AND_UDP_BYTES + self.line.header_bytes + HIT_BYTES * self.boards.hits_per_datagram

    @property
    def front_ends(self) -> BoardsSection:
        return self.boards

    @property
    def n_slices(self) -> int:
        """Number of slices of the run; 0: the run has no end."""
        if self.run.n_slices or not self.run.duration_s:
            return self.run.n_slices
        return max(1, round(self.run.duration_s * SLICES_PER_S))

    def run_length(self) -> dict[str, int]:
        return {"run.n_slices": self.n_slices}

    def source_values(self) -> dict[str, Scalar]:
        """All keys under their full names, because the boards also need the keys of the line."""
        return self.flat()

    def relations(self) -> Iterator[Relation]:
        yield from super().relations()
        slices, boards, coincidences = self.slices, self.boards, self.coincidences
        yield Relation(
            self.packet_bytes <= MAX_PACKET_BYTES,
            "boards.hits_per_datagram",
            f"make a packet of {self.packet_bytes} bytes, and IP has room for {MAX_PACKET_BYTES}",
            "229 fit into 1500",
        )
        yield Relation(
            slices.max_lag + 1 < slices.window,
            "slices.window",
            f"must be above slices.max_lag + 1, {slices.max_lag + 1}",
            "DOMs that are ahead need room too",
        )
        yield Relation(
            slices.n_slices > slices.window + 1,
            "slices.n_slices",
            f"must be above slices.window + 1, {slices.window + 1}",
            "Slices that are looked at need memory too",
        )
        yield Relation(
            slices.run_number in (0, boards.run_number),
            "slices.run_number",
            f"must be boards.run_number, {boards.run_number}, or 0",
            "Set both",
        )
        yield Relation(
            coincidences.min_doms <= coincidences.min_hits <= coincidences.limit,
            "coincidences.min_hits",
            "must be at least coincidences.min_doms, and at most coincidences.limit",
            "4 are the experiment's",
        )
        yield Relation(
            boards.faults.dead_board < self.line.doms,
            "boards.faults.dead_board",
            f"must be a DOM of the line, which has {self.line.doms}",
            "They count from 0",
        )
        yield Relation(
            self.receive.policy != "overwrite_oldest",
            "receive.policy",
            "must be wait or drop_new here: slices are not overwritten",
            "The default is wait",
        )
