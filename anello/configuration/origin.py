# SPDX-License-Identifier: Apache-2.0
"""What a run comes from: who made it, where, with which program and which configuration."""

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

SOURCE = Path(__file__).parents[2]  # where the package lies; in a checkout it holds .git
DIGEST_LETTERS = 16
GIT_PATIENCE_S = 5.0
CHANGED = "+changes"


@dataclass(frozen=True)
class Origin:
    """Known before the run begins."""

    name: str
    chain: str
    started_ns: int  # wall clock
    host: str
    user: str
    version: str
    commit: str  # of a source checkout, with "+changes" where it is not as committed; empty in an installed package
    command: str
    config_digest: str
    configuration: str = field(repr=False)  # TOML that can be read back
    values: Mapping[str, Scalar] = field(repr=False)  # the effective configuration, by dotted key
    number: int | None = None  # in the catalogue; None: the run is not in one

    @classmethod
    def of(cls, config: Config, *, started_ns: int | None = None, command: Sequence[str] = sys.argv) -> Self:
        """Of a run that begins now with this configuration, as file and settings have it."""
        from anello.configuration.text import as_plain_toml  # it reads all chains, and a chain may be importing this

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
        """0.1.0 (4ec98dd1f2+changes)"""
        hashed, plus, changes = self.commit.partition("+")
        return f"{self.version} ({hashed[:10]}{plus}{changes})" if self.commit else self.version

    @property
    def line(self) -> str:
        """For people: the run's place in the catalogue, and where it was."""
        number = "" if self.number is None else f"run {self.number}, "
        return f"{number}{self.started}, {self.user} on {self.host}, Anello {self.program}"

    def as_dict(self) -> dict[str, Any]:
        """For summary.json."""
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
    """What a node is told beside its configuration: the name of its counter page, and which run it is of. run_number is
    0 where the run is in no catalogue. None: a node that belongs to no run."""
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


def tell_beside(directory: Path, files: Sequence[str], origin: Origin, *, node: int = 0) -> None:
    """In FILE.json beside each, for formats that have no place for it; the names are those of HDF5 attributes. node: of
    a farm, which {node} stands for. Raises OSError, also where there is one."""
    told = {name: value for name, value in node_values(origin).items() if name != "counter_page" and value}
    for path in (directory / file.replace("{node}", str(node)) for file in files):
        with beside(path).open("x") as written:
            written.write(json.dumps({"file": path.name, **told}, indent=1) + "\n")


def node_page(process: int) -> str:
    """The name of the counter page of a node."""
    return f"/anello.node.{process}"


# --- Parts --------------------------------------------------------------------------------------------------------
def iso(time_ns: int) -> str:
    """UTC, ISO 8601: 2026-03-01T12:00:00.123Z."""
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns // 1_000_000:03}Z"


def digest(values: Mapping[str, Scalar]) -> str:
    """The same for the same values, whatever order they are in."""
    text = json.dumps(dict(values), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LETTERS]


def in_words(command: Sequence[str]) -> str:
    """As one would type it."""
    return shlex.join(["anello", *command[1:]])


def user() -> str:
    """Some containers have users without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


@cache
def version() -> str:
    """Of the package; of a checkout that was not installed, what CMakeLists.txt says."""
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
    """Empty where this is no checkout, or git cannot tell: no run waits for it."""
    if not (checkout / ".git").exists():
        return ""
    command = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=40", "--exclude=*", f"--dirty={CHANGED}"]
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}  # looking changes nothing, not even the index
    try:
        told = subprocess.run(
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
    return told.stdout.strip() if told.returncode == 0 else ""
