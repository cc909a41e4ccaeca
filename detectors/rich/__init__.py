# SPDX-License-Identifier: Apache-2.0
"""The RICH of NA62.

anello.rich.find_rings(hit_x_mm, hit_y_mm, event_offset)   rings of a batch of events
anello.rich.identify(radius_mm, radius_variance_mm2, momentum_gev)   electron, muon, pion or kaon
anello.rich.tune(params, detector)                         the finder's parameters, fitted to a simulated detector
anello.rich.time_clusters(hit_time_ns, event_offset)       hits of each event in groups by time
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
    """Loaded when they are asked for: the command line reads this package to learn what chains there are."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
