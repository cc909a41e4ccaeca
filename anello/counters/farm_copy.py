# SPDX-License-Identifier: Apache-2.0
"""The counter pages of a farm's nodes as one page: blocks by `node3.builder`, latencies added up. Blocks
`node3.member` hold the state of each node."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from anello.account.ledger import Counters
from anello.account.leg import LegLatency, merged
from anello.account.record import CounterDict
from anello.counters.live import ENDED, LIVE, SILENT, WAITING
from anello.counters.page_copy import PageCopy
from anello.counters.pages import Header

NODE_STATES = (LIVE, SILENT, ENDED, WAITING)  # node<n>.member.state; silent: the node is gone
MEMBER = "member"


@dataclass(frozen=True)
class FarmNode:
    """One node of a farm's run."""

    rank: int
    machine: str  # "here", or the agent's name
    page: str = ""  # name of its counter page; empty: not known yet
    state: str = ""  # ended, or gone; empty: the page has the state
    cause: str = ""  # why the node is gone


@dataclass(frozen=True)
class Seen:
    """A node with the last copy of its page; None: no page was seen yet."""

    member: FarmNode
    page: PageCopy | None

    @property
    def state(self) -> str:
        if self.member.state == "gone":
            return SILENT
        if self.member.state == "ended":
            return ENDED
        return WAITING if self.page is None else LIVE


def together(nodes: Sequence[Seen]) -> PageCopy | None:
    """The page of the farm; None where no node has a page yet. Threads as `node3.builder`, buffers as
    `builder.node3`."""
    pages = {one.member.rank: one.page for one in nodes if one.page is not None}
    if not pages:
        return None
    living = [one.page for one in nodes if one.page is not None and one.state == LIVE] or [*pages.values()]
    first = next(iter(pages.values()))
    return PageCopy(
        name=first.name,
        header=_header(living),
        counters=dict(_counters(nodes)),
        latency=_latency([*pages.values()]),
        threads=[
            replace(thread, name=f"node{rank}.{thread.name}") for rank, page in pages.items() for thread in page.threads
        ],
        buffers=[replace(one, stage=f"{one.stage}.node{rank}") for rank, page in pages.items() for one in page.buffers],
        event=max((page.event for page in pages.values() if page.event), key=lambda event: event.wall_ns, default=None),
    )


def _header(pages: Sequence[PageCopy]) -> Header:
    """The header, with the oldest heartbeat of all nodes."""
    return replace(
        pages[0].header,
        heartbeat_ns=min(page.header.heartbeat_ns for page in pages),
        control_ns=min(page.header.control_ns for page in pages),
    )


def _counters(nodes: Sequence[Seen]) -> Iterator[tuple[str, dict[str, int]]]:
    for one in nodes:
        rank = one.member.rank
        yield f"node{rank}.{MEMBER}", {"state": NODE_STATES.index(one.state)}
        for block, values in (one.page.counters if one.page else {}).items():
            yield f"node{rank}.{block}", dict(values)


def _latency(pages: Sequence[PageCopy]) -> dict[str, dict[str, LegLatency]]:
    found: dict[str, dict[str, list[LegLatency]]] = defaultdict(lambda: defaultdict(list))
    for page in pages:
        for leg, windows in page.legs().items():
            for window, values in windows.items():
                found[leg][window].append(values)
    return {leg: {name: merged(each) for name, each in windows.items()} for leg, windows in found.items()}


def of_nodes(counters: Counters) -> dict[int, CounterDict]:
    """The blocks of each node, by its rank."""
    nodes: dict[int, CounterDict] = {}
    for name, values in counters.items():
        node, _, block = name.partition(".")
        if (rank := node.removeprefix("node")).isdigit() and block:
            nodes.setdefault(int(rank), {})[block] = dict(values)
    return dict(sorted(nodes.items()))


def state_of(blocks: Counters) -> str:
    """The state of a node, according to its blocks."""
    return NODE_STATES[blocks[MEMBER]["state"]]
