# SPDX-License-Identifier: Apache-2.0
"""The ledger of a farm or chain in virtual time, made like that of a real one from the final reports of its
processes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anello.account.identity import CameByBoard, MadeByBoard
from anello.account.ledger import Counters, Ledger, Row
from anello.exchange.account.ledger import CONSIDERED_DEAD, UNEXPLAINED, NodeCounters, build_exchange_ledger
from anello.exchange.account.numbers import Account
from anello.exchange.configuration.roles import each


@dataclass(frozen=True)
class VirtualChain:
    """A detector's description of its chains in virtual time. settings: values from a configuration, under the
    engine's names; ledger: from the counters of the node and of the front ends, and from the numbers that were
    made and received, by board."""

    settings: Callable[[Any], Mapping[str, object]]
    ledger: Callable[[Counters, Counters, MadeByBoard, CameByBoard], Ledger]

    def what_is_off(self, books: dict[str, Any]) -> list[str]:
        """The rows that do not balance, in words. The argument is what virtual_books() of the chain's bindings
        returns."""
        if not books["has_ended"]:  # then the node still waits for fragments that have not arrived
            return []
        ledger = self.ledger(books["node"], books["source"], books["made"], books["came"])
        return _in_words(row for row in ledger.all_rows if not _closes(row))


def ledger_of(books: dict[str, Any]) -> Ledger:
    """The ledger. The argument is what _engine.FarmDraw.books() returns."""
    n_nodes: int = books["nodes"]
    roles = each(books["roles"], n_nodes) or []
    nodes = [
        NodeCounters(book["rank"], roles[book["rank"]], book["counters"], book["has_left"], Account.of(book["account"]))
        for book in books["books"]
    ]
    absent = dict.fromkeys(books["died"], "it died")  # also where another process has replaced it
    return build_exchange_ledger(nodes, absent=absent, may_lose=books["may_lose"])


def what_is_off(books: dict[str, Any]) -> list[str]:
    """Rows of the farm's ledger that do not balance, in words. The argument is as for ledger_of()."""
    return _in_words(row for row in ledger_of(books).all_rows if _is_off(row, books))


def _is_off(row: Row, books: dict[str, Any]) -> bool:
    """True if the row should balance and does not. Where the node that took over as manager has died too, the
    builders' reports to it are lost, and the row of dead builders is not checked."""
    if books["books_lost"] and row.name.endswith(CONSIDERED_DEAD):
        return False
    return not _closes(row)


def _closes(row: Row) -> bool:
    return row.balanced and not dict(row.parts).get(UNEXPLAINED)


def _in_words(rows: Iterable[Row]) -> list[str]:
    return [
        f"the ledger: {row.name}: {row.total} = {' + '.join(f'{value} {label}' for label, value in row.parts)}"
        for row in rows
    ]
