# SPDX-License-Identifier: Apache-2.0
"""What can be wrong before anything starts. The words of the engine's own errors (core/errors.hpp)."""

from collections.abc import Iterator
from contextlib import contextmanager


class ConfigError(ValueError):
    """A wrong configuration value; str() is the one line `field: rule (given: value). remedy`."""

    def __init__(self, field: str, rule: str, given: str, remedy: str) -> None:
        super().__init__(f"{field}: {rule} (given: {given}). {remedy}")
        self.field, self.rule, self.given, self.remedy = field, rule, given, remedy


class InputError(ValueError):
    """A file that cannot be used; str() is `file:line: what is wrong`."""


class EngineMissingError(RuntimeError):
    """The compiled engine is not there; str() says why and what to do."""


def in_words(error: BaseException) -> str:
    """One line for the user."""
    if hasattr(error, "format_message"):  # wrong use, as reported by typer
        return str(error.format_message())
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error) or type(error).__name__


@contextmanager
def engine_errors() -> Iterator[None]:
    """Turns the engine's own ConfigError, another type of the same four parts, into ours."""
    try:
        yield
    except ValueError as error:
        parts = [getattr(error, part, None) for part in ("field", "rule", "given", "remedy")]
        if isinstance(error, ConfigError) or not all(isinstance(part, str) for part in parts):
            raise
        raise ConfigError(*(str(part) for part in parts)) from error
