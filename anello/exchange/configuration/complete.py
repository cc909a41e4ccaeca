# SPDX-License-Identifier: Apache-2.0
"""The configuration of an exchange completed by that of the chain before it, which is in another file."""

from pathlib import Path

from anello.configuration.base import Config, FrontEndsConfig
from anello.configuration.load import load
from anello.errors import ConfigError
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.configuration.python_keys import GENERATOR


def with_its_chain(config: ExchangeConfig, path: Path | None) -> Config:
    """Adds the chain's configuration. path: of the exchange's file; input.config is relative to its folder. Raises
    ConfigError."""
    if config.input.from_ == GENERATOR:
        return config
    file = ((path.parent if path else Path()) / config.input.config).resolve()
    chain = load(file, config.input.settings)
    if not isinstance(chain, FrontEndsConfig):
        raise ConfigError(
            "input.config",
            "must be of a chain with front ends",
            f"{file}: {chain.chain}",
            "Name the file of a detector's chain",
        )
    return config.behind(chain, str(file))
