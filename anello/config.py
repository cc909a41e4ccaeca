# SPDX-License-Identifier: Apache-2.0
"""Reading a configuration: TOML file, then `--set` values, then checks. Wrong ones raise ConfigError."""

import difflib
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from anello.errors import ConfigError
from anello.sections import (
    BuildSection,
    EmitSection,
    ReceiveSection,
    RunSection,
    Section,
    SourceSection,
    StoreSection,
    ThreadsSection,
    TriggerSection,
)

Scalar = bool | int | float | str | list[Any]


class Config(Section):
    """A whole configuration; every key has a default."""

    run: RunSection = RunSection()
    source: SourceSection = SourceSection()
    receive: ReceiveSection = ReceiveSection()
    build: BuildSection = BuildSection()
    trigger: TriggerSection = TriggerSection()
    emit: EmitSection = EmitSection()
    store: StoreSection = StoreSection()
    threads: ThreadsSection = ThreadsSection()

    @property
    def n_bursts(self) -> int:
        """Bursts of the run; 0: endless."""
        if self.source.n_bursts or not self.run.duration_s:
            return self.source.n_bursts
        return max(1, math.ceil(self.run.duration_s * 1e3 / (self.source.burst_ms + self.source.gap_ms)))

    def flat(self) -> dict[str, Scalar]:
        """All values by dotted key, e.g. `receive.n_buffers`; `source.n_bursts` as the run needs it."""
        values = dict(_flatten(self.model_dump()))
        values["source.n_bursts"] = self.n_bursts
        return values

    @model_validator(mode="after")
    def _check(self) -> Self:
        for holds, field, rule, remedy in _relations(self):
            if not holds:
                raise _RelationError(field, rule, remedy)
        return self


class _RelationError(ValueError):
    """A rule between two keys that does not hold."""

    def __init__(self, field: str, rule: str, remedy: str) -> None:
        super().__init__(rule)
        self.field, self.rule, self.remedy = field, rule, remedy


def _relations(config: Config) -> Iterator[tuple[bool, str, str, str]]:
    """(holds, field, rule, remedy) for each rule between keys."""
    simulation, accept = config.source.simulation, config.trigger.acceptance
    yield (
        len(config.source.ports) == len(config.receive.ports), "receive.ports",
        f"must name one port per board, {len(config.source.ports)}", "0 takes any free port",
    )  # fmt: skip
    yield (
        simulation.momentum_min_gev < simulation.momentum_max_gev, "source.simulation.momentum_min_gev",
        f"must be below momentum_max_gev, {simulation.momentum_max_gev}", "The default is 15",
    )  # fmt: skip
    yield (
        sum(simulation.ring_shares) > 0, "source.simulation.ring_shares", "must not all be 0",
        "[0, 1] makes events with one ring",
    )  # fmt: skip
    particles = (simulation.pion_share, simulation.muon_share, simulation.electron_share, simulation.kaon_share)
    yield (
        sum(particles) > 0,
        "source.simulation.pion_share",
        "the shares of pions, muons, electrons and kaons must not all be 0",
        "Set one of them to 1",
    )
    yield (
        simulation.momentum_min_gev <= simulation.momentum_mean_gev <= simulation.momentum_max_gev,
        "source.simulation.momentum_mean_gev",
        f"must be {simulation.momentum_min_gev} to {simulation.momentum_max_gev}, as momentum_min_gev and _max_gev say",
        "The default is 31.34",
    )
    yield (
        simulation.radius_min_mm <= simulation.radius_max_mm,
        "source.simulation.radius_min_mm",
        f"must not be above radius_max_mm, {simulation.radius_max_mm}",
        "The default is 100",
    )
    yield (
        simulation.out_of_time_min_ns <= simulation.out_of_time_max_ns,
        "source.simulation.out_of_time_min_ns",
        f"must not be above out_of_time_max_ns, {simulation.out_of_time_max_ns}",
        "The default is 8",
    )
    yield (
        not config.source.faults.corrupt or (config.source.format == "mgp" and config.source.checksum),
        "source.faults.corrupt", "needs source.format mgp with source.checksum: nothing else tells a changed byte",
        "Set source.checksum = true and source.format = \"mgp\"",
    )  # fmt: skip
    yield (
        accept.radius_min_mm < accept.radius_max_mm, "trigger.acceptance.radius_min_mm",
        f"must be below radius_max_mm, {accept.radius_max_mm}", "The default is 88",
    )  # fmt: skip
    yield (
        config.receive.backend != "pcap" or bool(config.receive.pcap_file), "receive.pcap_file",
        "must name a file when receive.backend is pcap", 'Give the file, or set receive.backend = "socket"',
    )  # fmt: skip
    yield (
        not (config.trigger.plugin and config.trigger.python), "trigger.python",
        "cannot be given together with trigger.plugin", "Leave one of them empty",
    )  # fmt: skip
    yield (
        len(config.threads.cores) <= len(config.threads.layout), "threads.cores",
        f"must not name more cores than threads.layout has threads, {len(config.threads.layout)}", "Leave some out",
    )  # fmt: skip


