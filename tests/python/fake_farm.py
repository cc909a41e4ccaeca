# SPDX-License-Identifier: Apache-2.0
"""A farm without processes: an operator that leads three nodes, and their pages, which count with their clock."""

from dataclasses import replace

import exchange_synthetic as synthetic
from fake_control import ROOT, SECOND, FakeOperator, FakePages

from anello.control.operator import Status
from anello.control.states import State
from anello.counters.farm_copy import FarmNode
from anello.counters.page_copy import PageCopy
from anello.counters.pages import Buffers, Header, Thread

EXCHANGE = ROOT / "configs/lhcb-exchange.toml"
N_NODES = 3


class FakeFarm(FakeOperator):
    """gone: nodes that died."""

    def __init__(self) -> None:
        super().__init__(State.RUNNING)
        self.file, self.gone = str(EXCHANGE), set[int]()

    def status(self) -> Status:
        members = [
            FarmNode(rank, "here" if rank == 0 else f"rack{rank}", f"anello.node.{rank}",
                   "gone" if rank in self.gone else "", "killed by signal 9" if rank in self.gone else "")
            for rank in range(N_NODES)
        ]  # fmt: skip
        return replace(super().status(), chain="exchange", name="lhcb-exchange", node_page="anello.node.0",
                       source_page="", members=tuple(members))  # fmt: skip


class FarmPages(FakePages):
    """300 packets a second of each builder."""

    def copy(self, name: str) -> PageCopy:
        rank, n = int(name.rpartition(".")[2]), (self.now_ns - self.begin_ns) // (SECOND // 10)
        counters = {
            block: {counter: value * n // 10 for counter, value in values.items()}
            for block, values in synthetic.counters_of(rank, N_NODES).items()
        }
        beat_ns = self.now_ns - rank * SECOND // 10
        header = Header(rank + 1, True, self.begin_ns, 42, "lhcb-exchange", "exchange", "running", "c0ffee00", beat_ns,
                        beat_ns)  # fmt: skip
        latency = {
            leg: {"run": window | {name: window[name] * int(n) for name in ("count", "bin_counts")}, "10s": window}
            for leg, window in synthetic.latency().items()
        }
        thread = Thread("exchange", True, self.now_ns, 0.1 * rank, 0.1 * rank, 80_000, 80_000)
        return PageCopy(name, header, counters, latency, (thread,), (Buffers("builder", 20, 20 - rank),))
