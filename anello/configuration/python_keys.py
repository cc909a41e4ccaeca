# SPDX-License-Identifier: Apache-2.0
"""The keys of all chains that no C++ code reads, each declared only here.

A key that the engine reads is declared in its tables, from which engine_keys.py is made. A package has keys in these
two modules only; its sections.py makes sections of them, and declares where a chain differs (Own).
"""

from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from anello import registry
from anello.configuration.section import EXPERT, Section


class OneOf:
    """One of a list of words that is known only when the program runs: a Literal, for pydantic."""

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
    max_degraded_share: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="Share of the events that may be decided with less effort than configured, or without a look, as "
        "where the machine is too slow: beyond it the run is called degraded, not good.",
    )
    refresh_ms: int = Field(default=500, ge=50, le=60_000, description="Time between two updates of the display, ms.")


class ReportKeys(Section):
    """The run as a whole."""

    n_report_events: int = Field(
        default=20_000, ge=0, le=1_000_000, description="Events kept for efficiency, resolution and displays."
    )


class AlarmKeys(Section):
    """What `anello control` watches during a run."""

    rules: list[str] = Field(
        default=[
            "lost_hz > 0 for 2 s",
            "p999_us > 1000 for 10 s",
            "silent_boards > 0",
            "rows_off > 0",
            "files_refusing > 0",
            "disk_free_gb < 1",
            "heartbeat_age_s > 2",
        ],
        max_length=100,
        description="Each raises an alarm: [warning:] FIGURE > VALUE [for SECONDS s], or <; "
        "docs/how-to/control-room.md lists the figures.",
    )
    hook: str = Field(
        default="",
        description="Command for /bin/sh, run when an alarm is raised or cleared; ANELLO_ALARM, ANELLO_ALARM_STATE "
        "(raised, cleared), ANELLO_ALARM_SEVERITY, ANELLO_ALARM_WORDS, ANELLO_RUN say which.",
    )
    hook_timeout_s: float = Field(
        default=30, gt=0, le=3600, json_schema_extra=EXPERT, description="After which the command is killed."
    )
