# SPDX-License-Identifier: Apache-2.0
"""Which keys a configuration has, for documents and error messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from anello import registry
from anello.configuration.base import Config, Scalar, fields_by_key, section_of


@dataclass(frozen=True)
class Key:
    """One key of the configuration."""

    name: str
    default: Scalar
    kind: str
    bounds: str
    description: str
    choices: tuple[str, ...]
    expert: bool


def config_of(chain: str) -> type[Config]:
    """The configuration's model; models of other chains are not loaded. Raises KeyError where there is no such
    chain."""
    model: type[Config] = registry.part(chain, "config")
    return model


@cache
def key_names(chain: str) -> frozenset[str]:
    """All keys of a chain by dotted name. Faster than known_keys, because it makes no schemas."""
    return frozenset(name for name, _, _ in _walk(config_of(chain), ""))


@cache
def known_keys(chain: str) -> dict[str, Key]:
    """All keys of a chain by dotted name, in the order of the file."""
    return {name: _key(name, field, model) for name, field, model in _walk(config_of(chain), "")}


def sections(chain: str) -> dict[str, str]:
    """Dotted name -> meaning of each section, outer before inner; "" holds the keys above all sections."""
    return {"": ""} | dict(_sections(config_of(chain), ""))


def _sections(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
    for name, field in fields_by_key(model).items():
        inner = section_of(field)
        if inner:
            yield prefix + name, (inner.__doc__ or "").strip()
            yield from _sections(inner, f"{prefix}{name}.")


def _walk(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo, type[BaseModel]]]:
    """(dotted name, field, its model) of each key."""
    for name, field in fields_by_key(model).items():
        inner = section_of(field)
        if inner:
            yield from _walk(inner, f"{prefix}{name}.")
        else:
            yield prefix + name, field, model


def _key(name: str, field: FieldInfo, model: type[BaseModel]) -> Key:
    schema = _schemas(model)[name.rpartition(".")[2]]
    return Key(
        name=name,
        default=field.get_default(),
        kind=_kind(schema),
        bounds=_bounds(schema),
        description=field.description or "",
        choices=tuple(schema.get("enum", ())),
        expert=schema.get("expert", False),
    )


@cache
def _schemas(model: type[BaseModel]) -> dict[str, Any]:
    """The schemas by key. One schema of a whole model serves all its keys, as making one takes milliseconds."""
    properties: dict[str, Any] = model.model_json_schema()["properties"]
    return properties


KINDS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    if schema["type"] == "array":
        return f"list of {KINDS[schema['items']['type']]}"
    return KINDS[schema["type"]]


def _bounds(schema: dict[str, Any]) -> str:
    one = schema["items"] if schema.get("type") == "array" else schema
    low, high = one.get("minimum"), one.get("maximum")
    above, below = one.get("exclusiveMinimum"), one.get("exclusiveMaximum")
    parts = [f"above {above:g}" if above is not None else "", f"from {low:.12g}" if low is not None else ""]
    parts = ["power of two", *parts] if one.get("power_of_two") else parts
    parts += [f"to {high:.12g}" if high is not None else "", f"below {below:g}" if below is not None else ""]
    return " ".join(part for part in parts if part)
