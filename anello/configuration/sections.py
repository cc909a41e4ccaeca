# SPDX-License-Identifier: Apache-2.0
"""The sections of a configuration file that several chains have; those of one chain are in its folder.

Each key is declared once: in the engine's tables, from which engine_keys.py is made (bindings/make_engine_keys.py), or,
where no C++ code reads it, in python_keys.py. Here sections are put together from both, and rules are added that are
more than bounds. `anello config show`, the pages of docs/reference, `--set` and the checks are made from them. Keys
are handed to the engine under the same names (config_base.Config.flat).
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, ClassVar

from pydantic import PrivateAttr, field_validator

from anello.configuration.engine_keys import BackendKeys, BufferRulesKeys, PortsKeys, SeedKeys, SourcesKeys
from anello.configuration.python_keys import AlarmKeys, ReportKeys, RunKeys
from anello.configuration.section import EntryError, Section


class RunSection(SeedKeys, RunKeys):
    """The run as a whole."""


class FrontEndsRunSection(ReportKeys, RunSection):
    """The run as a whole."""


class AlarmsSection(AlarmKeys):
    """What `anello control` watches during a run."""

    @field_validator("rules")
    @classmethod
    def _can_be_read(cls, rules: list[str]) -> list[str]:
        from anello.configuration.alarm_rules import parse

        for index, text in enumerate(rules):
            try:
                parse(text)
            except ValueError as error:
                raise EntryError(index, str(error)) from None
        return rules


def _is_source(text: str) -> bool:
    """True for an IPv4 or IPv6 source: "10.0.0.5", "10.0.0.5:4711", "2001:db8::5", "[2001:db8::5]:4711"."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        colon, port = rest[:1], rest[1:]
        if not bracket or colon not in ("", ":"):
            return False
    else:
        host, colon, port = text.partition(":") if text.count(":") < 2 else (text, "", "")
    try:
        return not text or bool(ip_address(host) and (not colon or 0 < int(port) <= 65535))
    except ValueError:
        return False


class ReceiveSectionWithoutPorts(SourcesKeys, BufferRulesKeys, BackendKeys):
    """Datagrams from the network, or from a file."""

    if TYPE_CHECKING:
        ports: list[int]  # each chain's own table declares this key

    @field_validator("sources")
    @classmethod
    def _known_addresses(cls, sources: list[str]) -> list[str]:
        for index, text in enumerate(sources):
            if not _is_source(text):
                raise EntryError(index, "must be an IP address, with or without a port, or empty")
        return sources


class ReceiveSection(PortsKeys, ReceiveSectionWithoutPorts):
    """Datagrams from the network, or from a file."""


class PlacementSection(Section):
    """Which stages share a thread, and where threads run. Keys and stages are of the chain's own table."""

    layout_parts: ClassVar[tuple[str, ...]] = ()
    if TYPE_CHECKING:
        layout: list[str]
        cores: list[int]

    @field_validator("layout", check_fields=False)
    @classmethod
    def _each_stage_once_in_order(cls, layout: list[str]) -> list[str]:
        if [stage.strip() for thread in layout for stage in thread.split("+")] != list(cls.layout_parts):
            raise ValueError(f"must name {', '.join(cls.layout_parts)}, each once and in this order")
        return layout


class ThreadsSection(PlacementSection):
    """Which stages share a thread, and where threads run."""

    aside: ClassVar[tuple[str, ...]] = ("store",)  # stages that delay no data, and belong to no lane
    if TYPE_CHECKING:

        @property
        def wait(self) -> str: ...
        @property
        def placement(self) -> str: ...
        @property
        def priority(self) -> str: ...

    # stages that delay no data, according to the rest of the configuration
    _apart: tuple[str, ...] = PrivateAttr(default=())

    def _is_on_the_way(self, thread: str) -> bool:
        return any(stage.strip() not in (*self.aside, *self._apart) for stage in thread.split("+"))

    def _lanes(self, thread: str, n_lanes: Mapping[str, int]) -> int:
        """Number of threads for the lanes. n_lanes: of stages that have more than one."""
        return max(n_lanes.get(stage.strip(), 1) for stage in thread.split("+"))

    def n_threads(self, n_lanes: Mapping[str, int]) -> int:
        return sum(self._lanes(thread, n_lanes) for thread in self.layout)

    def n_on_the_way(self, n_lanes: Mapping[str, int]) -> int:
        """Number of threads on the data's way."""
        return sum(self._lanes(thread, n_lanes) for thread in self.layout if self._is_on_the_way(thread))

    def cores_of_layout(self, cores: Sequence[int], n_lanes: Mapping[str, int]) -> list[int]:
        """The value of threads.cores that gives these cores to the threads on the data's way: first lanes first, in
        their order."""
        left = iter(cores)
        return [
            next(left) if self._is_on_the_way(thread) and lane < self._lanes(thread, n_lanes) else -1
            for lane in range(max(self._lanes(thread, n_lanes) for thread in self.layout))
            for thread in self.layout
        ]
