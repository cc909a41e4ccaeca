# SPDX-License-Identifier: Apache-2.0
"""Simulated events, the same that front ends send: anello.simulate.CHAIN(n_events, seed=1, **parameters).

The parameters are keys of the chain's simulation (docs/reference/expert-keys.md).
"""

from collections.abc import Callable
from typing import Any

from anello import registry


def __getattr__(chain: str) -> Callable[..., Any]:
    if chain not in registry.names() or not registry.registration(chain).simulate:
        known = ", ".join(name for name in registry.names() if registry.registration(name).simulate)
        raise AttributeError(f"there is no simulation of {chain!r}; there is one of {known}")
    simulation: Callable[..., Any] = registry.part(chain, "simulate")
    return simulation
