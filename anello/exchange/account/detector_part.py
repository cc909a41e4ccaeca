# SPDX-License-Identifier: Apache-2.0
"""A detector's rows for the ledger of a farm and its causes of loss, before and after the exchange."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from anello import registry
from anello.account.ledger import Counters, Loss, Reader, Row
from anello.account.verdict import Flaw


@dataclass(frozen=True)
class ExchangeLosses:
    """What did not pass the exchange completely; rows over all nodes depend on it."""

    nodes: bool  # some nodes died, or left before the end
    mfps: bool  # readout units sent more MFPs, or fewer, than builders received
    mfps_by_cause: bool  # some MFPs were withheld or discarded


class DetectorPart:
    """The part of a detector; this base class adds nothing. Each method is called once per node, with that node's
    counters."""

    packs: ClassVar[Mapping[str, str]] = {}  # block of counters of an MFP packer -> what it does to MFPs
    packed: ClassVar[tuple[str, str]] = ("", "")  # block and counter of the parts that readout units packed,
    unpacked: ClassVar[tuple[str, str]] = ("", "")  # and of those that builders found in MEPs
    causes: ClassVar[Mapping[tuple[str, str], str]] = {}  # (block, counter) -> the loss of a node in words

    def rows_of_node(self, counters: Counters) -> Iterator[Row]:
        """Rows from a node's own counters, which hold whether it lived to the end or not."""
        yield from ()

    def rows_of_node_at_end(self, counters: Counters) -> Iterator[Row]:
        """Rows from a node's own counters, including those that hold only where it lived to the end."""
        yield from ()

    def rows_of_farm(self, nodes: Sequence[Counters], gone: ExchangeLosses) -> Iterator[Row]:
        """Rows over all nodes; none where nodes died or MFPs are missing in MEPs: the parts in them are not counted
        anywhere, and such MFPs have rows of their own."""
        ends = (self.packed, self.unpacked)
        if gone.nodes or gone.mfps_by_cause or not all(any(block in node for node in nodes) for block, _ in ends):
            return
        packed, came = (sum(node.get(block, {}).get(name, 0) for node in nodes) for block, name in ends)
        yield Reader({}).row("parts", "packed by all nodes", packed, [("in MEPs", came)])

    def board_losses(self, counters: Counters, *, by_now: bool) -> Iterator[Loss]:
        """What the node's boards made and the node did not receive. by_now: the boards still send, and what is on its
        way is not lost."""
        yield from ()

    def losses(self, counters: Counters) -> dict[str, int]:
        """A node's other losses, by words; causes without losses are left out."""
        return {}

    def flaws(self, counters: Counters, most_degraded_share: float) -> list[Flaw]:
        """Other flaws of a node's part of the run."""
        return []


def detector_parts() -> list[DetectorPart]:
    return [kind() for kind in registry.parts("farm").values()]
