# SPDX-License-Identifier: Apache-2.0
"""Anello: detector data from the wire to a decision. This package is the control plane; `anello --help` lists it.

anello.simulate.CHAIN(n_events=1000, seed=1)          simulated events of a chain, with their truth
anello.subscribe("stream://@anello")                  what a running chain publishes, as NumPy arrays
anello.card, anello.packets, anello.stream            datagrams, packets and byte streams for programs of your own
anello.columns, anello.mep_file                       the files that runs write

Detectors offer more under anello's own name (anello.registry.Registration.python), such as anello.physics.
"""

import os
import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # typing has one, too, and takes longer to load than this package
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

    from anello import card, columns, mep_file, simulate
    from anello.subscribe import subscribe

__all__ = ["card", "columns", "mep_file", "simulate", "subscribe"]
# Detectors' packages still import these modules by the names that they had before they were moved into folders.
# fmt: off
MOVED = {
    "chains": "run.chain", "config_base": "configuration.base", "ledger": "account.ledger",
    "presentation": "report.presentation", "python_keys": "configuration.python_keys", "record": "account.record",
    "section": "configuration.section", "sections": "configuration.sections", "verdict": "account.verdict",
}
# fmt: on


def __getattr__(name: str) -> "Any":
    """Loads a name on first use, so that a command that needs no arrays does not wait for NumPy."""
    if name == "subscribe":
        return import_module(f"{__name__}.subscribe").subscribe
    if name in __all__ or name in MOVED:
        return import_module(f"{__name__}.{MOVED.get(name, name)}")
    if not name.startswith("_") and not _is_module(name):
        registry = import_module(f"{__name__}.registry")
        if name in (offered := registry.offered()):
            return registry.load(offered[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_module(name: str) -> bool:
    """True if `name` is a module of this package: Python asks for attributes before it looks for a file."""
    from importlib.util import find_spec

    return find_spec(f"{__name__}.{name}") is not None


class _MovedModules:
    """Finds `anello.ledger` and the like in their folders. Python asks this finder only for modules that no folder
    has."""

    @staticmethod
    def find_spec(
        name: str, path: "Sequence[str] | None" = None, target: ModuleType | None = None
    ) -> "ModuleSpec | None":
        package, _, module = name.rpartition(".")
        if package != __name__ or module not in MOVED:
            return None
        from importlib.util import spec_from_loader

        return spec_from_loader(name, _Moved(f"{package}.{MOVED[module]}"))  # type: ignore[arg-type]


class _Moved:
    """Loads a module under a second name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: "ModuleSpec") -> ModuleType:
        module = import_module(self._name)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Takes back the specification of the second name, which Python has given to the module: the module has run
        already."""
        module.__spec__ = self._own_spec


class _Package(ModuleType):
    """One name is both a module and a function of it: after an import of the module the name still gives the
    function."""

    def __setattr__(self, name: str, value: "Any") -> None:
        is_module = name == "subscribe" and isinstance(value, ModuleType)
        super().__setattr__(name, value.subscribe if is_module else value)


sys.modules[__name__].__class__ = _Package
sys.meta_path.append(_MovedModules)

_DETECTORS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "detectors")  # noqa: PTH118, PTH120
if os.path.isfile(os.path.join(_DETECTORS, "CMakeLists.txt")):  # noqa: PTH113, PTH118 - the source tree
    __path__.append(_DETECTORS)
