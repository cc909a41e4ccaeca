# SPDX-License-Identifier: Apache-2.0
"""The names of a farm's machines."""

import re

HERE = "here"  # the machine of the control room
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def is_machine(name: str) -> bool:
    """True for HERE and for a name that an agent may have."""
    return NAME.fullmatch(name) is not None
