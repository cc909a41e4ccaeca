# SPDX-License-Identifier: Apache-2.0
"""The way to the compiled engine. Import it where it is used: what needs no engine then works without one.

from anello.engine import _engine
"""

from anello.errors import EngineMissingError

try:
    from anello import _engine
except ImportError as error:
    raise EngineMissingError(f"the compiled engine cannot be loaded: {error}. ./dev setup builds it") from error

__all__ = ["_engine"]
