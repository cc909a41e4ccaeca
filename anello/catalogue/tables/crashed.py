# SPDX-License-Identifier: Apache-2.0
"""Runs whose process is gone: closed with what its counter page last said."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from anello import registry
from anello.account.record import CounterDict
from anello.account.verdict import Word
from anello.catalogue.end import OVER, End, RunState
from anello.catalogue.from_record import bytes_in, histogram
from anello.catalogue.process import Process
from anello.catalogue.tables.connected import Row
from anello.catalogue.tables.runs import Runs
from anello.counters import pages
from anello.counters.live import PlainView, view_of_text
from anello.counters.pages import Page
from anello.errors import ConfigError, EngineMissingError

COLUMNS = ("host", "boot", "number_space", "process", "process_start")


class Crashed(Runs):
    def close_crashed(self) -> list[int]:
        """Each run that is not over and whose process has ended without a word; their numbers. Its counter page is
        taken away. Whoever opens the catalogue does so. Raises CatalogueError."""
        found = self._rows("SELECT * FROM run WHERE state NOT IN (?, ?, ?, ?) ORDER BY number", *OVER)
        return [row["number"] for row in found if self._close_if_crashed(row)]

    def _close_if_crashed(self, row: Row) -> bool:
        if not Process(*(row[column] for column in COLUMNS)).has_ended():
            return False
        page = _page_of(row)
        end = _end(row, page, self.configuration(row["config"])["toml"])
        is_ours = self.end(row["number"], end, only_if_open=True)  # not where another process was first
        if page:
            with suppress(OSError):  # of another user
                page.remove()
        return is_ours


def _page_of(row: Row) -> Page | None:
    """Of that process, not of another one that has its number now."""
    if not row["page"]:
        return None
    with suppress(ConfigError, OSError, EngineMissingError):
        page = pages.look_at(row["page"])
        return page if page.process == row["process"] and not page.runs else None
    return None


def _end(row: Row, page: Page | None, configuration: str) -> End:
    words = f"its process, {row['process']} on {row['host']}, ended without a word"
    if page:
        with suppress(ConfigError, OSError):
            return _last_said(page, row["chain"], f"crashed: {words}; what its counters last said is here",
                              configuration)  # fmt: skip
    return End(RunState.CRASHED, verdict=f"crashed: {words}, and its counters are gone, too", word=Word.UNKNOWN)


def _last_said(page: Page, chain: str, verdict: str, configuration: str) -> End:
    counters, latency = page.counters(), {leg: windows["run"] for leg, windows in page.latency().items()}
    leg = _judging(chain, latency)
    judging = latency.get(leg or "", {})
    return End(
        RunState.CRASHED, verdict=verdict, word=Word.UNKNOWN, counters={"node": counters},
        events=_events(configuration, counters), bytes=bytes_in(counters), leg=leg,
        p50_ns=judging.get("p50_ns"), p999_ns=judging.get("p999_ns"), ended_ns=page.header.heartbeat_ns or None,
        latency={name: histogram(stage) for name, stage in latency.items()},
    )  # fmt: skip


def _events(configuration: str, node: CounterDict) -> int | None:
    """Built, or what the chain has instead; None: this chain cannot say so of counters alone."""
    with suppress(Exception):  # a view may be another package's, and the run is closed whatever it does
        view = view_of_text(configuration)
        return None if isinstance(view, PlainView) else view.flow(node).built
    return None


def _judging(chain: str, latency: Mapping[str, Any]) -> str | None:
    """The leg that runs of the chain are judged by; None: there is none here."""
    keys = registry.registration(chain).search if chain in registry.names() else None
    return keys.whole_way if keys and latency.get(keys.whole_way, {}).get("count") else None
