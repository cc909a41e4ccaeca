# SPDX-License-Identifier: Apache-2.0
"""Import of the compiled engine. Import it where it is used, so that what needs no engine works without one.

from anello.engine import _engine
"""

import importlib
from contextlib import suppress
from types import ModuleType

from anello.errors import EngineMissingError, InputError
from anello.nanet.card import CardSources

try:
    from anello import _engine
except ImportError as error:
    raise EngineMissingError(f"the compiled engine cannot be loaded: {error}. ./dev setup builds it") from error


def _name_card(engine: ModuleType) -> None:
    """Tells the engine where the card's library was built. An installed package has no card."""
    with suppress(InputError):
        engine.set_nanet_library(str(CardSources.here().library))


_name_card(_engine)

__all__ = ["_engine", "compiled_part"]


def compiled_part(package: str) -> ModuleType:
    """The compiled module of the detector with this package: its own module _engine if it was built out of tree,
    otherwise its part of ours. Raises ModuleNotFoundError where the engine was built without it."""
    own = f"{package}._engine"
    try:
        module = importlib.import_module(own)
        _name_card(module)  # the detector has its own engine module
        return module
    except ModuleNotFoundError as error:
        if error.name != own:
            raise
    return importlib.import_module(f"{_engine.__name__}.{package.rpartition('.')[2]}")
