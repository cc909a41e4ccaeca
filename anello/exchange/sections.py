# SPDX-License-Identifier: Apache-2.0
"""The sections of the exchange's configuration; those that several chains have are in anello/sections.py."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from anello import registry
from anello.section import Section
from anello.sections import OneOf, PlacementSection, Port, RunSection, Share, layout_field

MAX_NODES = 1024
MAX_PACKING = 16_384  # events of one multi-event packet
MAX_FRAGMENT_BYTES = 65_528  # a fragment's size is a 16-bit number, and fragments are padded to 8 bytes
ROLES = ("em", "ru", "bu")
GENERATOR = "generator"
FEEDING = tuple(chain for chain in registry.names() if registry.registration(chain).feed)  # may stand before it
OUTPUTS = {"nothing": "they are counted and checked", "store": "each builder writes a file"}
OUTPUTS_OF_CHAINS = {output: f"{meaning}, with input {chain}" for chain in FEEDING
                     for output, meaning in registry.registration(chain).outputs.items()}  # fmt: skip


class ExchangeRunSection(RunSection):
    """The run as a whole."""

    name: str = Field(
        default="lhcb-exchange",
        pattern=r"^[\w.-]+$",
        description="Name of the run, with which its report directory's name begins.",
    )
    duration_s: float = Field(
        default=10,
        ge=0,
        le=1e6,
        description="Time during which events are assigned to builders; 0: until exchange.n_meps.",
    )


class ExchangeSection(Section):
    """Who builds which events, and how long one waits for another."""

    protocol: Literal["push", "pull", "shift"] = Field(
        default="push",
        description="push: the manager tells readout units where to send. pull: builders request what they have room "
        "for. shift: whole rounds, each readout unit starting at the builder after itself.",
    )
    packing: int = Field(default=600, ge=1, le=MAX_PACKING, description="Events per multi-event packet.")
    n_meps: int = Field(
        default=0, ge=0, le=2**62, description="Multi-event packets in the run; 0: limited by duration_s."
    )
    credits: int = Field(
        default=20, ge=1, le=65_536, description="Multi-event packets that a builder has room for at a time."
    )
    timeout_ms: float = Field(
        default=500, ge=1, le=600_000, description="How long a multi-event packet waits for a missing source, ms."
    )
    roles: list[str] = Field(
        default=["all"], min_length=1, max_length=MAX_NODES,
        description="Roles of the nodes: em (event manager), ru (readout unit), bu (builder unit), joined by +; one "
        "entry for each node, or [\"all\"]: every node reads out and builds, and node 0 manages.",
    )  # fmt: skip
    verify_share: Share = Field(default=0.01, description="Share of the fragments whose checksum a builder verifies.")
    peer_timeout_ms: float = Field(
        default=1000,
        ge=10,
        le=600_000,
        description="A node suspended for less than this is not considered dead, one suspended for 1.5 times as long "
        "is, ms.",
    )
    wait: Literal["adaptive", "spin"] = Field(
        default="adaptive",
        description="What a thread does when there is nothing to do; adaptive: it spins for a moment, then sleeps.",
    )

    @field_validator("roles")
    @classmethod
    def _known_roles(cls, roles: list[str]) -> list[str]:
        if roles == ["all"]:
            return roles
        words = [[word.strip() for word in node.split("+")] for node in roles]
        if any(word not in ROLES for node in words for word in node):
            raise ValueError('must be ["all"], or em, ru, bu, joined by +, for each node')
        if any(len(node) != len(set(node)) for node in words):
            raise ValueError("must not name a role twice for one node")
        for role, name, right in (
            ("em", "one event manager", {1}),
            ("ru", "a readout unit", None),
            ("bu", "a builder", None),
        ):
            n = sum(role in node for node in words)
            if (n not in right) if right else n == 0:
                raise ValueError(f"must have {name}")
        return roles


class GeneratorSection(Section):
    """The emulated readout card of each readout unit."""

    rate_hz: float = Field(default=0, ge=0, le=1e9, description="Events/s; 0: as fast as buffers become free.")
    fragment_mean_bytes: float = Field(default=200, ge=1, le=MAX_FRAGMENT_BYTES, description="Mean size of a fragment.")
    fragment_sigma_bytes: float = Field(
        default=20, ge=0, le=MAX_FRAGMENT_BYTES, description="Standard deviation of the size of a fragment."
    )
    fragment_min_bytes: int = Field(default=32, ge=1, le=MAX_FRAGMENT_BYTES, description="Smallest fragment.")
    fragment_max_bytes: int = Field(default=240, ge=1, le=MAX_FRAGMENT_BYTES, description="Largest fragment.")
    payload: Literal["prepared", "fresh"] = Field(
        default="prepared",
        description="prepared: bytes and checksums are made once, since writing a card's own memory costs no CPU "
        "time; fresh: every byte is written for every event.",
    )
    n_buffers: int = Field(
        default=64, ge=2, le=65_536, description="Buffers of a readout unit, one multi-event packet each."
    )
    when_full: Literal["wait", "drop"] = Field(
        default="wait", description="What the card does without a free buffer; drops are counted."
    )


class FabricFaultsSection(Section):
    """Faults that are made on purpose between nodes, by run.seed."""

    loss: Share = Field(default=0, description="Share of messages that are lost; transport udp only.")
    duplicate: Share = Field(default=0, description="Share of messages that are duplicated; transport udp only.")
    delay_us: float = Field(default=0, ge=0, le=1e6, description="Longest delay of a message, us.")
    disconnect_after: int = Field(
        default=0, ge=0, le=2**62, description="Messages after which a connection breaks; 0: never."
    )


class FabricSection(Section):
    """How bytes move between nodes."""

    transport: Literal["ucx", "tcp", "udp", "in_process"] = Field(
        default="ucx",
        description="ucx: shared memory, InfiniBand, RoCE or TCP, whichever is best; tcp; udp, which may lose; "
        "in_process: a single node, for tests. `anello doctor` says which of them work on this machine.",
    )
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Own address, at which the other nodes reach this one: where tcp, udp and the TCP of ucx listen. "
        "With loopback ucx uses shared memory, and does not listen.",
    )
    port: Port = Field(default=0, description="Own port (tcp, udp); 0: any free one.")
    ucx_tls: str = Field(default="", description="UCX_TLS, such as tcp or rc,self; empty: UCX chooses.")
    ucx_net_devices: str = Field(
        default="", description="UCX_NET_DEVICES, such as mlx5_0:1; empty: the interface of host, and cards for RDMA."
    )
    max_message_bytes: int = Field(
        default=2**20, ge=4096, le=2**30, description="Largest message; a readout unit's part of a multi-event packet."
    )
    faults: FabricFaultsSection = FabricFaultsSection()


class ExchangeInputSection(Section):
    """Where the readout units' data comes from."""

    from_: Annotated[str, OneOf(GENERATOR, *FEEDING)] = Field(
        default=GENERATOR, alias="from",
        description=f"{GENERATOR}: an emulated readout card; {', '.join(FEEDING)}: the front ends of that chain, each "
        "readout unit with its part of the boards.",
    )  # fmt: skip
    config: str = Field(
        default="", description="Configuration file of that chain, relative to this file; not with generator."
    )
    settings: list[str] = Field(
        default=[], max_length=100, description='Values that override those of that file: ["source.rate_hz=1e5"].'
    )
    front_ends: Literal["simulated", "external"] = Field(
        default="simulated",
        description="simulated: each node starts the front ends of its boards; external: front ends elsewhere send to "
        "the ports of the chain's section receive.",
    )
    frame_ticks: int = Field(
        default=256,
        ge=16,
        le=65_536,
        description="Input merged by time: a time frame, the exchange's event, ticks of 24.951 ns.",
    )


class ExchangeOutputSection(Section):
    """What is done with events that are built."""

    to: Annotated[str, OneOf(*OUTPUTS, *OUTPUTS_OF_CHAINS)] = Field(
        default="nothing",
        description="; ".join(f"{output}: {meaning}" for output, meaning in (OUTPUTS | OUTPUTS_OF_CHAINS).items())
        + ".",
    )
    file: str = Field(
        default="events-node{node}.raw", min_length=1,
        description="Output store: the file of each builder, relative to --report-dir, else to run.directory; {node} "
        "is its number.",
    )  # fmt: skip


class ExchangeThreadsSection(PlacementSection):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar = ("generator", "readout", "builder", "manager")
    layout: list[str] = layout_field(["generator+readout+builder+manager"])
    near: Literal["card", "anywhere"] = Field(
        default="card",
        description="card: threads and buffers on the memory node of the card that carries the data, if there are "
        "several nodes and the card is known; anywhere: as the kernel chooses. threads.cores takes precedence; "
        "--local N: anywhere.",
    )
