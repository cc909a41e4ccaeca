# SPDX-License-Identifier: Apache-2.0
"""A configuration as text: TOML with every key explained, and the reference page."""

import json
import textwrap
from collections.abc import Iterator

from anello.config import Config, Key, Scalar, known_keys, sections

LINE = 110


def as_toml(config: Config) -> str:
    """The effective values as a file that can be read back, each key with its meaning and bounds."""
    values = config.flat() | {"source.n_bursts": config.source.n_bursts}
    lines = ["# The effective configuration. Any key can be given as --set key=value, e.g. --set run.seed=7"]
    for section, meaning in sections():
        lines += ["", f"# {meaning}", f"[{section}]"]
        lines += [line for key in _keys_of(section) for line in _toml_lines(key, values[key.name])]
    return "\n".join(lines) + "\n"


def _toml_lines(key: Key, value: Scalar) -> Iterator[str]:
    about = f"{key.description} {_sentence(key)}".strip()
    yield from textwrap.wrap(about, LINE, initial_indent="# ", subsequent_indent="# ")
    yield f"{_last(key.name)} = {_toml(value)}"


def reference() -> str:
    """docs/reference/configuration.md."""
    lines = [
        "# Configuration",
        "",
        "Every key of a configuration file (TOML), made from the models in `anello/sections.py` by",
        "`anello config reference`. Each can be given on the command line too: `--set receive.n_buffers=128`; words",
        "need no quotes there. `anello config show FILE` prints the effective values. Unknown keys are refused.",
    ]
    for section, meaning in sections():
        lines += ["", f"## {section}", meaning, "", "| key | value | default | meaning |", "|---|---|---|---|"]
        lines += [_row(key) for key in _keys_of(section)]
    return "\n".join(lines) + "\n"


def _row(key: Key) -> str:
    value = f"{key.kind}, {key.bounds}" if key.bounds else key.kind
    default = _toml(key.default)
    meaning = key.description.replace("|", "\\|")
    return f"| `{_last(key.name)}` | {value} | `{default}` | {meaning} |"


def _keys_of(section: str) -> list[Key]:
    return [key for key in known_keys().values() if key.name.rpartition(".")[0] == section]


def _sentence(key: Key) -> str:
    if key.choices:
        return f"One of: {', '.join(key.choices)}."
    return f"[{key.bounds}]" if key.bounds else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _toml(value: Scalar) -> str:
    """Numbers, texts, truth values and lists of them look the same in TOML and in JSON."""
    return json.dumps(value, ensure_ascii=False)
