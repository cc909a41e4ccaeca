# SPDX-License-Identifier: Apache-2.0
"""The record of a node of an exchange."""

import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Self

from anello.account.leg import LegLatency
from anello.account.notices import Notice, printable
from anello.account.record import CounterDict
from anello.exchange.account.numbers import Account
from anello.exchange.rendezvous.messages import MAX_FRAME_BYTES
from anello.system.json_messages import decode, encode

MAX_SAMPLES = 2000


@dataclass(frozen=True)
class Sample:
    """A node's counts at one moment, since its start."""

    time_s: float
    bytes_built: int
    meps_built: int
    cpu_s: float
    credits_free: int = 0  # of a builder: multi-event packets that it has room for


@dataclass(frozen=True)
class NodeRecord:
    """One node's part of a run; a node that restarted has two records."""

    rank: int
    host: str
    roles: str
    counters: CounterDict
    latency: Mapping[str, LegLatency]
    series: tuple[Sample, ...]
    wall_s: float
    cpu_s: float
    states: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    failure: str = ""
    has_left: bool = False  # left before the end of the run
    account: Account = field(default_factory=Account)

    def as_bytes(self) -> bytes:
        plain = {"series": [list(asdict(one).values()) for one in self.series], "account": self.account.as_dict()}
        return encode(asdict(replace(self, account=Account())) | plain)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Reads a record. Raises ValueError."""
        try:
            fields = decode(content, MAX_FRAME_BYTES)
            series = tuple(Sample(*map(float, row)) for row in fields.pop("series")[: 2 * MAX_SAMPLES])  # type: ignore[arg-type]
            if not all(math.isfinite(value) for sample in series for value in astuple(sample)):
                raise ValueError("its series is not of finite numbers")
            counters = {
                str(block): {str(name): int(value) for name, value in values.items()}
                for block, values in fields.pop("counters").items()
            }
            fields |= {name: printable(str(fields[name])) for name in ("host", "roles", "failure")}
            fields["notices"] = tuple(Notice.of(one) for one in fields["notices"])
            account = Account.of(fields.pop("account"))
            return cls(series=series, counters=counters, account=account, **fields)
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"this is no record of a node: {error}") from error

    @property
    def builds(self) -> bool:
        return "bu" in self.roles.split("+")

    @property
    def bytes_built(self) -> int:
        return self.counters.get("builder", {}).get("bytes_built", 0)

    @property
    def gbit_per_s(self) -> float:
        return self.bytes_built * 8e-9 / self.wall_s if self.wall_s else 0.0

    @property
    def cores(self) -> float:
        return self.cpu_s / self.wall_s if self.wall_s else 0.0


class SampleSeries:
    """Samples over a run of any length: when there are too many, every second one is dropped."""

    def __init__(self) -> None:
        self._samples: list[Sample] = []
        self._stride, self._n_seen = 1, 0

    def add(self, sample: Sample) -> None:
        if self._n_seen % self._stride == 0:
            self._samples.append(sample)
        self._n_seen += 1
        if len(self._samples) > MAX_SAMPLES:
            self._samples = self._samples[::2]
            self._stride *= 2

    def samples(self) -> tuple[Sample, ...]:
        return tuple(self._samples)
