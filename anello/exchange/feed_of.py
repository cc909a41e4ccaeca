# SPDX-License-Identifier: Apache-2.0
"""Which chain stands before a node of the exchange."""

from anello.config import ExchangeConfig
from anello.exchange.feed import Feed, Place


def feed_of(config: ExchangeConfig, rank: int, n_nodes: int) -> Feed | None:
    """None where the input is a generator. Raises ConfigError."""
    if config.input.from_ == "rich":
        from anello.exchange.rich_feed import RichFeed

        return RichFeed(config, Place.of(config, rank, n_nodes))
    if config.input.from_ == "camera":
        from anello.exchange.camera_feed import CameraFeed

        return CameraFeed(config, Place.of(config, rank, n_nodes))
    return None
