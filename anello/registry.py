# SPDX-License-Identifier: Apache-2.0
"""Which chains there are: each registers itself, and nothing else names it.

A chain of this package is a folder with a registration.py, which holds REGISTRATION; in the source tree the folders of
detectors/ are such folders too, under the name that they have once installed. One of another package has an
entry point of the group `anello.chains` that leads to such an object. Its name is the configuration's key `chain`. The
module that holds it imports nothing else of anello: it is read before the rest can be.
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
    """What must be known of a chain to measure it at a rate."""

    rate_key: str  # offered rate of events, Hz
    settings: tuple[str, ...]  # a run of {seconds} without a pause, {ms} the same in ms; nothing kept for the report
    whole_way: str  # the leg of the latency that judges a run
    also_whole: tuple[str, ...] = ()  # legs that judge it instead, where they have events


@dataclass(frozen=True)
class Registration:
    """What a chain gives. Texts of the form "module:name" are loaded when they are asked for (part), so that no command
    pays for the chains that it does not use."""

    about: str  # what it gives, in a few words
    config: str  # a class anello.configuration.base.Config
    presentation: str  # a class anello.report.presentation.Presentation
    complete: str = ""  # a function (config, its file or None): the configuration with what another file says of it
    live: str = ""  # a class anello.counters.live.View; empty: the live page knows only what every chain has
    chain: str = ""  # a class anello.run.chain.Chain; empty: the chain has no front ends
    feed: str = ""  # a class anello.exchange.feed.Feed
    farm: str = ""  # a class anello.exchange.account.detector_part.DetectorPart
    virtual: str = ""  # an anello.virtual_farm.books.VirtualChain: its chains in virtual time, which its bindings run
    simulate: str = ""  # a function (n_events, *, seed, **parameters)
    python: Mapping[str, str] = field(default_factory=dict)  # names that anello itself offers for it: "module:name"
    commands: tuple[str, ...] = ()  # functions that become commands of the command line
    versions: str = ""  # a function () whose lines `anello version` prints
    outputs: Mapping[str, str] = field(default_factory=dict)  # behind the exchange: output.to -> its meaning
    record_kinds: Mapping[int, str] = field(default_factory=dict)  # what it publishes: the record's kind -> its name
    search: SearchKeys | None = None
    is_default: bool = False  # of a configuration without the key `chain`


@cache
def _registrations() -> Mapping[str, Registration]:
    """By chain: the default, those with front ends, the others. No package can replace a chain of ours."""
    own = {
        path.parent.name: load(f"anello.{path.parent.name}.registration:REGISTRATION")
        for folder in FOLDERS
        for path in folder.glob("*/registration.py")
    }
    found = {point.name: _loaded(point) for point in _points()} | own
    return dict(sorted(found.items(), key=lambda one: (not one[1].is_default, not one[1].chain, one[0])))


def _points() -> "Iterable[EntryPoint]":
    """Of other packages. Reading what each of hundreds is costs a start 30 ms: whether one of them names the group is
    seen in a file of theirs."""
    folders = [Path(folder) for folder in sys.path]
    if not any(_names_group(folder) for folder in folders):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _names_group(folder: Path) -> bool:
    """Whether a package in it does, or may do."""
    if folder.is_file():  # an archive
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
    """All chains."""
    return tuple(_registrations())


def registration(chain: str) -> Registration:
    """Raises KeyError where there is no such chain."""
    return _registrations()[chain]


def part(chain: str, name: str) -> Any:
    """The object behind a field of the chain's registration. Raises KeyError where the chain has none."""
    place = getattr(registration(chain), name)
    if not place:
        raise KeyError(f"the chain {chain} has no {name}")
    return load(place)


def parts(name: str) -> dict[str, Any]:
    """By chain, of those that have this part."""
    return {chain: part(chain, name) for chain in names() if getattr(registration(chain), name)}


def load(place: str) -> Any:
    """place: "module:name", or a module."""
    module, _, name = place.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, name) if name else loaded


def offered() -> dict[str, str]:
    """What chains offer under the package's own name: the name -> where it is."""
    return {name: place for chain in names() for name, place in registration(chain).python.items()}


def detectors() -> tuple[str, ...]:
    """The chains with front ends."""
    return tuple(chain for chain in names() if registration(chain).chain)


def default_chain() -> str:
    """The one that says so; where it is not installed, the first with front ends."""
    return names()[0]


def presentation_of(record: Any) -> Any:
    """The run as summary and report show it. record: a Record; gives a Presentation."""
    return part(record.config.chain, "presentation")(record)
