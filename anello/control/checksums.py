# SPDX-License-Identifier: Apache-2.0
"""Checksums of the runs' files, made after each run: the next run does not wait for them."""

import logging
import os
import threading
from collections.abc import Callable
from typing import Protocol, Self

from anello.catalogue.tables.database import CatalogueError

LEAST_PRIORITY = 19
LOG = logging.getLogger("anello.control")


class MakesChecksums(Protocol):
    """Where checksums are stored: in the catalogue (FileTable)."""

    def add_checksums(self, *, is_over: Callable[[], bool]) -> None: ...


class Checksums:
    """Makes checksums in a thread. Use as a context. It begins with files that an earlier control room left; when
    the context is left, the rest stays for the next one."""

    def __init__(self, files: MakesChecksums) -> None:
        self._files = files
        self._asked, self._is_over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="checksums", daemon=True)

    def __enter__(self) -> Self:
        self.ask()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._asked.set()
        self._thread.join()

    def ask(self) -> None:
        """Tells the thread that a run has ended."""
        self._asked.set()

    def _run(self) -> None:
        # only of this thread: data acquisition has priority
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LEAST_PRIORITY)
        while self._asked.wait() and not self._is_over.is_set():
            self._asked.clear()
            try:
                self._files.add_checksums(is_over=self._is_over.is_set)
            except CatalogueError as error:
                LOG.warning("%s. Checksums are made after the next run", error)
