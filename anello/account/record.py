# SPDX-License-Identifier: Apache-2.0
"""The results of a run, as plain values: enough for the summary and the report, with or without an engine."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from anello.account.history import Moment
from anello.account.identity import CameByBoard, MadeByBoard
from anello.account.ledger import Ledger
from anello.account.leg import CoreHiccups, LegLatency, LegOverTime
from anello.account.notices import Notice
from anello.account.over_time import MachineActivity
from anello.account.verdict import Flaw, Verdict, judged, proof_flaws
from anello.configuration.base import Config
from anello.configuration.origin import Origin

Arrays = Mapping[str, NDArray[Any]]
CounterDict = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Record(ABC):
    """One run of any chain. Counters: block -> name -> value. latency: stage -> statistics in ns (_engine.pyi)."""

    config: Config
    node: CounterDict
    source: CounterDict | None
    latency: Mapping[str, LegLatency]
    wall_s: float
    latency_over_time: Mapping[str, LegOverTime] = field(default_factory=dict)  # as in ChainNode
    hiccups: Mapping[int, CoreHiccups] = field(default_factory=dict)  # by core, as in ChainNode
    history: tuple[Moment, ...] = ()  # samples taken during the run
    states: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    interrupted: bool = False
    one_host: bool = False
    interface: str = ""  # where the front ends' datagrams leave, if the front ends are led from here
    cpu: Mapping[str, float] | None = None  # CpuTime.shares, while the front ends were sending
    made: MadeByBoard = field(default_factory=dict)
    came: CameByBoard = field(default_factory=dict)
    ended_badly: str = ""  # why the run did not end normally: its front ends were killed
    origin: Origin | None = None  # None: it was not made by a command

    @property
    def whole_source(self) -> CounterDict | None:
        """The final counters of the front ends; None if they ended before they could report them."""
        return None if self.ended_badly else self.source

    @property
    def whole_way(self) -> str:
        """The leg of the latency that the run is judged by; empty: none."""
        return ""

    @cached_property
    def machine(self) -> MachineActivity:
        """The machine's delays in waking threads, and which late events they explain."""
        return MachineActivity.of(self.whole_way, self.latency_over_time, self.hiccups, self.one_host)

    @abstractmethod
    def ledger(self) -> Ledger: ...

    @abstractmethod
    def flaws(self) -> list[Flaw]:
        """What is wrong with the run, apart from the losses that the ledger itself names."""

    def verdict(self) -> Verdict:
        """What is wrong with the run in one line, and its exit code."""
        flaws = [*self.proof(), *self.flaws()]
        found = judged(self.ledger(), flaws, interrupted=self.interrupted, ended_badly=self.ended_badly)
        return found.since([(moment.time_s, moment.lost) for moment in self.history])

    def proof(self) -> list[Flaw]:
        """What is missing as a proof that the run is good."""
        return proof_flaws(self.node, self.source, interrupted=self.interrupted)
