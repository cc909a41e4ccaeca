# SPDX-License-Identifier: Apache-2.0
"""What a section of a configuration is."""

from annotated_types import Le
from pydantic import AfterValidator, BaseModel, ConfigDict


class Section(BaseModel):
    """A table of the file. Unknown keys, wrong types and values that are not finite are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True)


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError("must be a power of two")
    return value


def greatest(section: type[Section], key: str) -> int:
    """What a whole number may be at most."""
    rules = section.model_fields[key].metadata
    return next(rule.le for rule in rules if isinstance(rule, Le) and isinstance(rule.le, int))


PowerOfTwo = AfterValidator(_power_of_two)
