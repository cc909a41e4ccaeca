# SPDX-License-Identifier: Apache-2.0
"""Runs whose process no longer exists are closed with the last values of their counter page."""

from collections.abc import Mapping
from contextlib import suppress

from anello import registry
from anello.account.leg import LegLatency
from anello.account.record import CounterDict
from anello.account.run_state import RunState
from anello.account.verdict import Word
from anello.catalogue.end import End
from anello.catalogue.from_record import bytes_in, histogram
from anello.catalogue.process import Process
from anello.catalogue.tables.configurations import ConfigurationTable
from anello.catalogue.tables.database import Row
from anello.catalogue.tables.runs import RunTable
from anello.counters import pages
from anello.counters.live import PlainView, view_of_text
from anello.counters.pages import Page
from anello.errors import ConfigError, EngineMissingError

COLUMNS = ("host", "boot", "number_space", "process", "process_start")


def close_crashed(runs: RunTable, configurations: ConfigurationTable) -> list[int]:
    """Closes each run that is not over and whose process has ended without an entry; returns their numbers. Their
    counter pages are removed. Raises CatalogueError."""
    return [row["number"] for row in runs.open() if _close_if_crashed(row, runs, configurations)]


def _close_if_crashed(row: Row, runs: RunTable, configurations: ConfigurationTable) -> bool:
    if not Process(*(row[column] for column in COLUMNS)).has_ended():
        return False
    page = _page_of(row)
    end = _end(row, page, configurations.get(row["config"])["toml"])
    is_ours = runs.end(row["number"], end, only_if_open=True)  # False where another process was first
    if page:
        with suppress(OSError):  # the page belongs to another user
            page.remove()
    return is_ours


def _page_of(row: Row) -> Page | None:
    """The counter page of that process; None if another process has its number now."""
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
    """Events built, or what the chain counts instead; None: this chain cannot tell it from counters alone."""
    with suppress(Exception):  # a view may be another package's: the run is closed even if it fails
        view = view_of_text(configuration)
        return None if isinstance(view, PlainView) else view.flow(node).built
    return None


def _judging(chain: str, latency: Mapping[str, LegLatency]) -> str | None:
    """The leg that runs of the chain are judged by; None: the chain is not installed here."""
    keys = registry.registration(chain).search if chain in registry.names() else None
    return keys.whole_way if keys and latency.get(keys.whole_way, {}).get("count") else None
