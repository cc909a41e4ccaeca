# SPDX-License-Identifier: Apache-2.0
"""Errors found before anything starts. The words are those of the engine's own errors (core/errors.hpp)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class ConfigError(ValueError):
    """A wrong configuration value; str() is the line `field: rule (given: value). remedy`, after `file:line: ` where
    the value is from a file. An error made of several is the first one, with a line for each of the others."""

    def __init__(
        self, field: str, rule: str, given: str, remedy: str, *, place: str = "", others: Sequence["ConfigError"] = ()
    ) -> None:
        line = f"{field}: {rule} (given: {given}). {remedy}"
        super().__init__("\n".join([f"{place}: {line}" if place else line, *map(str, others)]))
        self.field, self.rule, self.given, self.remedy = field, rule, given, remedy
        self.place, self.others = place, tuple(others)

    def at(self, place: str) -> "ConfigError":
        """The same error with the place where the value was written."""
        return ConfigError(self.field, self.rule, self.given, self.remedy, place=place, others=self.others)

    @classmethod
    def of_all(cls, errors: Sequence["ConfigError"]) -> "ConfigError":
        """One error made of all of these; at least one is needed."""
        first = errors[0]
        return cls(first.field, first.rule, first.given, first.remedy, place=first.place, others=errors[1:])


class InputError(ValueError):
    """A file that cannot be used; str() is `file:line: what is wrong`."""


class EngineMissingError(RuntimeError):
    """The compiled engine is missing; str() says why and what to do."""


def in_words(error: BaseException) -> str:
    """The error in one line for the user."""
    if hasattr(error, "format_message"):  # wrong use of the command line, reported by typer
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
