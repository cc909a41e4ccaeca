# SPDX-License-Identifier: Apache-2.0
"""Runs KM3NeT's chain in virtual time (`anello simulate`)."""

from anello.account.identity import CameByBoard, MadeByBoard
from anello.account.ledger import Counters, Ledger
from anello.virtual_farm.books import VirtualChain

from .account.ledger import build_ledger
from .configuration.config import Km3netConfig


def settings(config: Km3netConfig) -> dict[str, object]:
    """Settings with the names of simulate/virtual_line.cpp. A line keeps its random 3 to 8 DOMs and its low rates: a
    slice at the rates of the sea would take as long as many chains."""
    slices, events = config.slices, config.coincidences
    return {
        "layout": ",".join(config.threads.layout),
        "long_header": int(config.line.long_header),
        "spacing_m": config.line.spacing_m,
        "run": int(slices.run_number != 0),
        "window_slices": slices.window,
        "max_lag_slices": slices.max_lag,
        "n_buffers": slices.n_slices,
        "waits": int(config.receive.policy == "wait"),
        "timeout_ns": round(slices.timeout_ms * 1e6),
        "road_m": events.road_m,
        "min_hits": events.min_hits,
        "min_doms": events.min_doms,
        "limit": events.limit,
    }


def ledger(node: Counters, source: Counters, made: MadeByBoard, came: CameByBoard) -> Ledger:
    """The ledger of a run whose boards are on other hosts than the node, as a link between them may be cut. Boards that
    may have sent other numbers than they list have lists that are marked as incomplete; the rows by number of these
    boards are left out."""
    n_doms = sum(block.startswith("build.board") for block in node)
    return build_ledger(node, source, n_doms=n_doms, one_host=False, made=made, came=came)


VIRTUAL = VirtualChain(settings, ledger)
