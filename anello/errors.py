# SPDX-License-Identifier: Apache-2.0
"""What can be wrong before anything starts. The words of the engine's own errors (core/errors.hpp)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class ConfigError(ValueError):
    """A wrong configuration value; str() is the line `field: rule (given: value). remedy`, behind `file:line: ` where
    the value came from a file. Of several, that of the first, and a line for each of the others."""

    def __init__(
        self, field: str, rule: str, given: str, remedy: str, *, place: str = "", others: Sequence["ConfigError"] = ()
    ) -> None:
        line = f"{field}: {rule} (given: {given}). {remedy}"
        super().__init__("\n".join([f"{place}: {line}" if place else line, *map(str, others)]))
        self.field, self.rule, self.given, self.remedy = field, rule, given, remedy
        self.place, self.others = place, tuple(others)

    def at(self, place: str) -> "ConfigError":
        """The same, of a value that came from there."""
        return ConfigError(self.field, self.rule, self.given, self.remedy, place=place, others=self.others)

    @classmethod
    def of_all(cls, errors: Sequence["ConfigError"]) -> "ConfigError":
        """All of them as one; at least one."""
        first = errors[0]
        return cls(first.field, first.rule, first.given, first.remedy, place=first.place, others=errors[1:])


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
