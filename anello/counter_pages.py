# SPDX-License-Identifier: Apache-2.0
"""The counter pages of this machine's processes, in shared memory. A process that is killed leaves its page behind."""

from dataclasses import dataclass
from pathlib import Path

from anello.errors import ConfigError, engine_errors

FOLDER = Path("/dev/shm")


@dataclass(frozen=True)
class Page:
    name: str
    process: int
    runs: bool  # that process, not another one that has got its number

    def counters(self) -> dict[str, dict[str, int]]:
        """block -> counter -> value. Raises ConfigError, OSError."""
        from anello.engine import _engine

        with engine_errors():
            return _engine.read_counters(f"/{self.name}")


def look_at(name: str) -> Page:
    """Raises ConfigError where it is no page of this version, OSError where there is none."""
    from anello.engine import _engine

    name = name.removeprefix("/")
    with engine_errors():
        return Page(name, *_engine.page_owner(f"/{name}"))


def of_this_machine() -> list[Page]:
    """All that can be read; what is no page of this version is somebody else's."""
    found = []
    for path in sorted(FOLDER.glob("anello.*")):
        try:
            found.append(look_at(path.name))
        except (ConfigError, OSError):
            continue
    return found
