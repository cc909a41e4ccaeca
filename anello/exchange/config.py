# SPDX-License-Identifier: Apache-2.0
"""The configuration of the exchange."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from anello.config_base import ChainName, Config, Relation, Scalar
from anello.errors import ConfigError
from anello.exchange.sections import (
    ExchangeOutputSection,
    ExchangeRunSection,
    ExchangeSection,
    ExchangeThreadsSection,
    FabricSection,
    GeneratorSection,
)

MFP_HEADER_BYTES = 48
BYTES_BESIDE_FRAGMENT = 2 + 4  # its size and checksum, in the packet's header
ALIGNMENT_BYTES = 8
# What may differ from node to node; everything else must be the same.
OWN_KEYS = frozenset(
    {
        "run.directory", "run.display", "fabric.host", "fabric.port", "fabric.ucx_net_devices", "threads.cores",
        "threads.layout", "output.file",
    }
)  # fmt: skip


class ExchangeConfig(Config):
    """From the fragments of many nodes to whole events on each of them."""

    chain: ChainName = Field(default="exchange", description=Config.model_fields["chain"].description)
    run: ExchangeRunSection = ExchangeRunSection()
    exchange: ExchangeSection = ExchangeSection()
    generator: GeneratorSection = GeneratorSection()
    fabric: FabricSection = FabricSection()
    output: ExchangeOutputSection = ExchangeOutputSection()
    threads: ExchangeThreadsSection = ExchangeThreadsSection()

    @property
    def n_threads(self) -> int:
        return len(self.threads.layout)

    @property
    def placement(self) -> ExchangeThreadsSection:
        return self.threads

    @property
    def spins(self) -> bool:
        return self.exchange.wait == "spin"

    @property
    def host(self) -> str:
        return self.fabric.host

    @property
    def max_mfp_bytes(self) -> int:
        """A readout unit's part of a multi-event packet, as large as it can be (docs/reference/mfp.md)."""
        packing, aligned = self.exchange.packing, -(-self.generator.fragment_max_bytes // 8) * 8
        return MFP_HEADER_BYTES + -(-2 * packing // 4) * 4 + 4 * packing + 8 + packing * aligned

    def roles_of(self, n_nodes: int) -> list[str]:
        """em, ru, bu of each node, joined by +. Raises ConfigError where the configuration is for another number."""
        roles = self.exchange.roles
        if roles == ["all"]:
            return ["em+ru+bu", *["ru+bu"] * (n_nodes - 1)]
        if len(roles) != n_nodes:
            rule = f'must be ["all"] or name each node, and there are {n_nodes}'
            raise ConfigError("exchange.roles", rule, str(roles), 'The default is ["all"]')
        return ["+".join(word.strip() for word in node.split("+")) for node in roles]

    def manager(self, n_nodes: int) -> int:
        """The node that is the event manager."""
        return next(node for node, roles in enumerate(self.roles_of(n_nodes)) if "em" in roles.split("+"))

    def common_values(self) -> dict[str, Scalar]:
        """What must be the same on all nodes, by dotted key."""
        return {key: value for key, value in self.as_given().items() if key not in OWN_KEYS}

    def fingerprint(self) -> str:
        """The same for configurations that can work together."""
        return hashlib.sha256(json.dumps(self.common_values(), sort_keys=True).encode()).hexdigest()[:16]

    def relations(self) -> Iterator[Relation]:
        run, generator = self.run, self.generator
        yield Relation(
            run.duration_s > 0 or self.exchange.n_meps > 0, "run.duration_s",
            "must be above 0 where exchange.n_meps is 0: nothing else ends the run", "The default is 10",
        )  # fmt: skip
        yield Relation(
            generator.fragment_min_bytes <= generator.fragment_mean_bytes, "generator.fragment_min_bytes",
            f"must not be above fragment_mean_bytes, {generator.fragment_mean_bytes:g}", "The default is 32",
        )  # fmt: skip
        yield Relation(
            generator.fragment_mean_bytes <= generator.fragment_max_bytes, "generator.fragment_max_bytes",
            f"must not be below fragment_mean_bytes, {generator.fragment_mean_bytes:g}", "The default is 240",
        )  # fmt: skip
        yield Relation(
            self.max_mfp_bytes <= self.fabric.max_message_bytes, "fabric.max_message_bytes",
            f"must be at least {self.max_mfp_bytes}: {self.exchange.packing} fragments of "
            f"{generator.fragment_max_bytes} bytes", "Raise it, or lower exchange.packing",
        )  # fmt: skip
        faults = self.fabric.faults
        yield Relation(
            self.fabric.transport == "udp" or not (faults.loss or faults.duplicate), "fabric.faults.loss",
            f"and duplicate need a transport that may lose, and {self.fabric.transport} may not",
            'Set fabric.transport = "udp"',
        )  # fmt: skip
        yield Relation(
            len(self.threads.cores) <= self.n_threads, "threads.cores",
            f"must not name more cores than threads.layout has threads, {self.n_threads}", "Leave some out",
        )  # fmt: skip


def differences(mine: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """`exchange.packing is 600, and 300 there`, for each key of common_values that differs."""
    return [
        f"{key} is {mine.get(key, 'unknown')}, and {other.get(key, 'unknown')} there"
        for key in sorted(mine.keys() | other.keys())
        if mine.get(key) != other.get(key)
    ]
