# SPDX-License-Identifier: Apache-2.0
"""Samples the run twice a second; page, metrics, history and alarms share the samples."""

import logging
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from anello.account.ledger import Counters
from anello.account.verdict import Flaw, Verdict, Word, as_it_stands
from anello.configuration.load import load
from anello.control.balance import Balance, LiveLedger
from anello.control.operator import Status
from anello.control.states import State
from anello.counters.farm_copy import Seen, together
from anello.counters.live import SILENT, Board, Flow, PlainView, View, view_of
from anello.counters.page_copy import PageCopy, copy_of
from anello.errors import ConfigError, EngineMissingError

INTERVAL_S = 0.5
MOST_SHARE, LONGEST_S = 0.03, 1.5
REMEMBERED = 1200  # samples: ten minutes
LOG = logging.getLogger("anello.control")


@dataclass(frozen=True)
class RunSample:
    """The run at one moment. rates: 1/s, since the sample before; empty in the first one. page: None where no
    process runs."""

    t_ns: int
    status: Status
    view: View | None = None
    node: PageCopy | None = None  # of a farm: the pages of all its nodes as one
    members: tuple[Seen, ...] = ()  # the nodes of a farm
    source: PageCopy | None = None
    flow: Flow | None = None
    verdict: Verdict | None = None  # the verdict on the run up to now
    balance: Balance = field(default_factory=lambda: Balance(()))
    rates: Mapping[str, float] = field(default_factory=dict)

    @property
    def lost(self) -> Mapping[str, int]:
        """Losses by cause, in words."""
        return self.verdict.lost if self.verdict else {}

    @property
    def n_lost(self) -> int:
        return sum(self.lost.values())

    @property
    def whole_way(self) -> Mapping[str, Any]:
        """The latency of the leg that judges the run, over the last 10 s; empty where no event was decided."""
        if self.node is None or self.view is None:
            return {}
        return self.node.recent(self.view.whole_way(self.node.run_latency()))

    @property
    def figures(self) -> dict[str, float]:
        """Those figures of control.figures that are known at this moment; none before the second sample."""
        if not self.rates or self.node is None or self.view is None:
            return {}
        way, threads = self.whole_way, self.node.threads
        found = dict(self.rates) | {
            "lost": self.n_lost,
            "on_the_way": self.balance.on_the_way,
            "rows_off": len(self.balance.off),
            "silent_boards": sum(board.state == SILENT for board in self.view.boards(self.node.counters)),
            "nodes_gone": sum(one.state == SILENT for one in self.members),
            "files_refusing": sum(block.get("refusing", 0) for block in self.node.counters.values()),
        }
        quantiles = {name: way.get(f"{name}_ns") for name in ("p50", "p99", "p999")}
        found |= {f"{name}_us": value * 1e-3 for name, value in quantiles.items() if value is not None}
        if threads:
            found["busy_share"] = max(thread.busy_1s for thread in threads)
        # a run that ends is busy with its report
        if self.node.header.heartbeat_ns and self.status.state is State.RUNNING:
            found["heartbeat_age_s"] = max(0.0, self.node.header.age_s(self.t_ns))
        if (free := _free_bytes(self.status.directory)) is not None:
            found["disk_free_gb"] = free * 1e-9
        return {name: float(value) for name, value in found.items()}


class HistorySample(NamedTuple):
    """The part of a sample that the history keeps."""

    t_ns: int
    run: int | None
    figures: Mapping[str, float]


