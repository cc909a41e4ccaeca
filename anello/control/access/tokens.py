# SPDX-License-Identifier: Apache-2.0
"""Tokens that allow to look or to give orders: two secret words in a file that only its owner can read."""

import hmac
import json
import os
import secrets
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from anello.errors import ConfigError

FILE = "control-tokens.json"


class Role(StrEnum):
    """What the bearer of a token may do."""

    VIEWER = "viewer"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Tokens:
    """The tokens of one control room; they stay the same over restarts."""

    viewer: str
    operator: str

    @classmethod
    def of(cls, directory: Path) -> Self:
        """The tokens of this directory; they are made if it has none. Raises ConfigError where others could read the
        file or it holds no tokens, OSError."""
        path = directory / FILE
        try:
            return cls._read(path)
        except FileNotFoundError:
            return cls._make(path)

    @classmethod
    def _read(cls, path: Path) -> Self:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            text = file.read(4096)
        if mode & 0o077:
            raise ConfigError(str(path), "must be readable by its owner alone", f"mode {mode:04o}", f"chmod 600 {path}")
        try:
            values = json.loads(text)
            made = cls(**{role.value: str(values[role.value]) for role in Role})
        except (ValueError, KeyError, TypeError) as error:
            raise _no_tokens(path) from error
        if min(len(made.viewer), len(made.operator)) < 16 or made.viewer == made.operator:
            raise _no_tokens(path)
        return made

    @classmethod
    def _make(cls, path: Path) -> Self:
        """Makes the file, completely or not at all; of two processes that do so at once, both use the tokens of the
        first."""
        made = cls(secrets.token_urlsafe(24), secrets.token_urlsafe(24))
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{FILE}.{os.getpid()}")
        with open(new, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            json.dump(asdict(made), file)
        try:
            os.link(new, path)
        except FileExistsError:
            return cls._read(path)
        finally:
            new.unlink()
        return made

    def of_role(self, role: Role) -> str:
        return self.operator if role is Role.OPERATOR else self.viewer

    def role(self, token: str) -> Role | None:
        """The role that the token gives. The check takes the same time for every wrong token."""
        given = token.encode("utf-8", "surrogateescape")
        is_operator = hmac.compare_digest(given, self.operator.encode())
        is_viewer = hmac.compare_digest(given, self.viewer.encode())
        return Role.OPERATOR if is_operator else Role.VIEWER if is_viewer else None


def _no_tokens(path: Path) -> ConfigError:
    rule = "must hold two different words of at least 16 characters, viewer and operator"
    return ConfigError(str(path), rule, "something else", f"rm {path}: new ones are made")
