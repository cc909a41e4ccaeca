# SPDX-License-Identifier: Apache-2.0
"""The base class of the sections of a configuration."""

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue


@dataclass(frozen=True)
class KeyOverride:
    """A chain's own default or meaning of a key that all chains share; None: the shared one applies."""

    default: Any = None
    meaning: str | None = None


class EntryError(ValueError):
    """One entry of a list is wrong."""

    def __init__(self, index: int, rule: str) -> None:
        super().__init__(rule)
        self.index = index


class Section(BaseModel):
    """A table of the file. Unknown keys, wrong types and values that are not finite are refused."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        validate_default=True,
        defer_build=True,  # most models are parts of others, and never checked by themselves
    )
    # overrides of keys of python_keys.py; the engine's keys have a table for each chain
    own: ClassVar[dict[str, KeyOverride]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for key, otherwise in cls.__dict__.get("own", {}).items():
            field = cls.__pydantic_fields__[key] = copy(cls.__pydantic_fields__[key])
            field.default = field.default if otherwise.default is None else otherwise.default
            field.description = otherwise.meaning or field.description


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError("must be a power of two")
    return value


def greatest(section: type[Section], key: str) -> int:
    """The greatest value of a whole number, or the greatest number of entries of a list."""
    bounds = [getattr(rule, "le", getattr(rule, "max_length", None)) for rule in section.model_fields[key].metadata]
    return next(bound for bound in bounds if isinstance(bound, int))


PowerOfTwo = AfterValidator(_power_of_two)
EXPERT: dict[str, JsonValue] = {"expert": True}  # json_schema_extra of a key that is shown only on request
