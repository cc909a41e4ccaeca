# SPDX-License-Identifier: Apache-2.0
"""The seed of tests that draw: the same in every run, unless ANELLO_SEED sets another."""

import os


def seed() -> int:
    """ANELLO_SEED, or 1. It is printed, so that the output of a failed test shows it."""
    value = int(os.environ.get("ANELLO_SEED", "1"))
    print(f"seed {value}: ANELLO_SEED={value} draws the same again")
    return value
