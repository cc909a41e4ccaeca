# SPDX-License-Identifier: Apache-2.0
"""The part of the configuration that all chains share, and the part of all chains with front ends."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from pydantic import BaseModel, model_validator
from pydantic.fields import FieldInfo

from anello.configuration.engine_keys import PublishKeys
from anello.configuration.python_keys import ChainName, chain_field
from anello.configuration.section import Section
from anello.configuration.sections import (
    AlarmsSection,
    FrontEndsRunSection,
    PlacementSection,
    ReceiveSectionWithoutPorts,
    RunSection,
    ThreadsSection,
)

Scalar = bool | int | float | str | list[Any]


class FrontEnds(Protocol):
    """What the front ends of any chain have."""

    @property
    def rate_hz(self) -> float: ...
    @property
    def host(self) -> str: ...
    @property
    def ports(self) -> Sequence[int]: ...


class Relation(NamedTuple):
    """A rule between keys."""

    holds: bool
    field: str
    rule: str
    remedy: str


class RelationError(ValueError):
    """A rule between keys is broken."""

    def __init__(self, relation: Relation) -> None:
        super().__init__(relation.rule)
        self.field, self.rule, self.remedy = relation.field, relation.rule, relation.remedy


class Config(Section):
    """A whole configuration of one chain; every key has a default."""

    chain: ChainName = chain_field()
    run: RunSection
    alarms: AlarmsSection = AlarmsSection()

    @property
    @abstractmethod
    def placement(self) -> PlacementSection:
        """The section of the threads."""

    @property
    @abstractmethod
    def n_threads(self) -> int:
        """Number of the node's threads."""

    @property
    @abstractmethod
    def spins(self) -> bool:
        """True if threads spin when there is nothing to do."""

    @property
    @abstractmethod
    def host(self) -> str:
        """The local address at which data arrive."""

    @property
    def machines(self) -> list[str]:
        """The machines of a farm's nodes, in the order of the nodes' numbers; empty: the run has one node, here."""
        return []

    @property
    def data_files(self) -> list[str]:
        """Files that a run writes, relative to its directory; {node}: the number of a farm's node."""
        return []

    @property
    def raw_files(self) -> list[str]:
        """Those data files whose format cannot store which run they belong to."""
        return []

    def flat(self) -> dict[str, Scalar]:
        """All values by dotted key, e.g. `receive.gro`; the run's length in the form that the run needs."""
        return self.as_given()

    def as_given(self) -> dict[str, Scalar]:
        """All values by dotted key, as in the file and the settings."""
        return dict(flatten(self.model_dump(by_alias=True)))

    def whole(self) -> dict[str, Scalar]:
        """All values that a run depends on, by dotted key."""
        return self.as_given()

    @abstractmethod
    def relations(self) -> Iterator[Relation]:
        """Each rule between keys."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for relation in self.relations():
            if not relation.holds:
                raise RelationError(relation)
        return self


class FrontEndsConfig(Config):
    """The configuration of a chain that receives what front ends send."""

    source_section: ClassVar[str]  # name of the section of the front ends

    run: FrontEndsRunSection
    receive: ReceiveSectionWithoutPorts
    threads: ThreadsSection

    @property
    @abstractmethod
    def front_ends(self) -> FrontEnds:
        """The section of the front ends."""

    @property
    @abstractmethod
    def packet_bytes(self) -> int:
        """Greatest IP packet that the front ends send."""

    @abstractmethod
    def run_length(self) -> dict[str, int]:
        """The key that ends the run, and its value according to the duration; 0: endless."""

    @property
    def placement(self) -> PlacementSection:
        return self.threads

    @property
    def spins(self) -> bool:
        return self.threads.wait in ("spin", "spin_pinned")

    @property
    def n_lanes(self) -> dict[str, int]:
        """The number of lanes of each stage that has more than one; each lane has a thread of its own."""
        return {}

    @property
    def n_threads(self) -> int:
        return self.threads.n_threads(self.n_lanes)

    @property
    def remarks(self) -> list[str]:
        """What the user should know before a run."""
        return []

    @property
    def waits_for_data(self) -> bool:
        """True if threads wait for data: not where they spin or read a file at full speed. Only waiting threads may
        have real-time priority."""
        return not self.spins and not self.reads_file

    @property
    def reads_file(self) -> bool:
        """True if the data are read from a capture file."""
        return self.receive.backend == "pcap" or (self.receive.backend == "nanet" and bool(self.receive.pcap_file))

    @property
    def front_ends_go_first(self) -> bool:
        """Whether simulated front ends have real-time priority: a detector does not wait for a core."""
        return self.threads.priority == "realtime" and getattr(self.front_ends, "paced", True)

    @property
    def host(self) -> str:
        return self.receive.host

    def flat(self) -> dict[str, Scalar]:
        return super().flat() | self.run_length()

    def source_values(self) -> dict[str, Scalar]:
        """The values that the engine needs for the front ends: keys of their section without prefix, and the seed."""
        prefix = f"{self.source_section}."
        values = {key.removeprefix(prefix): value for key, value in self.flat().items() if key.startswith(prefix)}
        return values | {"seed": self.run.seed}

    def relations(self) -> Iterator[Relation]:
        yield Relation(
            len(self.front_ends.ports) == len(self.receive.ports),
            "receive.ports",
            f"must name as many ports as {self.source_section}.ports, {len(self.front_ends.ports)}",
            "0 takes any free port",
        )
        yield Relation(
            self.receive.backend != "pcap" or bool(self.receive.pcap_file),
            "receive.pcap_file",
            "must name a file when receive.backend is pcap",
            'Give the file, or set receive.backend = "socket"',
        )
        n_cores = len(self.threads.layout) * max(self.n_lanes.values(), default=1)
        yield Relation(
            len(self.threads.cores) <= n_cores,
            "threads.cores",
            f"must not name more cores than threads.layout has threads, times their lanes: {n_cores}",
            "Leave some out",
        )


def publish_relations(publish: PublishKeys) -> Iterator[Relation]:
    """The relation between publish.to and publish.address: the address must suit the transport."""
    is_endpoint = publish.address.startswith(("tcp://", "ipc://"))
    yield Relation(
        publish.to != "stream" or (len(publish.address) > 1 and not is_endpoint),
        "publish.address",
        "must be a path, or @ and a name, where publish.to is stream",
        "For example @anello",
    )
    yield Relation(
        publish.to not in ("zmq_push", "zmq_pub") or (is_endpoint and len(publish.address) > 6),
        "publish.address",
        f"must be tcp://INTERFACE:PORT or ipc://PATH where publish.to is {publish.to}",
        "For example tcp://127.0.0.1:5556",
    )


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Scalar]]:
    """(dotted key, value) of nested tables."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def fields_by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields by the name that they have in a file, which may be a name that Python code cannot use."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """The model of a field that is a section; None for other fields."""
    annotation = field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
