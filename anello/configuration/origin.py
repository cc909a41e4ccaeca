# SPDX-License-Identifier: Apache-2.0
"""The origin of a run: who made it, where, with which program and which configuration."""

import getpass
import hashlib
import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Self

from anello.configuration.base import Config, Scalar
from anello.system.run_directory import beside

SOURCE = Path(__file__).parents[2]  # where the package is installed; in a checkout it holds .git
DIGEST_LETTERS = 16
GIT_PATIENCE_S = 5.0
CHANGED = "+changes"


@dataclass(frozen=True)
class Origin:
    """The facts about a run that are known before it begins."""

    name: str
    chain: str
    started_ns: int  # wall clock
    host: str
    user: str
    version: str
    commit: str  # of a source checkout, with "+changes" if it has uncommitted changes; empty in an installed package
    command: str
    config_digest: str
    configuration: str = field(repr=False)  # TOML that can be read back
    values: Mapping[str, Scalar] = field(repr=False)  # the effective configuration, by dotted key
    number: int | None = None  # the run's number in the catalogue; None: it is in none

    @classmethod
    def of(cls, config: Config, *, started_ns: int | None = None, command: Sequence[str] = sys.argv) -> Self:
        """The origin of a run that begins now with this configuration, with the values of file and settings."""
        # imported here because it reads all chains, and a chain may be importing this module
        from anello.configuration.text import as_plain_toml

        values = config.whole()
        return cls(
            name=config.run.name,
            chain=config.chain,
            started_ns=time.time_ns() if started_ns is None else started_ns,
            host=socket.gethostname(),
            user=user(),
            version=version(),
            commit=commit(),
            command=in_words(command),
            config_digest=digest(values),
            configuration=as_plain_toml(config),
            values=values,
        )

    @property
    def started(self) -> str:
        return iso(self.started_ns)

    @property
    def program(self) -> str:
        """The program's version and commit, for example 0.1.0 (4ec98dd1f2+changes)."""
        hashed, plus, changes = self.commit.partition("+")
        return f"{self.version} ({hashed[:10]}{plus}{changes})" if self.commit else self.version

    @property
    def line(self) -> str:
        """One line for people: the run's number in the catalogue, and where it ran."""
        number = "" if self.number is None else f"run {self.number}, "
        return f"{number}{self.started}, {self.user} on {self.host}, Anello {self.program}"

    def as_dict(self) -> dict[str, Any]:
        """The values for summary.json."""
        return {
            "number": self.number,
            "name": self.name,
            "chain": self.chain,
            "started": self.started,
            "started_ns": self.started_ns,
            "host": self.host,
            "user": self.user,
            "version": self.version,
            "commit": self.commit,
            "command": self.command,
            "config_digest": self.config_digest,
        }


def node_values(origin: Origin | None) -> dict[str, Any]:
    """What a node gets in addition to its configuration: the name of its counter page, and the number of its run.
    run_number is 0 where the run is in no catalogue. Without an origin: a node that belongs to no run."""
    page = {"counter_page": node_page(os.getpid())}
    if origin is None:
        return page
    return page | {
        "run_number": origin.number or 0,
        "run_name": origin.name,
        "chain": origin.chain,
        "config_digest": origin.config_digest,
        "host": origin.host,
        "started": origin.started,
        "version": origin.program,
        "configuration": origin.configuration,
    }


def write_beside(directory: Path, files: Sequence[str], origin: Origin, *, node: int = 0) -> None:
    """Writes the origin to FILE.json next to each file, for formats that cannot store it; the names are those of
    HDF5 attributes. node: number of a farm's node, which replaces {node}. Raises OSError, also where FILE.json
    exists."""
    values = {name: value for name, value in node_values(origin).items() if name != "counter_page" and value}
    for path in (directory / file.replace("{node}", str(node)) for file in files):
        with beside(path).open("x") as written:
            written.write(json.dumps({"file": path.name, **values}, indent=1) + "\n")


def node_page(process: int) -> str:
    """The name of the counter page of a node."""
    return f"/anello.node.{process}"


# --- Parts --------------------------------------------------------------------------------------------------------
def iso(time_ns: int) -> str:
    """UTC, ISO 8601: 2026-03-01T12:00:00.123Z."""
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns // 1_000_000:03}Z"


def digest(values: Mapping[str, Scalar]) -> str:
    """A digest of the values, which does not depend on their order."""
    text = json.dumps(dict(values), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LETTERS]


def in_words(command: Sequence[str]) -> str:
    """The command as a user would type it."""
    return shlex.join(["anello", *command[1:]])


def user() -> str:
    """The user's name, or a number: some containers have users without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


@cache
def version() -> str:
    """The package's version; in a checkout that was not installed, the version in CMakeLists.txt."""
    try:
        return metadata.version("anello")
    except metadata.PackageNotFoundError:
        return _version_of_checkout()


def _version_of_checkout() -> str:
    try:
        text = (SOURCE / "CMakeLists.txt").read_text()
    except OSError:
        return "unknown"
    return text.partition("project(anello VERSION ")[2].partition(" ")[0].strip(")\n") or "unknown"


@cache
def commit(checkout: Path = SOURCE) -> str:
    """The checkout's commit; empty where this is no checkout or git does not answer in time: no run waits for git."""
    if not (checkout / ".git").exists():
        return ""
    command = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=40", "--exclude=*", f"--dirty={CHANGED}"]
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}  # git must not change the index when it only reads
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=GIT_PATIENCE_S,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
