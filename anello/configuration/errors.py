# SPDX-License-Identifier: Apache-2.0
"""Errors of a configuration in the user's terms: the key as it is written, and the line where it stands."""

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from anello import registry
from anello.configuration.base import RelationError, fields_by_key, flatten, section_of
from anello.configuration.keys import config_of, key_names, known_keys, sections
from anello.configuration.section import EntryError
from anello.errors import ConfigError

MOST_BITS = 256  # bits of a number that a message repeats; a longer one is left out
TABLE = re.compile(r"\s*\[([^\[\]]+)\]")
ASSIGNMENT = re.compile(r"\s*([\w.-]+)\s*=")

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


def lines_of_keys(text: str) -> dict[str, int]:
    """Line numbers (from 1) of the keys and tables of a TOML file. A key in an inline table or in quotes has none."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := TABLE.match(line):
            table = header[1].strip() + "."
            lines.setdefault(header[1].strip(), number)
        elif assignment := ASSIGNMENT.match(line):
            lines.setdefault(table + assignment[1], number)
    return lines


def unknown_key(key: str, chain: str) -> ConfigError:
    for other in registry.names():
        if key in key_names(other) or key in sections(other):
            rule = f"belongs to the chain {other}, and this configuration is for the chain {chain}"
            return ConfigError(key, rule, key.rsplit(".", 1)[-1], f'Leave it out, or set chain = "{other}"')
    known_here = known_keys(chain)
    near = difflib.get_close_matches(key, known_here, n=1, cutoff=0.5)
    by_name = [known for known in known_here if known.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]]
    guess = (by_name or near or [""])[0]
    remedy = f"Did you mean {guess}?" if guess else "anello config show --all lists the keys"
    return ConfigError(key, "is not a key of the configuration", key.rsplit(".", 1)[-1], remedy)


def in_users_words(error: ValidationError, values: dict[str, Any], chain: str) -> Iterator[ConfigError]:
    """One ConfigError for each wrong value."""
    return (_in_words(details, values, chain) for details in error.errors())


def _in_words(details: ErrorDetails, values: dict[str, Any], chain: str) -> ConfigError:
    context = details.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, RelationError):
        given = dict(flatten(_effective(values, config_of(chain))))[cause.field]
        return ConfigError(cause.field, cause.rule, show(given), _sentence(cause.remedy))
    field, given = _dotted(details["loc"]), details["input"]
    if isinstance(cause, EntryError):
        field, given = f"{field}[{cause.index}]", given[cause.index]
    rule = RULES.get(details["type"], "").format_map(context)
    if details["type"] == "literal_error":
        rule = "must be " + _listed(_choices(field, chain))
    rule = rule or (str(cause) if cause else details["msg"])
    return ConfigError(field, rule, show(given), _remedy(field, details, chain))


def _effective(values: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """The defaults overwritten by the given values, unchecked: each section has already been checked by itself."""
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
        return "anello config show --all lists the keys"
    if details["type"] == "literal_error" and isinstance(details["input"], str):
        near = difflib.get_close_matches(details["input"], key.choices, n=1)
        if near:
            return f'Did you mean "{near[0]}"?'
    return f"The default is {show(key.default)}"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def show(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"a number of {value.bit_length():,} bits"
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
