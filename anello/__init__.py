# SPDX-License-Identifier: Apache-2.0
"""Anello: detector data from the wire to a decision. This package is the control plane; `anello --help` lists it.

anello.simulate.CHAIN(n_events=1000, seed=1)          simulated events of a chain, with their truth
anello.physics.score(truth, found)                    efficiency, ghosts and resolution
anello.plot.event(...)                                a picture of one event
anello.subscribe("stream://@anello")                  what a running chain publishes, as NumPy arrays
"""

import os
import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # typing has one, too, and takes longer to load than this package
if TYPE_CHECKING:
    from typing import Any

    from anello import events_csv, physics, plot, simulate
    from anello.rings import Rings
    from anello.subscribe import subscribe

__all__ = [
    "Rings",
    "events_csv",
    "physics",
    "plot",
    "simulate",
    "subscribe",
]
_MODULES = {"Rings": "rings", "events_csv": "", "physics": "", "plot": "", "simulate": "", "subscribe": "subscribe"}


def __getattr__(name: str) -> "Any":
    """Loaded when they are asked for: a command that needs no arrays does not wait for NumPy."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES[name] or name}")
    return getattr(module, name) if _MODULES[name] else module


class _Package(ModuleType):
    """One name is both a module's and its function's: whoever imports the module leaves the function in its place."""

    def __setattr__(self, name: str, value: "Any") -> None:
        is_module = name == "subscribe" and isinstance(value, ModuleType)
        super().__setattr__(name, value.subscribe if is_module else value)


sys.modules[__name__].__class__ = _Package

_DETECTORS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "detectors")  # noqa: PTH118, PTH120
if os.path.isfile(os.path.join(_DETECTORS, "CMakeLists.txt")):  # noqa: PTH113, PTH118 - the source tree
    __path__.append(_DETECTORS)