# --- Reading ------------------------------------------------------------------------------------------------------
def load(path: Path | None, settings: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> Config:
    """The file's values (or `values`, or all defaults), then each `key=value` of settings. Raises ConfigError."""
    values = _read_toml(path) if path else dict(values or {})
    _refuse_unknown_keys(values, Config, "")
    for setting in settings:
        _apply(values, setting)
    return _validated(values)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(str(path), "must be a readable file", reason or str(error), "Check the path") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), "must be TOML", str(error), "See https://toml.io") from error


def _refuse_unknown_keys(values: dict[str, Any], model: type[BaseModel], prefix: str) -> None:
    for key, value in values.items():
        if key not in model.model_fields:
            raise _unknown_key(prefix + key)
        inner = _section_of(model.model_fields[key])
        if inner and isinstance(value, dict):
            _refuse_unknown_keys(value, inner, f"{prefix}{key}.")


def _unknown_key(key: str) -> ConfigError:
    near = difflib.get_close_matches(key, known_keys(), n=1, cutoff=0.5)
    by_name = [known for known in known_keys() if known.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]]
    guess = (by_name or near or [""])[0]
    remedy = f"Did you mean {guess}?" if guess else "anello config show lists the keys"
    return ConfigError(key, "is not a key of the configuration", key.rsplit(".", 1)[-1], remedy)


def _apply(values: dict[str, Any], setting: str) -> None:
    key, equals, text = setting.partition("=")
    key = key.strip()
    if not equals:
        raise ConfigError("--set", "must be key=value", setting, "For example --set run.seed=7")
    if key not in known_keys():
        raise _unknown_key(key)
    *tables, name = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(table, "must be a table", str(values), f"Write it as [{table}]")
    values[name] = _toml_value(text.strip())


def _toml_value(text: str) -> object:
    """The value as TOML has it; what is not TOML is a string, so that words need no quotes on the command line."""
    try:
        value = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return value["value"] if len(value) == 1 else text


def _validated(values: dict[str, Any]) -> Config:
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise _config_error(error.errors()[0], values) from error


# --- Errors in the user's words -----------------------------------------------------------------------------------
RULES = {
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "may hold letters, digits, dot, dash and underscore only",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be a table",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
}


def _config_error(details: ErrorDetails, values: dict[str, Any]) -> ConfigError:
    context = details.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, _RelationError):
        given = dict(_flatten(_effective(values)))[cause.field]
        return ConfigError(cause.field, cause.rule, _show(given), _sentence(cause.remedy))
    field = _dotted(details["loc"])
    rule = RULES.get(details["type"], "").format_map({**context, "expected": context.get("expected", "")})
    rule = rule or (str(cause) if cause else details["msg"])
    return ConfigError(field, rule, _show(details["input"]), _remedy(field, details))


def _effective(values: dict[str, Any]) -> dict[str, Any]:
    """The values over the defaults, unchecked: each section alone is already known to be right."""
    return {
        name: _section(field).model_validate(values.get(name, {})).model_dump()
        for name, field in Config.model_fields.items()
    }


def _dotted(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _remedy(field: str, details: ErrorDetails) -> str:
    key = known_keys().get(field.split("[", maxsplit=1)[0])
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
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


# --- What there is ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Key:
    """One key of the configuration, as documents and error messages show it."""

    name: str
    default: Scalar
    kind: str
    bounds: str
    description: str
    choices: tuple[str, ...]


_keys: dict[str, Key] = {}


def known_keys() -> dict[str, Key]:
    """All keys by dotted name, in the order of the file."""
    if not _keys:
        _keys.update({key.name: key for key in _walk(Config, "")})
    return _keys


def sections(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(dotted name, meaning) of each section, outer before inner."""
    for name, field in model.model_fields.items():
        inner = _section_of(field)
        if inner:
            yield prefix + name, (inner.__doc__ or "").strip()
            yield from sections(inner, f"{prefix}{name}.")


def _walk(model: type[BaseModel], prefix: str) -> Iterator[Key]:
    for name, field in model.model_fields.items():
        inner = _section_of(field)
        if inner:
            yield from _walk(inner, f"{prefix}{name}.")
        else:
            schema = model.model_json_schema()["properties"][name]
            yield Key(
                prefix + name, field.get_default(), _kind(schema), _bounds(schema), field.description or "",
                tuple(schema.get("enum", ())),
            )  # fmt: skip


def _section_of(field: FieldInfo) -> type[BaseModel] | None:
    annotation = field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _section(field: FieldInfo) -> type[BaseModel]:
    inner = _section_of(field)
    assert inner is not None
    return inner


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
    above = one.get("exclusiveMinimum")
    parts = [f"above {above:g}" if above is not None else "", f"from {low:.12g}" if low is not None else ""]
    parts.append(f"to {high:.12g}" if high is not None else "")
    return " ".join(part for part in parts if part)


def _flatten(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Scalar]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
