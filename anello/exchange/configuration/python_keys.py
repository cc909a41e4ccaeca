# SPDX-License-Identifier: Apache-2.0
"""The keys of the exchange that no C++ code reads, and those whose values depend on the registered chains; each is
declared only here. The engine receives the values computed from them."""

from typing import Annotated, Literal

from pydantic import Field

from anello import registry
from anello.configuration.python_keys import OneOf
from anello.configuration.section import Section

GENERATOR = "generator"
# chains that may stand before the exchange
FEEDING = tuple(chain for chain in registry.names() if registry.registration(chain).feed)
OUTPUTS = {"nothing": "they are counted and checked", "store": "each builder writes a file"}
OUTPUTS_OF_CHAINS = {
    output: f"{meaning}, with input {chain}"
    for chain in FEEDING
    for output, meaning in registry.registration(chain).outputs.items()
}


class InputKeys(Section):
    """Where the readout units' data comes from."""

    from_: Annotated[str, OneOf(GENERATOR, *FEEDING)] = Field(
        default=GENERATOR,
        alias="from",
        description=f"{GENERATOR}: an emulated readout card; {', '.join(FEEDING)}: the front ends of that chain, each "
        "readout unit with its part of the boards.",
    )
    config: str = Field(
        default="", description="Configuration file of that chain, relative to this file; not with generator."
    )
    settings: list[str] = Field(
        default=[],
        max_length=100,
        description='Values that override those of that file: ["source.rate_hz=1e5"]. --set adds to them.',
    )
    front_ends: Literal["simulated", "external"] = Field(
        default="simulated",
        description="simulated: each node starts the front ends of its boards; external: front ends elsewhere send to "
        "the ports of the chain's section receive.",
    )


class OutputKeys(Section):
    """What is done with events that are built."""

    to: Annotated[str, OneOf(*OUTPUTS, *OUTPUTS_OF_CHAINS)] = Field(
        default="nothing",
        description="; ".join(f"{output}: {meaning}" for output, meaning in (OUTPUTS | OUTPUTS_OF_CHAINS).items())
        + ".",
    )
    file: str = Field(
        default="events-node{node}.raw",
        min_length=1,
        description="Output store: the file of each builder, relative to --report-dir, else to run.directory; {node} "
        "is its number.",
    )


class NearKeys(Section):
    """Which stages share a thread, and where threads run."""

    near: Literal["card", "anywhere"] = Field(
        default="card",
        description="card: threads and buffers on the memory node of the card that carries the data, if there are "
        "several nodes and the card is known; anywhere: as the kernel chooses. threads.cores takes precedence; "
        "--local N: anywhere.",
    )


class FarmKeys(Section):
    """Where the nodes of a run are, under `anello control`."""

    nodes: list[str] = Field(
        default=["here", "here"],
        min_length=1,
        max_length=1024,
        description="Machine of each node, in the order of their numbers: here, where the control room is, or the name "
        "of an `anello agent` elsewhere; node 0 is here.",
    )
    address: str = Field(
        default="",
        max_length=255,
        description="This machine's address, for nodes elsewhere to meet at; empty: the one by "
        "which each node's agent reaches it.",
    )
