# SPDX-License-Identifier: Apache-2.0
"""A node's account by identity: numbers of messages and of packets, with which a ledger balances where nodes died."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

MAX_LISTED = 1 << 20  # entries of one kind; an engine gives far fewer


@dataclass(frozen=True)
class SentAccount:
    """MFPs sent to one builder over the last connection with it. number: of the last MFP; is_up: the connection
    lasted to the end; n_in_flight: MFPs for which the transport had reported no completion when the node ended;
    to_life: short_life() of the builder's process."""

    number: int
    is_up: bool
    n_in_flight: int = 0
    to_life: int = 0


@dataclass(frozen=True)
class ReceivedAccount:
    """MFPs received from one readout unit over the last connection with it: the newest number, how many numbers
    arrived, and how many before the newest never did; of_life: short_life() of the readout unit's process."""

    newest: int
    n_come: int
    n_given_up: int
    is_up: bool
    of_life: int = 0


@dataclass(frozen=True)
class ReportedAccount:
    """Packets that one life of a builder reported to the manager. The last member: packets assigned to it and not
    reported before it was lost or the manager ended."""

    rank: int
    life: int
    n_complete: int
    n_incomplete: int
    is_lost: bool
    unreported: frozenset[int]


@dataclass(frozen=True)
class Account:
    """The account of one process. life: distinguishes it from its replacement. handed_on: the last packets, and how
    many sources each lacks. sent_to, come_from: by rank. builders: at the manager."""

    life: int = 0
    sent_to: Mapping[int, SentAccount] = field(default_factory=dict)
    come_from: Mapping[int, ReceivedAccount] = field(default_factory=dict)
    handed_on: Mapping[int, int] = field(default_factory=dict)
    builders: tuple[ReportedAccount, ...] = ()

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Reads what _engine.ExchangeNode.account() or as_dict() returned. Raises ValueError."""
        try:
            return cls(
                life=_count(fields["life"]),
                sent_to={_count(rank): _sent(row) for rank, row in _listed(fields["sent_to"].items())},
                come_from={_count(rank): _received(row) for rank, row in _listed(fields["come_from"].items())},
                handed_on={_count(mep): _count(n_missing) for mep, n_missing in _listed(fields["handed_on"].items())},
                builders=tuple(_reported(row) for row in _listed(fields["builders"])),
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no account of a node: {error}") from error

    def as_dict(self) -> dict[str, Any]:
        """The account as plain values, for JSON."""
        return {
            "life": self.life,
            "sent_to": {rank: [sent.number, sent.is_up, sent.n_in_flight, sent.to_life]
                        for rank, sent in self.sent_to.items()},
            "come_from": {rank: [one.newest, one.n_come, one.n_given_up, one.is_up, one.of_life]
                          for rank, one in self.come_from.items()},
            "handed_on": dict(self.handed_on),
            "builders": [[one.rank, one.life, one.n_complete, one.n_incomplete, one.is_lost, sorted(one.unreported)]
                         for one in self.builders],
        }  # fmt: skip


def short_life(life: int) -> int:
    """The short form of a life that messages of the exchange carry (engine/exchange/messages/messages.hpp)."""
    return (life ^ life >> 32) & 0xFFFFFFFF


def _sent(row: Any) -> SentAccount:
    number, is_up, n_in_flight, life = row
    return SentAccount(_count(number), bool(is_up), _count(n_in_flight), _count(life))


def _received(row: Any) -> ReceivedAccount:
    newest, n_come, n_given_up, is_up, life = row
    return ReceivedAccount(_count(newest), _count(n_come), _count(n_given_up), bool(is_up), _count(life))


def _reported(row: Any) -> ReportedAccount:
    rank, life, n_complete, n_incomplete, is_lost, unreported = row
    numbers = frozenset(map(_count, _listed(unreported)))
    return ReportedAccount(_count(rank), _count(life), _count(n_complete), _count(n_incomplete), bool(is_lost), numbers)


def _count(value: Any) -> int:
    """Checks that a value of another node's record is a valid count."""
    number = int(value)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{number} is no count")
    return number


def _listed(values: Iterable[Any]) -> list[Any]:
    listed = list(values)
    if len(listed) > MAX_LISTED:
        raise ValueError("it lists too much")
    return listed
