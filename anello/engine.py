# SPDX-License-Identifier: Apache-2.0
"""The way to the compiled engine. Import it where it is used: what needs no engine then works without one.

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
    """Tells a module where the card's library is made. An installed package has no card."""
    with suppress(InputError):
        engine.set_nanet_library(str(CardSources.here().library))


_name_card(_engine)

__all__ = ["_engine", "compiled_part"]


def compiled_part(package: str) -> ModuleType:
    """Of the detector whose package this is: a module _engine of its own where it was built out of tree, else its part
    of ours. Raises ModuleNotFoundError where it was built without it."""
    own = f"{package}._engine"
    try:
        module = importlib.import_module(own)
        _name_card(module)  # it has an engine of its own
        return module
    except ModuleNotFoundError as error:
        if error.name != own:
            raise
    return importlib.import_module(f"{_engine.__name__}.{package.rpartition('.')[2]}")
