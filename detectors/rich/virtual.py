# SPDX-License-Identifier: Apache-2.0
"""The RICH's chain in virtual time (`anello simulate`)."""

from anello.ledger import Counters, Ledger
from anello.virtual_farm.books import Numbers, VirtualChain

from .board_ledger import Sequences
from .config import RichConfig
from .ledger import build_ledger


def settings(config: RichConfig) -> list[str]:
    """As the chain's names of it (simulate/virtual_chain.cpp); bursts stay as they are drawn, of some milliseconds."""
    decided: dict[str, object] = {
        "layout": ",".join(config.threads.layout),
        "n_trigger_threads": max(1, config.trigger.threads),
        "n_lanes": max(1, config.receive.lanes),
        "timeout_ns": round(config.build.timeout_ms * 1e6),
        "rate_hz": config.source.rate_hz,
    }
    return [f"{name}={value}" for name, value in decided.items()]


def ledger(node: Counters, source: Counters, made: Numbers, came: Numbers) -> Ledger:
    return build_ledger(node, source, sequences=Sequences(made, came))


VIRTUAL = VirtualChain(settings, ledger)
