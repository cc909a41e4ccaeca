# SPDX-License-Identifier: Apache-2.0
"""The files of a run, with sizes and checksums."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from anello.catalogue.tables.database import FILE, Database, printable

PIECE_BYTES = 1 << 20


class FileTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, number: int, directory: Path) -> None:
        """Enters all files below the directory of a run that is over, with their sizes. Raises CatalogueError."""
        with self._database.in_words():
            found = list(_regular_below(directory))
        with self._database.writing() as database:
            database.executemany(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?, NULL, ?)",
                [(number, _name(path, directory), size, changed_ns) for path, size, changed_ns in found],
            )

    def add_checksums(self, number: int | None = None, is_over: Callable[[], bool] = lambda: False) -> None:
        """Adds checksums to files that have none, of this run or of all runs, the newest first: about 1 s per GB. If
        it is interrupted, finished checksums are kept, and the next call makes the rest. A file that was removed
        or changed since its entry gets none. is_over: called often; True ends the work. Raises CatalogueError."""
        runs = self._database.rows(
            "SELECT DISTINCT number, directory FROM run JOIN file ON run = number WHERE sha256 IS NULL"
            " AND number = ifnull(?, number) ORDER BY number DESC", number,
        )  # fmt: skip
        for run in runs:
            self._add_checksums_of(run["number"], Path(run["directory"]), is_over)

    def _add_checksums_of(self, number: int, directory: Path, is_over: Callable[[], bool]) -> None:
        missing = self._database.rows(
            "SELECT path, bytes, closed_ns FROM file WHERE run = ? AND sha256 IS NULL", number
        )
        with self._database.in_words():
            there = {(_name(path, directory), size, at): path for path, size, at in _regular_below(directory)}
        for row in missing:
            path = there.get((row["path"], row["bytes"], row["closed_ns"]))
            with suppress(OSError):
                if path and (sha256 := _sha256(path, is_over)):
                    self._set_checksum(number, row["path"], sha256)

    def _set_checksum(self, number: int, path: str, sha256: str) -> None:
        with self._database.writing() as database:
            database.execute("UPDATE file SET sha256 = ? WHERE run = ? AND path = ?", (sha256, number, path))


def _name(path: Path, directory: Path) -> str:
    return printable(str(path.relative_to(directory)))


def _regular_below(directory: Path) -> Iterator[tuple[Path, int, int]]:
    """(file, bytes, time of its last change in ns). Links are left out, and so is the catalogue: opening and closing
    it here would release SQLite's locks."""
    for path in sorted(directory.rglob("*")):
        with suppress(OSError):
            if path.is_file() and not path.is_symlink() and not path.name.startswith(FILE):
                status = path.stat()
                yield path, status.st_size, status.st_mtime_ns


def _sha256(path: Path, is_over: Callable[[], bool]) -> str:
    """The file's checksum; empty if there was no time to finish it."""
    digest, buffer = hashlib.sha256(), bytearray(PIECE_BYTES)
    with path.open("rb", buffering=0) as file:
        while n := file.readinto(buffer):
            digest.update(memoryview(buffer)[:n])
            if is_over():
                return ""
    return digest.hexdigest()
