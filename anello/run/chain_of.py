# SPDX-License-Identifier: Apache-2.0
"""Makes the chain that a configuration is for."""

from anello import registry
from anello.configuration.base import FrontEndsConfig
from anello.run.chain import Chain


def chain_of(config: FrontEndsConfig) -> Chain:
    """The chain of a configuration; the libraries of others are not loaded."""
    chain: Chain = registry.part(config.chain, "chain")(config)
    return chain
