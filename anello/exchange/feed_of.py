# SPDX-License-Identifier: Apache-2.0
"""Makes the chain that feeds a node of the exchange."""

from typing import Any

from anello import registry
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.configuration.python_keys import GENERATOR
from anello.exchange.feed import FarmPlace, Feed


def feed_of(config: ExchangeConfig, rank: int, n_nodes: int) -> Feed[Any] | None:
    """The chain for this node. None where the input is a generator. Raises ConfigError."""
    if config.input.from_ == GENERATOR:
        return None
    feed: Feed[Any] = registry.part(config.input.from_, "feed")(config, FarmPlace.of(config, rank, n_nodes))
    return feed
