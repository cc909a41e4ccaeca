# SPDX-License-Identifier: Apache-2.0
"""A configuration for a form: each key with its declared type, default, bounds and meaning."""

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from annotated_types import BaseMetadata
from pydantic import BaseModel

from anello.configuration.base import fields_by_key, section_of
from anello.configuration.load import Config, load
from anello.control.operator import Status
from anello.errors import ConfigError

MOST_BYTES = 1 << 20  # of a configuration


def described(status: Status) -> dict[str, Any]:
    """The description of the configuration in force. Raises ConfigError where its file is no longer valid."""
    file = Path(status.config_file) if status.config_file else None
    return {"file": status.config_file, "settings": list(status.settings), **_described(load(file, status.settings))}


def readable(file: Path) -> Path:
    """Checks that the file can be read. Raises ConfigError for a file without an end, such as a device."""
    try:
        found = file.stat()
    except (OSError, ValueError):
        return file  # load() then refuses it in its own words
    if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
        rule = f"must be a file of {MOST_BYTES >> 20} MiB at most"
        raise ConfigError(str(file), rule, "another kind of file, or a larger one", "Check the path")
    return file


def of_file(file: Path, settings: Sequence[str]) -> dict[str, Any]:
    """The description of a configuration file. Raises ConfigError."""
    readable(file)
    return {"file": str(file), "settings": list(settings), **_described(load(file, settings))}


def _described(config: Config) -> dict[str, Any]:
    return {"chain": config.chain, "keys": list(_keys(type(config), config.as_given(), ""))}


def _keys(model: type[BaseModel], values: dict[str, Any], prefix: str) -> Iterator[dict[str, Any]]:
    for name, field in fields_by_key(model).items():
        inner = section_of(field)
        if inner:
            yield from _keys(inner, values, f"{prefix}{name}.")
            continue
        key = prefix + name
        default = field.get_default(call_default_factory=True)
        yield {
            "key": key,
            "value": values.get(key),
            "default": _plain(default),
            "type": _type(field.annotation),
            "meaning": field.description or "",
            "choices": _choices(field.annotation),
            "bounds": _bounds(field.metadata),
        }


def _type(annotation: Any) -> str:
    simple = {bool: "switch", int: "whole number", float: "number", str: "text"}
    return simple.get(annotation, "choice" if _choices(annotation) else "list or text")


def _choices(annotation: Any) -> list[Any]:
    from typing import Literal, get_args, get_origin

    return list(get_args(annotation)) if get_origin(annotation) is Literal else []


def _bounds(metadata: Sequence[Any]) -> dict[str, float]:
    """The bounds of a key: gt, ge, lt, le."""
    found: dict[str, float] = {}
    for one in metadata:
        if isinstance(one, BaseMetadata):
            found |= {key: getattr(one, key) for key in ("gt", "ge", "lt", "le") if getattr(one, key, None) is not None}
    return found


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | list) or value is None else str(value)
