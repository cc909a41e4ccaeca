# SPDX-License-Identifier: Apache-2.0
"""The sections of the exchange's configuration; those that several chains have are in anello/sections.py."""

from typing import ClassVar

from pydantic import field_validator

from anello.exchange.engine_keys import (
    ExchangeKeys,
    ExchangePlacementKeys,
    ExchangeTimeKeys,
    ExchangeWaitKeys,
    FabricFaultsKeys,
    FabricKeys,
    FrameKeys,
    GeneratorKeys,
    ReadoutRoomKeys,
    RolesKeys,
)
from anello.exchange.python_keys import InputKeys, NearKeys
from anello.section import Own
from anello.sections import PlacementSection, RunSection


class ExchangeRunSection(RunSection):
    """The run as a whole."""

    own: ClassVar = {
        "name": Own("lhcb-exchange"),
        "duration_s": Own(meaning="Time during which events are assigned to builders; 0: until exchange.n_meps."),
    }


class ExchangeSection(RolesKeys, ExchangeWaitKeys, ExchangeTimeKeys, ExchangeKeys):
    """Who builds which events, and how long one waits for another."""

    @field_validator("roles")
    @classmethod
    def _known_roles(cls, roles: list[str]) -> list[str]:
        if roles == ["all"]:
            return roles
        words = [[word.strip() for word in node.split("+")] for node in roles]
        if any(word not in cls.roles_parts for node in words for word in node):
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


class ExchangeInputSection(FrameKeys, InputKeys):
    """Where the readout units' data comes from."""


class ExchangeThreadsSection(NearKeys, ExchangePlacementKeys, PlacementSection):
    """Which stages share a thread, and where threads run."""
