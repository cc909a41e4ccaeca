# SPDX-License-Identifier: Apache-2.0
"""The ledger of a virtual farm: that of a real one, from what its processes say at their end."""

from typing import Any

from anello.exchange.account import Account
from anello.exchange.ledger import CONSIDERED_DEAD, UNEXPLAINED, NodeCounters, build_exchange_ledger
from anello.exchange.roles import each
from anello.ledger import Ledger, Row


def ledger_of(told: dict[str, Any]) -> Ledger:
    """told: as _engine.FarmDraw.books() gives it."""
    n_nodes: int = told["nodes"]
    roles = each(told["roles"], n_nodes) or []
    nodes = [
        NodeCounters(book["rank"], roles[book["rank"]], book["counters"], book["has_left"], Account.of(book["account"]))
        for book in told["books"]
    ]
    absent = dict.fromkeys(told["died"], "it died")  # also where another process came in its place
    return build_exchange_ledger(nodes, absent=absent, may_lose=told["may_lose"])


def what_is_off(told: dict[str, Any]) -> list[str]:
    """Rows of the farm's ledger that do not close, in words. told: as for ledger_of()."""
    ledger = ledger_of(told)
    return [
        f"the ledger: {row.name}: {row.total} = {' + '.join(f'{value} {label}' for label, value in row.parts)}"
        for row in (*ledger.rows, *ledger.boards)
        if _is_off(row, told)
    ]


def _is_off(row: Row, told: dict[str, Any]) -> bool:
    """Where who had taken over is gone as well, nobody is left to say what builders had reported to it."""
    if told["books_lost"] and row.name.endswith(CONSIDERED_DEAD):
        return False
    return not row.balanced or bool(dict(row.parts).get(UNEXPLAINED))