class RunSampler:
    """Takes the samples. status: of the operator. view: for a status; None: from the configuration's file. clock:
    wall, ns."""

    def __init__(
        self,
        status: Callable[[], Status],
        *,
        copy: Callable[[str], PageCopy] = copy_of,
        view: Callable[[Status], View] | None = None,
        clock: Callable[[], int] = time.time_ns,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._status, self._copy, self._clock, self._interval_s = status, copy, clock, interval_s
        self._make_view = view or _view
        self._listeners: list[Callable[[RunSample], None]] = []
        self._last: RunSample | None = None
        self._past: deque[HistorySample] = deque(maxlen=REMEMBERED)
        self._config: tuple[tuple[str, ...], View] | None = None
        self._ledger, self._run = LiveLedger(), ("", 0)
        self._last_pages: dict[int, PageCopy] = {}  # of a farm's nodes, by rank
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def subscribe(self, listener: Callable[[RunSample], None]) -> None:
        self._listeners.append(listener)

    @property
    def last(self) -> RunSample:
        """The last sample; if there is none yet, the first one is taken."""
        return self._last or self.look()

    @property
    def past(self) -> list[HistorySample]:
        """The samples of the last ten minutes, in the order of time."""
        return list(self._past)

    def start(self) -> None:
        self._end.clear()
        self._thread = threading.Thread(target=self._sample_repeatedly, name="sight", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._thread:
            self._thread.join()

    def _sample_repeatedly(self) -> None:
        fails = False
        while not self._end.is_set():
            began_s = time.thread_time()
            try:
                look = self.look()
                for listener in self._listeners:
                    listener(look)
                fails = False
            except Exception:  # the next sample may succeed; no other code would restart this thread
                if not fails:  # report only the first of several failures
                    LOG.exception("the run could not be looked at")
                fails = True
            self._end.wait(pause_s(self._interval_s, time.thread_time() - began_s))

    def look(self) -> RunSample:
        """Takes a sample now."""
        status, now_ns = self._status(), self._clock()
        members = self._members(status)
        node, source = None if members else self._read(status.node_page), self._read(status.source_page)
        look = RunSample(now_ns, status, members=members, node=node, source=source)
        try:
            self._last = self._seen(look)
        except Exception:  # our code may fail on the page of another machine
            if not members:
                raise
            self._last = self._seen(replace(look, members=tuple(self._if_sane(one, look) for one in members)))
        if figures := self._last.figures:
            self._past.append(HistorySample(now_ns, status.run, figures))
        return self._last

    def _read(self, page: str) -> PageCopy | None:
        """Copies a page. None where it is gone, as after the end of a run."""
        try:
            return self._copy(page) if page else None
        except (ConfigError, EngineMissingError, OSError):
            return None

    def _members(self, status: Status) -> tuple[Seen, ...]:
        """A farm's nodes; the last page of each is kept, as nodes end one after the other."""
        if (status.node_page, status.run or 0) != self._run:
            self._last_pages.clear()
        for member in status.members:
            if (page := self._read(member.page)) is not None:
                self._last_pages[member.rank] = page
        return tuple(Seen(member, self._last_pages.get(member.rank)) for member in status.members)

    def _if_sane(self, member: Seen, look: RunSample) -> Seen:
        """A farm's node; one whose page is invalid counts as one without a page."""
        alone = tuple(one if one is member else replace(one, page=None) for one in look.members)
        try:
            self._seen(replace(look, members=alone), ledger=LiveLedger())
        except Exception as error:
            cause = f"its page of counters makes no sense: {type(error).__name__}: {error}"[:300]
            return Seen(replace(member.member, state="gone", cause=cause), None)
        return member

    def _seen(self, look: RunSample, ledger: LiveLedger | None = None) -> RunSample:
        """The sample from the pages, or without a page. ledger: instead of the run's own."""
        status = look.status
        node = together(look.members) if look.members else look.node
        if node is None:
            return look
        look = replace(look, node=node)
        view = self._view(status)
        if (status.node_page, status.run or 0) != self._run:
            self._ledger, self._run = LiveLedger(), (status.node_page, status.run or 0)
        sent = look.source.counters if look.source else None
        balance = (ledger or self._ledger).look(view.ledger(node.counters, sent), look.t_ns * 1e-9)
        flaws = [
            *view.flaws(node.counters, sent),
            *silent_boards(view.boards(node.counters), sent),
            *_gone(look.members),
        ]
        verdict = as_it_stands(flaws, balanced=not balance.off)
        seen = replace(look, view=view, flow=view.flow(node.counters), verdict=verdict, balance=balance)
        return replace(seen, rates=rates_between(self._last, seen))

    def _view(self, status: Status) -> View:
        key = (status.config_file, status.config_digest, *status.settings)
        if self._config is None or self._config[0] != key:
            self._config = key, self._make_view(status)
        return self._config[1]


def silent_boards(boards: Sequence[Board], source: Counters | None) -> Iterator[Flaw]:
    """Flaws for silent boards; boards that the front ends keep silent on purpose count as configured."""
    silent = [board.number for board in boards if board.state == SILENT]
    asked = {n for n in silent if (source or {}).get(f"source.board{n}", {}).get("packets_dead_board")}
    for ordered in (False, True):
        if where := tuple(f"board {n}" for n in silent if (n in asked) == ordered):
            remedy = "" if ordered else "look at its power and its cable; anello dump PORT shows its datagrams"
            yield Flaw("boards are silent", len(where), ordered, Word.INCOMPLETE, where, remedy=remedy)


def _gone(members: Sequence[Seen]) -> Iterator[Flaw]:
    if gone := tuple(f"node {one.member.rank}" for one in members if one.state == SILENT):
        yield Flaw("nodes are gone", len(gone), where=gone, remedy="the log of each says why")


def pause_s(interval_s: float, cost_s: float) -> float:
    """Pause until the next sample, s. A node of hundreds of boards has thousands of counters, and its machine has
    other work: sampling takes MOST_SHARE of a core at most, but a sample is taken at least every LONGEST_S."""
    return max(interval_s, min(cost_s / MOST_SHARE, LONGEST_S))


def _view(status: Status) -> View:
    try:
        return view_of(load(Path(status.config_file), status.settings))
    except ConfigError:  # the file was changed since, or the run has none
        return PlainView()


def _free_bytes(directory: str) -> int | None:
    try:
        return shutil.disk_usage(directory).free if directory else None
    except OSError:
        return None


def rates_between(before: RunSample | None, now: RunSample) -> dict[str, float]:
    """Rates between two samples; empty where they are not of the same run."""
    if before is None or before.flow is None or now.flow is None or now.t_ns <= before.t_ns:
        return {}
    if (before.status.node_page, before.status.run) != (now.status.node_page, now.status.run):
        return {}
    seconds = (now.t_ns - before.t_ns) * 1e-9
    gained = {
        "built_hz": now.flow.built - before.flow.built,
        "decided_hz": now.flow.decided - before.flow.decided,
        "kept_hz": now.flow.kept - before.flow.kept,
        "bytes_per_s": now.flow.n_bytes - before.flow.n_bytes,
        "lost_hz": now.n_lost - before.n_lost,
    }
    return {name: n / seconds for name, n in gained.items()}
