# SPDX-License-Identifier: Apache-2.0
"""Reading a configuration: TOML file, then `--set` values, then checks. Wrong ones raise ConfigError."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from anello import registry
from anello.config_base import Config, FrontEndsConfig, RelationError, fields_by_key, flatten, section_of
from anello.config_keys import config_of, key_names, known_keys, sections
from anello.errors import ConfigError
from anello.section import EntryError

__all__ = ["Config", "FrontEndsConfig", "load", "load_with_front_ends"]
MOST_BITS = 256  # of a number that a message repeats
BEHIND_A_CHAIN = "exchange"  # the chain that may have another before it
ADDED_TO = "input.settings"  # who gives one more of them with --set does not mean to drop the file's


def load(path: Path | None, settings: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> Config:
    """The file's values (or `values`, or all defaults), then each `key=value` of settings. Raises ConfigError."""
    values = _read_toml(path) if path else dict(values or {})
    given = [_parsed(setting) for setting in settings]
    chain = _chain_of(values | {key: value for key, value in given if key == "chain"})
    _refuse_unknown_keys(values, config_of(chain), "", chain)
    for key, value in given:
        _apply(values, key, value, chain)
    config = _validated(values, chain)
    return _behind_its_chain(config, path) if chain == BEHIND_A_CHAIN else config


def load_with_front_ends(path: Path, settings: Sequence[str] = ()) -> FrontEndsConfig:
    """Likewise, for commands that need a chain with front ends."""
    config = load(path, settings)
    if not isinstance(config, FrontEndsConfig):
        rule = "must be a chain with front ends for this command"
        raise ConfigError("chain", rule, f'"{config.chain}"', f"anello {config.chain} runs this configuration")
    return config


def _behind_its_chain(config: Config, path: Path | None) -> Config:
    """With the configuration of the chain before the exchange, which its file names."""
    from anello.exchange.config import ExchangeConfig
    from anello.exchange.python_keys import GENERATOR

    if not isinstance(config, ExchangeConfig) or config.input.from_ == GENERATOR:
        return config
    file = ((path.parent if path else Path()) / config.input.config).resolve()
    chain = load(file, config.input.settings)
    if not isinstance(chain, FrontEndsConfig):
        raise ConfigError("input.config", "must be of a chain with front ends", f"{file}: {chain.chain}",
                          "Name the file of a detector's chain")  # fmt: skip
    return config.behind(chain, str(file))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(str(path), "must be a readable file", reason or str(error), "Check the path") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), "must be TOML", str(error), "See https://toml.io") from error
    except (ValueError, RecursionError):
        raise _endless(str(path), "a number or a list that has no end") from None


def _endless(where: str, given: str) -> ConfigError:
    """Of numbers of thousands of digits, and lists in lists in lists."""
    return ConfigError(where, "must have numbers and lists of a sane size", given[:60], "No key takes such a value")


def _chain_of(values: Mapping[str, Any]) -> str:
    default = registry.default_chain()
    chain = values.get("chain", default)
    if not isinstance(chain, str) or chain not in registry.names():
        rule = "must be " + " or ".join(f'"{name}"' for name in registry.names())
        raise ConfigError("chain", rule, _show(chain), f"The default is {_show(default)}")
    return chain


def _refuse_unknown_keys(values: dict[str, Any], model: type[BaseModel], prefix: str, chain: str) -> None:
    fields = fields_by_key(model)
    for key, value in values.items():
        if key not in fields:
            raise _unknown_key(prefix + key, chain)
        inner = section_of(fields[key])
        if inner and isinstance(value, dict):
            _refuse_unknown_keys(value, inner, f"{prefix}{key}.", chain)


def _unknown_key(key: str, chain: str) -> ConfigError:
    for other in registry.names():
        if key in key_names(other) or key in sections(other):
            rule = f"belongs to the chain {other}, and this configuration is for the chain {chain}"
            return ConfigError(key, rule, key.rsplit(".", 1)[-1], f'Leave it out, or set chain = "{other}"')
    known_here = known_keys(chain)
    near = difflib.get_close_matches(key, known_here, n=1, cutoff=0.5)
    by_name = [known for known in known_here if known.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]]
    guess = (by_name or near or [""])[0]
    remedy = f"Did you mean {guess}?" if guess else "anello config show lists the keys"
    return ConfigError(key, "is not a key of the configuration", key.rsplit(".", 1)[-1], remedy)


def _parsed(setting: str) -> tuple[str, Any]:
    key, equals, text = setting.partition("=")
    if not equals:
        raise ConfigError("--set", "must be key=value", setting, "For example --set run.seed=7")
    return key.strip(), _toml_value(text.strip())


def _apply(values: dict[str, Any], key: str, value: object, chain: str) -> None:
    if key not in key_names(chain):
        raise _unknown_key(key, chain)
    *tables, name = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(table, "must be a table", str(values), f"Write it as [{table}]")
    if key == ADDED_TO and isinstance(value, list) and isinstance(values.get(name), list):
        value = [*values[name], *value]
    values[name] = value


def _toml_value(text: str) -> object:
    """The value as TOML has it; what is not TOML is a string, so that words need no quotes on the command line."""
    try:
        value = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError):
        raise _endless("--set", text) from None
    return value["value"] if len(value) == 1 else text


def _validated(values: dict[str, Any], chain: str) -> Config:
    try:
        return config_of(chain).model_validate(values)
    except ValidationError as error:
        raise _config_error(error.errors()[0], values, chain) from error


# --- Errors in the user's words -----------------------------------------------------------------------------------
RULES = {
    "greater_than": "must be above {gt:.12g}",
    "greater_than_equal": "must be at least {ge:.12g}",
    "less_than_equal": "must be at most {le:.12g}",
    "less_than": "must be below {lt:.12g}",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} letters",
    "string_pattern_mismatch": "may hold letters, digits, dot, dash and underscore only",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be a table",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
}


def _config_error(details: ErrorDetails, values: dict[str, Any], chain: str) -> ConfigError:
    context = details.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, RelationError):
        given = dict(flatten(_effective(values, config_of(chain))))[cause.field]
        return ConfigError(cause.field, cause.rule, _show(given), _sentence(cause.remedy))
    field, given = _dotted(details["loc"]), details["input"]
    if isinstance(cause, EntryError):
        field, given = f"{field}[{cause.index}]", given[cause.index]
    rule = RULES.get(details["type"], "").format_map(context)
    if details["type"] == "literal_error":
        rule = "must be " + _listed(_choices(field, chain))
    rule = rule or (str(cause) if cause else details["msg"])
    return ConfigError(field, rule, _show(given), _remedy(field, details, chain))


def _effective(values: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """The values over the defaults, unchecked: each section alone is already known to be right."""
    inner = {name: section_of(field) for name, field in fields_by_key(model).items()}
    return {
        name: section.model_validate(values.get(name, {})).model_dump(by_alias=True)
        for name, section in inner.items()
        if section
    }


def _dotted(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _choices(field: str, chain: str) -> tuple[str, ...]:
    return known_keys(chain)[field.split("[", maxsplit=1)[0]].choices


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _remedy(field: str, details: ErrorDetails, chain: str) -> str:
    key = known_keys(chain).get(field.split("[", maxsplit=1)[0])
    if key is None:
        return "anello config show lists the keys"
    if details["type"] == "literal_error" and isinstance(details["input"], str):
        near = difflib.get_close_matches(details["input"], key.choices, n=1)
        if near:
            return f'Did you mean "{near[0]}"?'
    return f"The default is {_show(key.default)}"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _show(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"a number of {value.bit_length():,} bits"
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
