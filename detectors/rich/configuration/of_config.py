# SPDX-License-Identifier: Apache-2.0
"""Takes the settings of ring finder and simulated detector from a configuration, for commands without a chain."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anello.configuration.load import load
from anello.errors import ConfigError

from .config import RichConfig

SIMULATION, TRIGGER = "source.simulation.", "trigger."
ALGORITHM = "trigger.algorithm"
FINDER = tuple(f"{TRIGGER}{section}." for section in ("acceptance", "histogram", "almagest", "single", "multiring"))


def load_rich(config_file: Path | None, settings: Sequence[str]) -> RichConfig:
    """Loads a file, or the defaults when there is none. Raises ConfigError, also when the file is another chain's."""
    config = load(config_file, list(settings) if config_file else ["chain=rich", *settings])
    if not isinstance(config, RichConfig):
        raise ConfigError("chain", 'must be "rich"', config.chain, "Take detectors/rich/na62-rich.toml")
    return config


def refuse_what_no_finder_reads(settings: Sequence[str]) -> None:
    """Raises ConfigError for a key that the command would ignore without notice. settings: KEY=VALUE, as typed."""
    for setting in settings:
        key, _, value = setting.partition("=")
        if key != ALGORITHM and not key.startswith((*FINDER, "chain")):
            raise ConfigError(
                key,
                "is no key of the ring finders",
                value,
                f"They read {ALGORITHM}, {', '.join(f'{one}*' for one in FINDER)}",
            )


def finder_params(config: RichConfig) -> dict[str, Any]:
    """Parameters of all ring finders, in the form that find_rings() takes."""
    given: dict[str, Any] = config.flat()
    return {key.removeprefix(TRIGGER): value for key, value in given.items() if key.startswith(FINDER)}


def detector(config: RichConfig) -> dict[str, Any]:
    """Parameters of the simulated detector, in the form that simulate() takes."""
    given: dict[str, Any] = config.flat()
    return {key.removeprefix(SIMULATION): value for key, value in given.items() if key.startswith(SIMULATION)}
