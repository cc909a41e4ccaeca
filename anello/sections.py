# SPDX-License-Identifier: Apache-2.0
"""The sections of a configuration file that several chains have: every key with its unit, default, bounds and meaning.

Those of one chain are in its folder. Here and there, keys that the engine has too are in engine_keys.py, which is made
from the engine's tables (bindings/make_engine_keys.py), all others in sections.py. `anello config show`,
docs/reference/configuration.md, `--set` and the checks are made from them. Keys are handed to the engine under the
same names (config_base.Config.flat).
"""

from ipaddress import IPv4Address
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, field_validator
from pydantic_core import CoreSchema, core_schema

from anello.engine_keys import BackendKeys, BufferRulesKeys
from anello.section import Section

Share = Annotated[float, Field(ge=0, le=1)]
Port = Annotated[int, Field(ge=0, le=65535)]


def _source(text: str) -> str:
    host, colon, port = text.partition(":")
    try:
        known = not text or (IPv4Address(host) and (not colon or 0 < int(port) <= 65535))
    except ValueError:
        known = False
    if not known:
        raise ValueError("must be an IPv4 address, with or without a port, or empty")
    return text


Source = Annotated[str, AfterValidator(_source)]


class OneOf:
    """One of these words, which are known once the program runs: a Literal, for pydantic."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self._words))


class RunSection(Section):
    """The run as a whole."""

    name: str = Field(
        default="anello",
        pattern=r"^[\w.-]+$",
        description="Name of the run, with which its report directory's name begins.",
    )
    directory: str = Field(
        default="runs", min_length=1, description="Directory in which report directories are created."
    )
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="Seed of all random numbers: same seed, same bytes.")
    duration_s: float = Field(
        default=20,
        ge=0,
        le=1e6,
        description="Time the front ends send, gaps included, rounded up to whole bursts; 0: endless.",
    )
    display: Literal["auto", "live", "plain", "off"] = Field(
        default="auto", description="Progress while running; auto: live on a terminal, plain lines elsewhere."
    )
    refresh_ms: int = Field(default=500, ge=50, le=60_000, description="Time between two updates of the display, ms.")


class FrontEndsRunSection(RunSection):
    """The run as a whole."""

    n_report_events: int = Field(
        default=20_000, ge=0, le=1_000_000, description="Events kept for efficiency, resolution and displays."
    )


class ReceiveSection(BufferRulesKeys, BackendKeys):
    """Datagrams from the network, or from a file."""

    ports: list[Port] = Field(default=[0], min_length=1, description="UDP ports to listen on; 0: any free one.")
    sources: list[Source] = Field(
        default=[], max_length=1024,
        description="Sender of each board: ADDRESS, or ADDRESS:PORT; one entry applies to all boards, empty text "
        "leaves a board open. An open board is bound to the first address that sends for it; datagrams in its name "
        "from elsewhere are counted and not used.",
    )  # fmt: skip


MAX_THREADS = 32


def layout_field(default: list[str]) -> Any:
    """threads.layout of one chain."""
    return Field(
        default=default, min_length=1, max_length=MAX_THREADS,
        description="One entry per thread: its stages, joined by +. All stages, in the order of the data path.",
    )  # fmt: skip


class PlacementSection(Section):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar[tuple[str, ...]] = ()
    layout: list[str]
    cores: list[Annotated[int, Field(ge=-1, le=4095)]] = Field(
        default=[],
        max_length=MAX_THREADS,
        description="Logical core of each thread of the layout; -1 or left out: any.",
    )

    @field_validator("layout")
    @classmethod
    def _each_stage_once_in_order(cls, layout: list[str]) -> list[str]:
        if [stage.strip() for thread in layout for stage in thread.split("+")] != list(cls.stages):
            raise ValueError(f"must name {', '.join(cls.stages)}, each once and in this order")
        return layout


class ThreadsSection(PlacementSection):
    """Which stages share a thread, and where threads run."""

    wait: Literal["spin", "sleep"] = Field(
        default="sleep", description="What a thread does when there is nothing to do."
    )
