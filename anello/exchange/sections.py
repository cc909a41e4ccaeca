# SPDX-License-Identifier: Apache-2.0
"""The sections of the exchange's configuration; those that several chains have are in anello/sections.py."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from anello import registry
from anello.exchange.engine_keys import (
    ExchangeKeys,
    ExchangeTimeKeys,
    ExchangeWaitKeys,
    FabricFaultsKeys,
    FabricKeys,
    GeneratorKeys,
    ReadoutRoomKeys,
)
from anello.section import Section
from anello.sections import OneOf, PlacementSection, RunSection, layout_field

MAX_NODES = 1024
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


class ExchangeSection(ExchangeWaitKeys, ExchangeTimeKeys, ExchangeKeys):
    """Who builds which events, and how long one waits for another."""

    roles: list[str] = Field(
        default=["all"], min_length=1, max_length=MAX_NODES,
        description="Roles of the nodes: em (event manager), ru (readout unit), bu (builder unit), joined by +; one "
        "entry for each node, or [\"all\"]: every node reads out and builds, and node 0 manages.",
    )  # fmt: skip

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


class GeneratorSection(ReadoutRoomKeys, GeneratorKeys):
    """The emulated readout card of each readout unit."""


class FabricSection(FabricKeys):
    """How bytes move between nodes."""

    faults: FabricFaultsKeys = FabricFaultsKeys()


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
