# SPDX-License-Identifier: Apache-2.0
"""The configuration of the exchange."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import PrivateAttr

from anello import registry
from anello.configuration.base import Config, FrontEndsConfig, Relation, Scalar, publish_relations
from anello.configuration.engine_keys import PublishKeys
from anello.configuration.python_keys import ChainName, chain_field
from anello.errors import ConfigError
from anello.exchange.configuration.python_keys import GENERATOR, OUTPUTS
from anello.exchange.configuration.roles import each, objection
from anello.exchange.configuration.sections import (
    ExchangeAlarmsSection,
    ExchangeInputSection,
    ExchangeRunSection,
    ExchangeSection,
    ExchangeThreadsSection,
    FarmSection,
    GeneratorSection,
    OutputSection,
)
from anello.exchange.engine_keys import FabricKeys
from anello.system.run_directory import of_node

MFP_HEADER_BYTES = 48
BYTES_BESIDE_FRAGMENT = 2 + 4  # a fragment's size and checksum, in the packet's header
ALIGNMENT_BYTES = 8
# Keys that may differ from node to node; all others must be the same.
# fmt: off
OWN_KEYS = frozenset(
    {
        "run.directory", "run.display", "fabric.host", "fabric.port", "fabric.ucx_net_devices", "threads.cores",
        "threads.layout", "threads.near", "output.file", "publish.address", "input.config",
    }
)
# fmt: on
OWN_SECTIONS = ("alarms.", "farm.")
OWN_KEYS_OF_CHAIN = ("run.", "threads.", "receive.")  # sections of the chain before the exchange


class ExchangeConfig(Config):
    """From the fragments of many nodes to whole events on each of them."""

    chain: ChainName = chain_field("exchange")
    run: ExchangeRunSection = ExchangeRunSection()
    exchange: ExchangeSection = ExchangeSection()
    input: ExchangeInputSection = ExchangeInputSection()
    generator: GeneratorSection = GeneratorSection()
    fabric: FabricKeys = FabricKeys()
    output: OutputSection = OutputSection()
    publish: PublishKeys = PublishKeys()
    threads: ExchangeThreadsSection = ExchangeThreadsSection()
    farm: FarmSection = FarmSection()
    alarms: ExchangeAlarmsSection = ExchangeAlarmsSection()
    _of_chain: FrontEndsConfig | None = PrivateAttr(default=None)

    @property
    def of_chain(self) -> FrontEndsConfig | None:
        """The configuration of the chain before the exchange (input.config); none with a generator."""
        return self._of_chain

    def behind(self, chain: FrontEndsConfig, file: str) -> Self:
        """This configuration for a chain whose configuration was read from `file`. Raises ConfigError."""
        if chain.chain != self.input.from_:
            raise ConfigError(
                "input.config",
                f"must be of the chain {self.input.from_}, as input.from says",
                f'"{file}", which is of the chain {chain.chain}',
                "Name another file",
            )
        own = self.model_copy(update={"input": self.input.model_copy(update={"config": file})})
        own._of_chain = chain
        return own

    def on_cores(self, own: Sequence[int], chain: FrontEndsConfig) -> Self:
        """This configuration with cores for its threads and for the chain, if that has some."""
        placed = self.model_copy(update={"threads": self.threads.model_copy(update={"cores": list(own)})})
        placed._of_chain = chain
        return placed

    @property
    def data_files(self) -> list[str]:
        return self._meps + [of_node(name, "{node}") for name in (self._of_chain.data_files if self._of_chain else [])]

    @property
    def raw_files(self) -> list[str]:
        return self._meps + [of_node(name, "{node}") for name in (self._of_chain.raw_files if self._of_chain else [])]

    @property
    def _meps(self) -> list[str]:
        return [self.output.file] if self.output.to == "store" else []

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
    def machines(self) -> list[str]:
        return self.farm.nodes

    @property
    def max_mfp_bytes(self) -> int:
        """Greatest size of a readout unit's part of a multi-event packet (docs/reference/mfp.md)."""
        if self.input.from_ != GENERATOR:
            return self.fabric.max_message_bytes
        packing, aligned = self.exchange.packing, -(-self.generator.fragment_max_bytes // 8) * 8
        return MFP_HEADER_BYTES + -(-2 * packing // 4) * 4 + 4 * packing + 8 + packing * aligned

    def roles_of(self, n_nodes: int) -> list[str]:
        """The roles em, sb, ru, bu of each node, joined by +. Raises ConfigError where they are for another number
        of nodes."""
        given = self.exchange.roles
        roles = each(given, n_nodes)
        rule = f'must be ["all"] or name each node, and there are {n_nodes}' if roles is None else objection(roles)
        if roles is None or rule:
            raise ConfigError("exchange.roles", rule, str(given), 'The default is ["all"]')
        return roles

    def manager(self, n_nodes: int) -> int:
        """The number of the node that is the event manager."""
        return next(node for node, roles in enumerate(self.roles_of(n_nodes)) if "em" in roles.split("+"))

    def whole(self) -> dict[str, Scalar]:
        """All values, including those of the chain before the exchange."""
        chain = self._of_chain.as_given() if self._of_chain else {}
        return self.as_given() | {f"input.config.{key}": value for key, value in chain.items()}

    def common_values(self) -> dict[str, Scalar]:
        """Values that must be the same on all nodes, by dotted key."""
        given = self.as_given().items()
        values = {key: value for key, value in given if key not in OWN_KEYS and not key.startswith(OWN_SECTIONS)}
        return values | {f"input.config.{key}": value for key, value in self._values_of_chain()}

    def _values_of_chain(self) -> Iterator[tuple[str, Scalar]]:
        if not self._of_chain:
            return
        section = self._of_chain.source_section
        own = {f"{section}.{name}" for name in ("host", "ports", "core", "wait")}
        for key, value in self._of_chain.as_given().items():
            if key not in own and not key.startswith(OWN_KEYS_OF_CHAIN):
                yield key, value

    def fingerprint(self) -> str:
        """A digest that is the same for all configurations that can work together."""
        return hashlib.sha256(json.dumps(self.common_values(), sort_keys=True).encode()).hexdigest()[:16]

    def relations(self) -> Iterator[Relation]:
        generator = self.generator
        yield from publish_relations(self.publish)
        yield Relation(
            generator.fragment_min_bytes <= generator.fragment_mean_bytes,
            "generator.fragment_min_bytes",
            f"must not be above fragment_mean_bytes, {generator.fragment_mean_bytes:g}",
            "The default is 32",
        )
        yield Relation(
            generator.fragment_mean_bytes <= generator.fragment_max_bytes,
            "generator.fragment_max_bytes",
            f"must not be below fragment_mean_bytes, {generator.fragment_mean_bytes:g}",
            "The default is 240",
        )
        yield Relation(
            self.max_mfp_bytes <= self.fabric.max_message_bytes,
            "fabric.max_message_bytes",
            f"must be at least {self.max_mfp_bytes}: {self.exchange.packing} fragments of "
            f"{generator.fragment_max_bytes} bytes",
            "Raise it, or lower exchange.packing",
        )
        source, to = self.input.from_, self.output.to
        outputs = (*OUTPUTS, *(() if source == GENERATOR else registry.registration(source).outputs))
        yield Relation(
            (source == GENERATOR) == (not self.input.config),
            "input.config",
            f"must {'be left out' if source == 'generator' else 'be given'} where input.from is {source}",
            f'For example input.from = "{registry.default_chain()}", and in input.config the file of that chain',
        )
        yield Relation(
            to in outputs,
            "output.to",
            f"must be {' or '.join(outputs)} where input.from is {source}",
            'The default is "nothing"',
        )
        yield Relation(
            len(self.threads.cores) <= self.n_threads,
            "threads.cores",
            f"must not name more cores than threads.layout has threads, {self.n_threads}",
            "Leave some out",
        )


def differences(mine: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """`exchange.packing is 600, and 300 there`, for each key of common_values that differs."""
    return [
        f"{key} is {mine.get(key, 'unknown')}, and {other.get(key, 'unknown')} there"
        for key in sorted(mine.keys() | other.keys())
        if mine.get(key) != other.get(key)
    ]
