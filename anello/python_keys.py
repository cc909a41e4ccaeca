# SPDX-License-Identifier: Apache-2.0
"""The keys of all chains that no C++ code reads, each declared here alone.

A key that the engine reads is declared in its tables, from which engine_keys.py is made. A package has keys in these
two modules alone; its sections.py puts sections together from them, and says what a chain has otherwise (Own).
"""

from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from anello import registry
from anello.section import Section


class OneOf:
    """One of these words, which are known once the program runs: a Literal, for pydantic."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self._words))


ChainName = Annotated[str, OneOf(*registry.names())]


def chain_field(*name: str) -> Any:
    """The key `chain`; name: its value in the configuration of this chain."""
    meanings = "; ".join(f"{chain}, {registry.registration(chain).about}" for chain in registry.names())
    return Field(*name, description=f"The chain: {meanings}.")


class RunKeys(Section):
    """The run as a whole."""

    name: str = Field(
        default="anello",
        pattern=r"^[\w.-]+$",
        description="Name of the run, with which its report directory's name begins.",
    )
    directory: str = Field(
        default="runs", min_length=1, description="Directory in which report directories are created."
    )
    duration_s: float = Field(default=10, ge=0, le=1e6, description="Time the front ends send; 0: endless.")
    display: Literal["auto", "live", "plain", "off"] = Field(
        default="auto", description="Progress while running; auto: live on a terminal, plain lines elsewhere."
    )
    refresh_ms: int = Field(default=500, ge=50, le=60_000, description="Time between two updates of the display, ms.")


class ReportKeys(Section):
    """The run as a whole."""

    n_report_events: int = Field(
        default=20_000, ge=0, le=1_000_000, description="Events kept for efficiency, resolution and displays."
    )
