# SPDX-License-Identifier: Apache-2.0
"""What a detector adds to the ledger of a farm and to its causes of loss, before and after the exchange."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from anello import registry
from anello.account.ledger import Counters, Reader, Row
from anello.account.verdict import Flaw


@dataclass(frozen=True)
class ExchangeLosses:
    """What did not arrive through the exchange, as far as rows over all nodes must know it."""

    nodes: bool  # some nodes died, or left before the end
    mfps: bool  # readout units took more MFPs, or fewer, than builders received
    mfps_by_cause: bool  # some MFPs were kept back or discarded


class DetectorPart:
    """One that adds nothing. Each part is asked for each node, and answers by its own blocks of counters."""

    packs: ClassVar[Mapping[str, str]] = {}  # block that counts the MFPs that it makes -> what it does to them
    packed: ClassVar[tuple[str, str]] = ("", "")  # block and counter of the parts that readout units packed,
    unpacked: ClassVar[tuple[str, str]] = ("", "")  # and of those that builders found in MEPs
    causes: ClassVar[Mapping[tuple[str, str], str]] = {}  # (block, counter) -> words: what a node loses

    def rows_of_node(self, counters: Counters) -> Iterator[Row]:
        """What a node knows alone, whether it lived to the end or not."""
        yield from ()

    def rows_of_node_at_end(self, counters: Counters) -> Iterator[Row]:
        """What a node knows alone, and what holds only where it lived to the end."""
        yield from ()

    def rows_of_farm(self, nodes: Sequence[Counters], gone: ExchangeLosses) -> Iterator[Row]:
        """Over all nodes; none where some are gone, or MFPs were not built into a MEP: how many parts they held nobody
        has counted, and they have rows of their own."""
        ends = (self.packed, self.unpacked)
        if gone.nodes or gone.mfps_by_cause or not all(any(block in node for node in nodes) for block, _ in ends):
            return
        packed, came = (sum(node.get(block, {}).get(name, 0) for node in nodes) for block, name in ends)
        yield Reader({}).row("parts", "packed by all nodes", packed, [("in MEPs", came)])

    def losses(self, counters: Counters) -> dict[str, int]:
        """What else a node lost, by words; causes with none are left out."""
        return {}

    def flaws(self, counters: Counters, most_degraded_share: float) -> list[Flaw]:
        """What else is wrong with a node's part of the run."""
        return []


def detector_parts() -> list[DetectorPart]:
    return [kind() for kind in registry.parts("farm").values()]
