# SPDX-License-Identifier: Apache-2.0
"""Declares the keys of this chain that no C++ code reads; they are declared only here."""

from pydantic import Field

from anello.configuration.section import Section


class EventsFileKeys(Section):
    """The front ends: what they send, where to, and how fast."""

    out_of_time_reach_ns: float = Field(
        default=212,
        ge=0,
        le=1000,
        description="--events: hits that the file marks as out of time come from particles up to this far from the "
        "event's time, ns; TEL62 boards read 17 ticks.",
    )
