# SPDX-License-Identifier: Apache-2.0
"""The keys by which a rendezvous and its nodes authenticate each other (ZeroMQ's CURVE): messages of strangers are
never read.

A folder holds one pair for the rendezvous and one for the nodes of the farm. Nodes need all of it except the secret key
of the rendezvous.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import zmq
import zmq.auth

from anello.errors import ConfigError

RENDEZVOUS, NODE = "rendezvous", "node"
OTHERS_MAY = 0o077


@dataclass(frozen=True)
class Keys:
    """The keys of a folder; each is 40 letters of Z85. rendezvous_secret: empty in a folder for nodes. allowed:
    public keys of the nodes that may connect."""

    rendezvous_public: bytes
    rendezvous_secret: bytes
    node_public: bytes
    node_secret: bytes
    allowed: frozenset[bytes]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Reads a folder. Any NAME.key besides the rendezvous' own admits a node. Raises ConfigError."""
        public, node = _public(folder / f"{RENDEZVOUS}.key"), _pair(folder, NODE)
        secret = _pair(folder, RENDEZVOUS)[1] if (folder / f"{RENDEZVOUS}.key_secret").exists() else b""
        others = [_public(path) for path in sorted(folder.glob("*.key")) if path.stem != RENDEZVOUS]
        return cls(public, secret, *node, frozenset(others))

    def for_rendezvous(self) -> Self:
        """The keys of a rendezvous. Raises ConfigError where the folder is one for nodes."""
        if not self.rendezvous_secret:
            raise ConfigError(
                "--keys",
                f"must hold {RENDEZVOUS}.key_secret where the rendezvous is kept",
                "none",
                "Copy the whole folder that --make-keys has made",
            )
        return self


def make(folder: Path) -> list[Path]:
    """Writes both pairs; returns the files. Raises ConfigError where there are any already."""
    if not zmq.has("curve"):
        raise ConfigError("--make-keys", "needs a ZeroMQ with CURVE", zmq.zmq_version(), "Install libsodium's one")
    present = [path.name for path in folder.glob("*.key*")]
    if present:
        raise ConfigError(
            "--make-keys",
            "must name a folder without keys",
            f"{folder}: {', '.join(present)}",
            "If a key is lost, remove all keys and make new ones",
        )
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    before = os.umask(OTHERS_MAY)
    try:
        return [Path(path) for name in (RENDEZVOUS, NODE) for path in zmq.auth.create_certificates(folder, name)]
    finally:
        os.umask(before)


def _pair(folder: Path, name: str) -> tuple[bytes, bytes]:
    path = folder / f"{name}.key_secret"
    try:
        mode = path.stat().st_mode
        public, secret = zmq.auth.load_certificate(path)
    except (OSError, ValueError) as error:
        raise _not_there(path, error) from error
    if secret is None:
        raise ConfigError("--keys", f"{path.name} must hold a secret key", str(path), "Make new keys")
    if mode & OTHERS_MAY:
        rule = f"{path.name} must be readable by its owner alone"
        raise ConfigError("--keys", rule, oct(mode & 0o777), f"chmod 600 {path}, and make new keys if others saw it")
    return public, secret


def _public(path: Path) -> bytes:
    try:
        return zmq.auth.load_certificate(path)[0]
    except (OSError, ValueError) as error:
        raise _not_there(path, error) from error


def _not_there(path: Path, error: Exception) -> ConfigError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ConfigError(
        "--keys",
        f"must be a folder with the key {path.name}",
        f"{path}: {reason}",
        "anello exchange --make-keys DIR makes one; copy it to every machine",
    )
