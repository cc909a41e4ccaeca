# SPDX-License-Identifier: Apache-2.0
"""Runs the RICH's chain in virtual time (`anello simulate`)."""

from dataclasses import replace

from anello.account.identity import CameByBoard, MadeByBoard, ReceivedNumbers, size
from anello.account.ledger import Counters, Ledger, Reader, Row
from anello.virtual_farm.books import VirtualChain

from .account.board_ledger import Sequences
from .account.ledger import build_ledger
from .configuration.config import RichConfig


def settings(config: RichConfig) -> dict[str, object]:
    """Settings with the names of simulate/virtual_chain.cpp. Bursts keep their random lengths of some milliseconds."""
    return {
        "layout": ",".join(config.threads.layout),
        "n_trigger_threads": max(1, config.trigger.threads),
        "n_lanes": max(1, config.receive.lanes),
        "timeout_ns": round(config.build.timeout_ms * 1e6),
        "rate_hz": config.source.rate_hz,
    }


def ledger(node: Counters, source: Counters, made: MadeByBoard, came: CameByBoard) -> Ledger:
    """The ledger, with a row per board that compares its counter of missing numbers with the list of them."""
    ledger = build_ledger(node, source, sequences=Sequences(made, came))
    boards = (_missing(Reader(node), board, ReceivedNumbers.of(log)) for board, log in came.items())
    return replace(ledger, boards=(*ledger.boards, *boards))


def _missing(node: Reader, board: int, came: ReceivedNumbers) -> Row:
    lost = node(f"receive.board{board}", "lost_sequences")
    return node.row("packets", f"board {board}: passed over", lost, [("by number", size(came.missing))])


VIRTUAL = VirtualChain(settings, ledger)
