# SPDX-License-Identifier: Apache-2.0
"""The sections that only the exchange's configuration has; others are in anello/configuration/sections.py."""

from typing import ClassVar

from pydantic import field_validator

from anello.configuration.section import EntryError, KeyOverride
from anello.configuration.sections import AlarmsSection, PlacementSection, RunSection
from anello.exchange.configuration.python_keys import FarmKeys, InputKeys, NearKeys, OutputKeys
from anello.exchange.configuration.roles import IN_SHORT, objection
from anello.exchange.engine_keys import (
    ExchangeKeys,
    ExchangePlacementKeys,
    ExchangeTimeKeys,
    ExchangeWaitKeys,
    FrameKeys,
    GeneratorKeys,
    ReadoutRoomKeys,
    RolesKeys,
    StoredKeys,
)
from anello.system.machines import HERE, is_machine


class ExchangeRunSection(RunSection):
    """The run as a whole."""

    own: ClassVar = {
        "name": KeyOverride("lhcb-exchange"),
        "duration_s": KeyOverride(
            meaning="Time during which events are assigned to builders; 0: until exchange.n_meps, or a stop is ordered."
        ),
    }


class ExchangeSection(RolesKeys, ExchangeWaitKeys, ExchangeTimeKeys, ExchangeKeys):
    """Who builds which events, and how long one waits for another."""

    @field_validator("roles")
    @classmethod
    def _known_roles(cls, roles: list[str]) -> list[str]:
        if tuple(roles) in IN_SHORT:
            return roles
        words = [[word.strip() for word in node.split("+")] for node in roles]
        if any(word not in cls.roles_parts for node in words for word in node):
            raise ValueError('must be ["all"], ["all+sb"], or em, sb, ru, bu, joined by +, for each node')
        if any(len(node) != len(set(node)) for node in words):
            raise ValueError("must not name a role twice for one node")
        for role, name, right in (
            ("em", "one event manager", {1}),
            ("sb", "one standby at most", {0, 1}),
            ("ru", "a readout unit", None),
            ("bu", "a builder", None),
        ):
            n = sum(role in node for node in words)
            if (n not in right) if right else n == 0:
                raise ValueError(f"must have {name}")
        if why := objection(["+".join(node) for node in words]):
            raise ValueError(why)
        return roles


class GeneratorSection(ReadoutRoomKeys, GeneratorKeys):
    """The emulated readout card of each readout unit."""


class ExchangeInputSection(FrameKeys, InputKeys):
    """Where the readout units' data comes from."""


class OutputSection(StoredKeys, OutputKeys):
    """What is done with events that are built."""


class ExchangeThreadsSection(NearKeys, ExchangePlacementKeys, PlacementSection):
    """Which stages share a thread, and where threads run."""


class ExchangeAlarmsSection(AlarmsSection):
    """What `anello control` watches during a run."""

    own: ClassVar = {
        "rules": KeyOverride(
            [
                "lost_hz > 0 for 2 s",
                "nodes_gone > 0",
                "silent_boards > 0",
                "rows_off > 0",
                "disk_free_gb < 1",
                "heartbeat_age_s > 2",
            ]
        )
    }


class FarmSection(FarmKeys):
    """Where the nodes of a run are, under `anello control`."""

    @field_validator("nodes")
    @classmethod
    def _known_places(cls, nodes: list[str]) -> list[str]:
        for index, name in enumerate(nodes):
            if not is_machine(name):
                raise EntryError(
                    index, f"must be {HERE}, or an agent's name of letters, digits, and . _ - between them"
                )
        if nodes[0] != HERE:
            raise EntryError(0, f"must be {HERE}: node 0 leads the run, and writes its record")
        return nodes
