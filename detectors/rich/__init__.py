# SPDX-License-Identifier: Apache-2.0
"""The RICH of NA62.

anello.rich.find_rings(hit_x_mm, hit_y_mm, event_offset)   finds the rings of a batch of events
anello.rich.identify(radius_mm, radius_variance_mm2, momentum_gev)   likelihoods of electron, muon, pion and kaon
anello.rich.tune(params, detector)                         fits the finder's parameters to a simulated detector
anello.rich.time_clusters(hit_time_ns, event_offset)       groups the hits of each event by time
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis.clusters import TimeClusters, time_clusters
    from .analysis.finding import find_rings
    from .analysis.particles import PARTICLES, Identity, confusion, electron_like, identify, per_event
    from .commands.tuning import Tuned, tune

__all__ = [
    "PARTICLES",
    "Identity",
    "TimeClusters",
    "Tuned",
    "confusion",
    "electron_like",
    "find_rings",
    "identify",
    "per_event",
    "time_clusters",
    "tune",
]
_MODULES = {
    "TimeClusters": "analysis.clusters",
    "time_clusters": "analysis.clusters",
    "find_rings": "analysis.finding",
    "Tuned": "commands.tuning",
    "tune": "commands.tuning",
} | dict.fromkeys(
    ("PARTICLES", "Identity", "confusion", "electron_like", "identify", "per_event"), "analysis.particles"
)


def __getattr__(name: str) -> Any:
    """Loads a name at its first use, because the command line imports this package only to list the chains."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
