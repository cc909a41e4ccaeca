# SPDX-License-Identifier: Apache-2.0
"""A farm and its load, as the simulation takes them. Times in ns, rates in bytes/ns (12.5 is 100 Gb/s)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from anello.errors import ConfigError

PROTOCOLS = ("push", "pull", "shift")
ROUTINGS = ("destination", "hashed", "spread")
MAX_NODES, MAX_MESSAGES = 1024, 50_000_000
GBPS = 0.125  # bytes/ns


@dataclass(frozen=True)
class Costs:
    """Processor time of one side; `source` says where the numbers come from."""

    per_message_ns: float = 700.0
    per_byte_ns: float = 0.001
    per_control_ns: float = 700.0
    source: str = (
        "ucx_perftest tag_bw, 64 B over shared memory, 2 cores at 2.5 GHz: 0.7 to 0.8 µs a message; "
        "1 % of the payload verified at 10 GB/s"
    )
    own_share: float = 1.0  # of these for a message that stays on its node


@dataclass(frozen=True)
class Farm:
    """Every node reads out and builds; one of them also manages, by a thread of its own."""

    n_nodes: int = 2
    protocol: str = "push"
    # --- The load
    payload_bytes: float = 120_000.0  # of a message (one readout unit's part of a multi-event packet)
    message_bytes: float = 124_000.0  # with headers of the packet and of the wire
    mep_interval_ns: float = 0.0  # between two multi-event packets; 0: as fast as there is room
    n_meps: int = 1000  # rounded up to whole rounds
    # --- Buffers
    n_credits: int = 20  # multi-event packets that a builder has room for
    n_buffers: int = 64  # messages that a readout unit has room for
    n_sends: int = 8  # messages that a readout unit has in flight
    # --- Nodes
    costs: Costs = Costs()
    n_threads: int = 1  # 1: one thread sends and receives; 2: one each
    n_cores: int = 0  # all nodes share these; 0: a machine for each node
    jitter_ns: float = 1000.0  # random delay of a message's start: half a normal distribution of this width
    memory_rate: float = 13.25  # of a message that stays on its machine
    # --- Network
    link_rate: float = 12.5  # of a node's card, each way; 0: none, the nodes share a machine's memory
    uplink_rate: float = 12.5  # of a cable between leaf and spine switch
    latency_ns: float = 1000.0  # one way
    nodes_per_leaf: int = 20
    n_spines: int = 20
    routing: str = "destination"
    n_failed_links: int = 0  # cables between leaf and spine switches
    # --- The simulation
    n_cells: int = 1  # parts of a message that switches handle one by one
    seed: int = 1

    @property
    def n_leaves(self) -> int:
        return -(-self.n_nodes // self.nodes_per_leaf)

    @property
    def n_meps_whole(self) -> int:
        return -(-self.n_meps // self.n_nodes) * self.n_nodes

    @property
    def message_ns(self) -> float:
        """Processor time of one side for one message between nodes."""
        return self.costs.per_message_ns + self.costs.per_byte_ns * self.message_bytes

    def offered_gbps(self) -> float:
        """Payload that each node reads out."""
        return self.payload_bytes / self.mep_interval_ns / GBPS if self.mep_interval_ns else math.inf

    def of(self, n_nodes: int, protocol: str) -> "Farm":
        """The same farm with another number of nodes, its load as large as there is room for."""
        n_buffers = max(self.n_buffers, 2 * n_nodes)
        return replace(self, n_nodes=n_nodes, protocol=protocol, n_buffers=n_buffers, mep_interval_ns=0.0)

    def check(self) -> None:
        """Raises ConfigError."""
        for holds, option, rule, given, remedy in self._checks():
            if not holds:
                raise ConfigError(option, rule, str(given), remedy)

    def _checks(self) -> Iterator[tuple[bool, str, str, object, str]]:
        yield self.protocol in PROTOCOLS, "--protocol", "must be push, pull or shift", self.protocol, "Choose one"
        rule = "must be destination, hashed or spread"
        yield self.routing in ROUTINGS, "--routing", rule, self.routing, "Choose one"
        for option, value, least, most in (
            ("--nodes", self.n_nodes, 2, MAX_NODES), ("--meps", self.n_meps, 1, MAX_MESSAGES),
            ("exchange.credits", self.n_credits, 1, 1_000_000), ("--buffers", self.n_buffers, 1, 10_000_000),
            ("--sends", self.n_sends, 1, 100_000), ("--threads", self.n_threads, 1, 2),
            ("--cores", self.n_cores, 0, 100_000), ("--jitter-us", self.jitter_ns * 1e-3, 0, 1e6),
            ("--memory-gbps", self.memory_rate / GBPS, 1e-3, 1e6), ("--link-gbps", self.link_rate / GBPS, 0, 1e5),
            ("--uplink-gbps", self.uplink_rate / GBPS, 1e-3, 1e6), ("--latency-us", self.latency_ns * 1e-3, 0, 1e6),
            ("--radix", self.nodes_per_leaf + self.n_spines, 2, 4096), ("--cells", self.n_cells, 1, 1000),
            ("message bytes", self.message_bytes, 64, 1e9), ("payload bytes", self.payload_bytes, 1, 1e9),
            ("--demand-tbps", self.mep_interval_ns, 0, 1e12), ("--seed", self.seed, 0, 2**63),
            ("per_message_ns", self.costs.per_message_ns, 0, 1e9), ("per_byte_ns", self.costs.per_byte_ns, 0, 1e6),
            ("per_control_ns", self.costs.per_control_ns, 0, 1e9), ("own_share", self.costs.own_share, 0, 1e3),
        ):  # fmt: skip
            yield least <= value <= most, option, f"must be {least:g} to {most:g}", value, "Choose a value within"
        n_cables = self.n_leaves * self.n_spines
        rule = f"must leave cables between switches, of which there are {n_cables}"
        yield 0 <= self.n_failed_links < n_cables, "--failed-links", rule, self.n_failed_links, "Cut fewer"
        yield (
            self.link_rate == 0 or self.n_leaves <= self.nodes_per_leaf + self.n_spines, "--radix",
            f"must be enough for {self.n_leaves} leaf switches at one spine switch",
            self.nodes_per_leaf + self.n_spines, "Take larger switches: a third level is not modelled",
        )  # fmt: skip
        yield (
            self.protocol != "shift" or self.n_buffers >= self.n_nodes, "--buffers",
            f"must not be below the number of nodes, {self.n_nodes}, where the protocol is shift", self.n_buffers,
            "A readout unit begins its round anywhere, so it must hold a whole one",
        )  # fmt: skip
        n_messages = self.n_meps_whole * self.n_nodes
        yield n_messages <= MAX_MESSAGES, "--meps", f"x nodes must not be above {MAX_MESSAGES:,}", n_messages, "Fewer"
