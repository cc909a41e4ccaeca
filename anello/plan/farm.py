# SPDX-License-Identifier: Apache-2.0
"""A farm and its load for a plan, and the settings that describe it to the simulation of farms."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from anello.errors import ConfigError

PROTOCOLS = ("push", "pull", "shift")
OUT_OF_STEP = "shift, out of step"
ROUTINGS = ("destination", "hashed", "spread")
MAX_NODES, MAX_MESSAGES = 512, 100_000_000
ONE_MACHINE_GBPS = 1e5  # where nodes share a machine's memory, their processor is the limit
LINKS_ACROSS = 4  # links from a node to one at another leaf switch


@dataclass(frozen=True)
class Costs:
    """Processor time of one side; `source` describes where the numbers are from."""

    per_message_ns: float = 700.0
    per_byte_ns: float = 0.001
    source: str = (
        "ucx_perftest tag_bw, 64 B over shared memory, 2 cores at 2.5 GHz: 0.7 to 0.8 µs a message; "
        "1 % of the payload verified at 10 GB/s"
    )
    own_share: float = 1.0  # cost of a message that stays on its node, as a share of the cost on both sides


@dataclass(frozen=True)
class Farm:
    """A farm. Every node reads out and builds; the first one also manages. Each has one thread for all of it."""

    n_nodes: int = 2
    protocol: str = "push"
    steps_ahead: int = 4  # shift: messages that a readout unit may be ahead of the slowest; 0: unlimited
    # --- The load
    payload_bytes: float = 120_000.0  # of a message (one readout unit's part of a multi-event packet)
    message_bytes: float = 124_000.0  # with the packet's own headers
    mep_interval_ns: float = 0.0  # between two multi-event packets; 0: as fast as buffers allow
    n_meps: int = 1000
    # --- Buffers
    n_credits: int = 20  # multi-event packets that a builder has room for
    n_buffers: int = 64  # messages that a readout unit has room for
    max_in_flight: int = 64  # messages in transit from one node to another
    # --- Nodes
    costs: Costs = Costs()
    n_cores: int = 0  # all nodes share these; 0: a machine for each node
    # --- Network
    link_gbps: float = 100.0  # of a node's card, each way; 0: no card, the nodes share a machine's memory
    card_sum_gbps: float = 0.0  # of a card, both ways together; 0: twice the link
    uplink_gbps: float = 100.0  # of a cable between leaf and spine switch
    latency_ns: float = 1200.0  # from a node to one at another leaf switch, one way
    jitter_ns: float = 1000.0  # greatest random delay of a message's start
    nodes_per_leaf: int = 20
    n_spines: int = 20
    routing: str = "destination"
    n_failed_links: int = 0  # cables between leaf and spine switches that have failed
    port_bytes: int = 128 << 10  # buffer of a switch for each of its input ports
    packet_bytes: int = 4096
    packet_overhead_bytes: int = 82
    # --- The simulation
    cell_bytes: int = 16 << 10  # part of a message that switches handle as a unit
    seed: int = 1

    @property
    def name(self) -> str:
        return OUT_OF_STEP if self.protocol == "shift" and not self.steps_ahead else self.protocol

    @property
    def n_leaves(self) -> int:
        return -(-self.n_nodes // self.nodes_per_leaf)

    @property
    def message_ns(self) -> float:
        """Processor time of one side for one message between nodes."""
        return self.costs.per_message_ns + self.costs.per_byte_ns * self.message_bytes

    def offered_gbps(self) -> float:
        """Payload that each node reads out."""
        return self.payload_bytes * 8 / self.mep_interval_ns if self.mep_interval_ns else math.inf

    def of(self, n_nodes: int, protocol: str, steps_ahead: int) -> "Farm":
        """The same farm with another number of nodes, under full load."""
        n_buffers = max(self.n_buffers, 2 * n_nodes)
        return replace(
            self, n_nodes=n_nodes, protocol=protocol, steps_ahead=steps_ahead, n_buffers=n_buffers, mep_interval_ns=0.0
        )

    def settings(self) -> list[str]:
        """Settings for `_engine.measure_farm`: packets of one small fragment, each of which represents a message."""
        values: dict[str, object] = {
            "n_nodes": self.n_nodes,
            "protocol": self.protocol,
            "steps_ahead": self.steps_ahead,
            "n_meps": self.n_meps,
            "n_credits": self.n_credits,
            "n_buffers": self.n_buffers,
            "max_in_flight": self.max_in_flight,
            "packing": 1,
            "fragment_bytes": 8,
            "fragment_spread": 0,
            "payload": "prepared",
            "carries_fragments": 0,
            "is_judged": 0,
            "mfp_bytes": self.message_bytes,
            "rate_hz": 1e9 / self.mep_interval_ns if self.mep_interval_ns else 0,
            "waits_for_data": int(self.mep_interval_ns > 0),
            "done_when": "arrived",
            "jitter_ns": self.jitter_ns,
            "packet_bytes": self.packet_bytes,
            "packet_overhead_bytes": self.packet_overhead_bytes,
            "step_ns": 100,
            "thing_ns": 0,
            "wake_ns": 0,
            "message_ns": self.costs.per_message_ns,
            "own_message_ns": 2 * self.costs.own_share * self.message_ns,
            "n_cores": self.n_cores,
            "core_gbps": min(1e6, 8 / self.costs.per_byte_ns) if self.costs.per_byte_ns else 1e6,
            "told_ns": 1000,
            "timeout_ns": 60e9,
            "peer_timeout_ns": 600e9,
            "heartbeat_ns": 60e9,
            "seed": self.seed,
        }
        return [f"{name}={value}" for name, value in (values | self._network()).items()]

    def _network(self) -> dict[str, object]:
        """The network. Nodes are spread evenly over the smallest sufficient number of leaf switches."""
        if not self.link_gbps:
            return {"gbps": ONE_MACHINE_GBPS, "latency_ns": self.latency_ns}
        return {
            "gbps": self.link_gbps,
            "uplink_gbps": self.uplink_gbps,
            "card_sum_gbps": self.card_sum_gbps,
            "latency_ns": self.latency_ns / LINKS_ACROSS,
            "n_spines": self.n_spines,
            "nodes_per_leaf": -(-self.n_nodes // self.n_leaves),
            "routing": self.routing,
            "n_failed_cables": self.n_failed_links if self.n_leaves > 1 else 0,
            "buffer_bytes": self.port_bytes,
            "cell_bytes": min(self.cell_bytes, self.port_bytes // 3),
        }

    def check(self) -> None:
        """Checks the farm. Raises ConfigError."""
        for holds, option, rule, given, remedy in self._checks():
            if not holds:
                raise ConfigError(option, rule, str(given), remedy)

    def _checks(self) -> Iterator[tuple[bool, str, str, object, str]]:
        yield self.protocol in PROTOCOLS, "--protocol", "must be push, pull or shift", self.protocol, "Choose one"
        rule = "must be destination, hashed or spread"
        yield self.routing in ROUTINGS, "--routing", rule, self.routing, "Choose one"
        for option, value, least, most in (
            ("--nodes", self.n_nodes, 2, MAX_NODES),
            ("--rounds", self.n_meps, 1, MAX_MESSAGES),
            ("exchange.credits", self.n_credits, 1, 65_536),
            ("--buffers", self.n_buffers, 2, 65_536),
            ("--in-flight", self.max_in_flight, 1, 65_536),
            ("--cores", self.n_cores, 0, 4096),
            ("--steps-ahead", self.steps_ahead, 0, 64),
            ("--jitter-us", self.jitter_ns * 1e-3, 0, 1e6),
            ("--link-gbps", self.link_gbps, 0, 1e5),
            ("--card-sum-gbps", self.card_sum_gbps, 0, 1e6),
            ("--uplink-gbps", self.uplink_gbps, 1e-3, 1e5),
            ("--latency-us", self.latency_ns * 1e-3, 0, 1e6),
            ("--port-kb", self.port_bytes / 1024, 1, 1e6),
            ("--radix", self.nodes_per_leaf + self.n_spines, 2, 4096),
            ("--cell-kb", self.cell_bytes / 1024, 0.25, 1e6),
            ("message bytes", self.message_bytes, 64, 1e9),
            ("payload bytes", self.payload_bytes, 1, 1e9),
            ("--demand-tbps", self.mep_interval_ns, 0, 1e12),
            ("--seed", self.seed, 0, 2**53),
            ("--packet-bytes", self.packet_bytes, 64, 2**20),
            ("--packet-overhead", self.packet_overhead_bytes, 0, 4096),
            ("per_message_ns", self.costs.per_message_ns, 0, 1e9),
            ("per_byte_ns", self.costs.per_byte_ns, 0, 1e6),
            ("own_share", self.costs.own_share, 0, 1e3),
        ):
            yield least <= value <= most, option, f"must be {least:g} to {most:g}", value, "Choose a value within"
        n_cables = self.n_leaves * self.n_spines
        rule = f"must leave cables between switches, of which there are {n_cables}"
        yield 0 <= self.n_failed_links < n_cables, "--failed-links", rule, self.n_failed_links, "Cut fewer"
        yield (
            self.link_gbps == 0 or self.n_leaves <= self.nodes_per_leaf + self.n_spines,
            "--radix",
            f"must be enough for {self.n_leaves} leaf switches at one spine switch",
            self.nodes_per_leaf + self.n_spines,
            "Take larger switches: a third level is not modelled",
        )
        yield (
            self.protocol != "shift" or self.n_buffers > self.n_nodes,
            "--buffers",
            f"must be above the number of nodes, {self.n_nodes}, where the protocol is shift",
            self.n_buffers,
            "A readout unit begins its round anywhere, so it must hold a whole one",
        )
        n_messages = self.n_meps * self.n_nodes
        yield (
            n_messages <= MAX_MESSAGES,
            "--rounds",
            f"must make no more than {MAX_MESSAGES:,} messages",
            n_messages,
            "Fewer",
        )
