# SPDX-License-Identifier: Apache-2.0
"""Reading a configuration: TOML file, then `--set` values, then checks. All errors are joined in one ConfigError."""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from anello import registry
from anello.configuration.base import Config, FrontEndsConfig, fields_by_key, section_of
from anello.configuration.errors import in_users_words, lines_of_keys, show, unknown_key
from anello.configuration.keys import config_of, key_names
from anello.errors import ConfigError

__all__ = ["Config", "FrontEndsConfig", "load", "load_with_front_ends"]
ADDED_TO = "input.settings"  # values given with --set are added to those of the file


def load(path: Path | None, settings: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> Config:
    """The file's values (or `values`, or all defaults), then each `key=value` of settings. Raises ConfigError."""
    text = _read(path) if path else ""
    values = _toml(path, text) if path else dict(values or {})
    given = [_parsed(setting) for setting in settings]
    chain = _chain_of(values | {key: value for key, value in given if key == "chain"})
    errors = list(_unknown_keys(values, config_of(chain), "", chain))
    for key, value in given:
        try:
            _apply(values, key, value, chain)
        except ConfigError as error:
            errors.append(error)
    try:
        config = config_of(chain).model_validate(values)
    except ValidationError as error:
        reported = {one.field for one in errors}
        errors += [one for one in in_users_words(error, values, chain) if one.field not in reported]
    if errors:
        raise ConfigError.of_all(_with_places(errors, path, text, dict(given)))
    complete = registry.registration(chain).complete
    return registry.load(complete)(config, path) if complete else config


def _with_places(
    errors: Sequence[ConfigError], path: Path | None, text: str, set_by_hand: Mapping[str, object]
) -> list[ConfigError]:
    """The errors in the order of the file's lines, each with its line; last those of values that are not from the
    file."""
    lines = {key: line for key, line in lines_of_keys(text).items() if key not in set_by_hand}
    placed = [(lines.get(error.field.split("[", maxsplit=1)[0]), error) for error in errors]
    placed.sort(key=lambda one: one[0] or math.inf)
    return [error.at(f"{path}:{line}") if line else error for line, error in placed]


def load_with_front_ends(path: Path, settings: Sequence[str] = ()) -> FrontEndsConfig:
    """Reads a configuration as load() does, for commands that need a chain with front ends."""
    config = load(path, settings)
    if not isinstance(config, FrontEndsConfig):
        rule = "must be a chain with front ends for this command"
        raise ConfigError("chain", rule, f'"{config.chain}"', f"anello {config.chain} runs this configuration")
    return config


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(str(path), "must be a readable file", reason or str(error), "Check the path") from error


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), "must be TOML", str(error), "See https://toml.io") from error
    except (ValueError, RecursionError):
        raise _endless(str(path), "a number or a list that has no end") from None


def _endless(where: str, given: str) -> ConfigError:
    """The error for numbers of thousands of digits, and for deeply nested lists."""
    return ConfigError(where, "must have numbers and lists of a sane size", given[:60], "No key takes such a value")


def _chain_of(values: Mapping[str, Any]) -> str:
    default = registry.default_chain()
    chain = values.get("chain", default)
    if not isinstance(chain, str) or chain not in registry.names():
        rule = "must be " + " or ".join(f'"{name}"' for name in registry.names())
        raise ConfigError("chain", rule, show(chain), f"The default is {show(default)}")
    return chain


def _unknown_keys(values: dict[str, Any], model: type[BaseModel], prefix: str, chain: str) -> Iterator[ConfigError]:
    fields = fields_by_key(model)
    for key, value in values.items():
        inner = section_of(fields[key]) if key in fields else None
        if key not in fields:
            yield unknown_key(prefix + key, chain)
        elif inner and isinstance(value, dict):
            yield from _unknown_keys(value, inner, f"{prefix}{key}.", chain)


def _parsed(setting: str) -> tuple[str, Any]:
    key, equals, text = setting.partition("=")
    if not equals:
        raise ConfigError("--set", "must be key=value", setting, "For example --set run.seed=7")
    return key.strip(), _toml_value(text.strip())


def _apply(values: dict[str, Any], key: str, value: object, chain: str) -> None:
    if key not in key_names(chain):
        raise unknown_key(key, chain)
    *tables, name = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(table, "must be a table", str(values), f"Write it as [{table}]")
    if key == ADDED_TO and isinstance(value, list) and isinstance(values.get(name), list):
        value = [*values[name], *value]
    values[name] = value


def _toml_value(text: str) -> object:
    """The value as TOML reads it; a text that is not TOML is a string, so that words need no quotes on the command
    line."""
    try:
        value = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError):
        raise _endless("--set", text) from None
    return value["value"] if len(value) == 1 else text
