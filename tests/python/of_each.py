# SPDX-License-Identifier: Apache-2.0
"""One test for many small cases of one table, as pytest would spend more time on each case than the case itself."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import pytest


def of_each(names: Sequence[str], cases: Sequence[tuple[Any, ...]]) -> Callable[[Callable[..., None]], Any]:
    """Like parametrize, but one test for all cases that have the same first value; a failure says of which case it is.

    cases: those with the same first value follow each other.
    """
    grouped = {first: list(those) for first, those in groupby(cases, key=lambda case: case[0])}

    def decorate(check: Callable[..., None]) -> Any:
        def test(first: str) -> None:
            for case in grouped[first]:
                try:
                    check(*case)
                except BaseException as error:
                    error.add_note(", ".join(f"{name} = {value!r}" for name, value in zip(names, case, strict=True)))
                    raise

        test.__doc__ = check.__doc__
        return pytest.mark.parametrize("first", grouped, ids=str)(test)

    return decorate
