# SPDX-License-Identifier: Apache-2.0
"""The list of chains: each chain registers itself, and no other module names it.

A chain of this package is a folder with a registration.py, which holds REGISTRATION; in the source tree the folders of
detectors/ are such folders too, under the name that they have once installed. A chain of another package has an entry
point of the group `anello.chains` that leads to such an object. Its name is the configuration's key `chain`. The module
that holds it imports nothing else of anello, because it is read first.
"""

import importlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anello.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "anello.chains"
FOLDERS = [Path(folder) for folder in sys.modules[__package__].__path__]  # in the source tree also detectors/


@dataclass(frozen=True)
class SearchKeys:
    """What `anello search` must know of a chain to measure it at a rate."""

    rate_key: str  # offered rate of events, Hz
    # for a run of {seconds} without a pause, {ms} the same in ms; the run keeps nothing for the report
    settings: tuple[str, ...]
    whole_way: str  # the leg of the latency that judges a run
    also_whole: tuple[str, ...] = ()  # legs that judge the run instead, where they have events


@dataclass(frozen=True)
class Registration:
    """The parts of a chain. Texts of the form "module:name" are loaded on first use (part), so that no command loads
    the chains that it does not use."""

    about: str  # a description in a few words
    config: str  # a class anello.configuration.base.Config
    presentation: str  # a class anello.report.presentation.Presentation
    complete: str = ""  # a function (config, its file or None): the configuration completed from another file
    live: str = ""  # a class anello.counters.live.View; empty: the live page shows only what every chain has
    chain: str = ""  # a class anello.run.chain.Chain; empty: the chain has no front ends
    feed: str = ""  # a class anello.exchange.feed.Feed
    farm: str = ""  # a class anello.exchange.account.detector_part.DetectorPart
    virtual: str = ""  # an anello.virtual_farm.books.VirtualChain: its chains in virtual time, which its bindings run
    simulate: str = ""  # a function (n_events, *, seed, **parameters)
    # names that anello itself offers for this chain: "module:name"
    python: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()  # functions that become commands of the command line
    versions: str = ""  # a function () whose lines `anello version` prints
    # for events that an exchange has built: output.to -> its meaning
    outputs: Mapping[str, str] = field(default_factory=dict)
    record_kinds: Mapping[int, str] = field(default_factory=dict)  # of published records: the record's kind -> its name
    search: SearchKeys | None = None
    is_default: bool = False  # chain of a configuration without the key `chain`


@cache
def _registrations() -> Mapping[str, Registration]:
    """Registrations by chain: the default, those with front ends, the others. No package can replace a chain of
    ours."""
    own = {
        path.parent.name: load(f"anello.{path.parent.name}.registration:REGISTRATION")
        for folder in FOLDERS
        for path in folder.glob("*/registration.py")
    }
    found = {point.name: _loaded(point) for point in _points()} | own
    return dict(sorted(found.items(), key=lambda one: (not one[1].is_default, not one[1].chain, one[0])))


def _points() -> "Iterable[EntryPoint]":
    """Entry points of other packages. Reading the metadata of hundreds of packages costs 30 ms at each start, so
    each folder is first searched for files of entry points that name the group."""
    folders = [Path(folder) for folder in sys.path]
    if not any(_names_group(folder) for folder in folders):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _names_group(folder: Path) -> bool:
    """True if a package in this folder has the group, or may have it."""
    if folder.is_file():  # a zip archive on the path
        return True
    try:
        return any(GROUP in file.read_text(errors="replace") for file in folder.glob("*-info/entry_points.txt"))
    except OSError:
        return False


def _loaded(point: "EntryPoint") -> Registration:
    try:
        found = point.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        if "circular import" in why:
            why = f"{point.module}: it must import nothing of anello but anello.registry"
        raise _broken(point, why) from error
    if not isinstance(found, Registration):
        raise _broken(point, f"it is a {type(found).__name__}")
    return replace(found, is_default=False)


def _broken(point: "EntryPoint", why: str) -> ConfigError:
    package = point.dist.name if point.dist else point.value
    rule = f"must lead to an anello.registry.Registration (entry point {point.value})"
    return ConfigError(f"{GROUP}: {point.name}", rule, why, f"Mend or uninstall the package {package}")


def names() -> tuple[str, ...]:
    """The names of all chains."""
    return tuple(_registrations())


def registration(chain: str) -> Registration:
    """The registration of a chain. Raises KeyError where there is no such chain."""
    return _registrations()[chain]


def part(chain: str, name: str) -> Any:
    """The object that a field of the chain's registration names. Raises KeyError where the chain has none."""
    place = getattr(registration(chain), name)
    if not place:
        raise KeyError(f"the chain {chain} has no {name}")
    return load(place)


def parts(name: str) -> dict[str, Any]:
    """The objects of all chains that have this part, by chain."""
    return {chain: part(chain, name) for chain in names() if getattr(registration(chain), name)}


def load(place: str) -> Any:
    """Loads an object or a module. place: "module:name", or a module."""
    module, _, name = place.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, name) if name else loaded


def offered() -> dict[str, str]:
    """Names that chains offer under the package's own name: the name -> its place."""
    return {name: place for chain in names() for name, place in registration(chain).python.items()}


def detectors() -> tuple[str, ...]:
    """The chains with front ends."""
    return tuple(chain for chain in names() if registration(chain).chain)


def default_chain() -> str:
    """The chain that is registered as default; where it is not installed, the first with front ends."""
    return names()[0]


def presentation_of(record: Any) -> Any:
    """The run's presentation for summary and report. record: a Record; returns a Presentation."""
    return part(record.config.chain, "presentation")(record)
