# SPDX-License-Identifier: Apache-2.0
"""A configuration as text: TOML with every key explained, and the reference pages."""

import dataclasses
import json
import textwrap
from collections.abc import Iterator

from anello import registry
from anello.configuration.base import Config, Scalar
from anello.configuration.keys import Key, known_keys, sections

LINE = 110


def as_toml(config: Config, *, with_expert_keys: bool = True) -> str:
    """The effective values as a file that can be read back, each key with its meaning and bounds.

    with_expert_keys: also those that have their defaults, without which the file says the same.
    """
    values = config.as_given()
    known = known_keys(config.chain)
    shown = [key for key in known.values() if with_expert_keys or not key.expert or values[key.name] != key.default]
    lines = ["# The effective configuration. Any key can be given as --set key=value, e.g. --set run.seed=7"]
    if len(shown) < len(known):
        lines.append(f"# {len(known) - len(shown)} keys for experts have their defaults; --all shows them, too.")
    for section, meaning in sections(config.chain).items():
        if keys := [key for key in shown if _section(key.name) == section]:
            lines += ["", f"# {meaning}", f"[{section}]"] if section else [""]
            lines += [line for key in keys for line in _toml_lines(key, values[key.name])]
    return "\n".join(lines) + "\n"


def as_plain_toml(config: Config) -> str:
    """The effective values alone, as a file that can be read back."""
    values, lines = config.as_given(), []
    for section in sections(config.chain):
        lines += ["", f"[{section}]"] if section else []
        lines += [f"{_last(name)} = {_toml(value)}" for name, value in values.items() if _section(name) == section]
    return "\n".join(lines) + "\n"


def _toml_lines(key: Key, value: Scalar) -> Iterator[str]:
    about = f"{key.description} {_sentence(key)}".strip()
    yield from textwrap.wrap(about, LINE, initial_indent="# ", subsequent_indent="# ")
    yield f"{_last(key.name)} = {_toml(value)}"


def reference() -> str:
    """The text of docs/reference/configuration.md."""
    n_expert = len({name for chain in registry.names() for name, key in known_keys(chain).items() if key.expert})
    lines = [
        "# Configuration",
        "",
        "The keys of a configuration file (TOML), made from the engine's tables of keys and each `python_keys.py` by",
        "`anello config reference`. Each can be given on the command line too: `--set receive.gro=false`; words",
        "need no quotes there. `anello config show FILE` prints the effective values. Unknown keys are refused, and so",
        f"are those of the chains that are not chosen. {n_expert} more keys, parameters of algorithms and simulations",
        "and the room in buffers, are [for experts](expert-keys.md).",
        "",
        *_table([_row(key, {}) for key in _keys_of("", registry.default_chain()).values()]),
    ]
    for section, meaning in _meanings().items():
        n_more = len(_rows(section, expert=True))
        more = f" {n_more} more [for experts](expert-keys.md#{section.replace('.', '')})." if n_more else ""
        lines += _described(section, meaning + _only_in(section) + more, _rows(section, expert=False))
    return "\n".join(lines) + "\n"


def expert_reference() -> str:
    """The text of docs/reference/expert-keys.md."""
    lines = [
        "# Keys for experts",
        "",
        "Parameters of algorithms and simulations, and the room in buffers: their defaults are measured, and who does",
        "not know the code behind a key leaves it. They stand in the file as [all others](configuration.md), or follow",
        "`--set`. `anello config show --all FILE` prints them; without `--all` it prints those that have other values",
        "than their defaults. Made by `anello config reference --expert`.",
    ]
    for section, meaning in _meanings().items():
        lines += _described(section, meaning + _only_in(section), _rows(section, expert=True))
    return "\n".join(lines) + "\n"


def _meanings() -> dict[str, str]:
    """The meanings of the sections of all chains."""
    return {section: meaning for chain in registry.names() for section, meaning in sections(chain).items() if section}


def _described(section: str, about: str, rows: list[str]) -> list[str]:
    return ["", f"## {section}", about, "", *_table(rows)] if rows else []


def _only_in(section: str) -> str:
    having = [chain for chain in registry.names() if section in sections(chain)]
    return "" if len(having) == len(registry.names()) else f" Chain {' and '.join(having)}."


def _rows(section: str, *, expert: bool) -> list[str]:
    """One row for each key, with the differences between chains."""
    by_chain = {chain: _keys_of(section, chain) for chain in registry.names() if section in sections(chain)}
    names = {name: None for keys in by_chain.values() for name, key in keys.items() if key.expert == expert}
    of_chains = ({chain: keys[name] for chain, keys in by_chain.items() if name in keys} for name in names)
    return [_row_of_chains(keys, len(by_chain)) for keys in of_chains]


def _row_of_chains(by_chain: dict[str, Key], n_chains: int) -> str:
    (_, key), *others = by_chain.items()
    only = f" Chain {' and '.join(by_chain)}." if len(by_chain) < n_chains else ""
    differing = {other: other_key for other, other_key in others if other_key != key}
    return _row(dataclasses.replace(key, description=key.description + only), differing)


def _table(rows: list[str]) -> list[str]:
    return ["| key | value | default | meaning |", "|---|---|---|---|", *rows]


def _row(key: Key, differing: dict[str, Key]) -> str:
    """The row of a key. differing: the same key of other chains, where it differs."""
    value = f"{key.kind}, {key.bounds}" if key.bounds else key.kind
    default = f"`{_toml(key.default)}`"
    meaning = key.description
    for chain, other in differing.items():
        if other.default != key.default:
            default += f"; {chain}: `{_toml(other.default)}`"
        if other.description != key.description:
            meaning += f" Chain {chain}: {other.description}"
    meaning = meaning.replace("|", "\\|")
    return f"| `{_last(key.name)}` | {value} | {default} | {meaning} |"


def _keys_of(section: str, chain: str) -> dict[str, Key]:
    return {name: key for name, key in known_keys(chain).items() if _section(name) == section}


def _sentence(key: Key) -> str:
    if key.choices:
        return f"One of: {', '.join(key.choices)}."
    return f"[{key.bounds}]" if key.bounds else ""


def _section(name: str) -> str:
    return name.rpartition(".")[0]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _toml(value: Scalar) -> str:
    """A value as TOML: numbers, texts, truth values and lists of them look the same in TOML and in JSON."""
    return json.dumps(value, ensure_ascii=False)
