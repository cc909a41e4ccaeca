# SPDX-License-Identifier: Apache-2.0
"""`anello metrics`: the counter pages of all processes of this machine, in the text format of Prometheus:
docs/how-to/metrics.md. No run needs it, and it only reads shared memory; the metric families are the control
room's."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from anello.account.run_state import RunState
from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.tables.database import CatalogueError
from anello.control.access.access import Access
from anello.control.access.tickets import Tickets
from anello.control.access.tokens import Tokens
from anello.control.operator import Status
from anello.control.run_sampler import RunSampler
from anello.control.states import State
from anello.control.web import metrics
from anello.control.web.page import healthz
from anello.counters.live import PlainView, View, view_of_text
from anello.counters.page_copy import PageCopy, copy_of
from anello.counters.pages import Header, of_this_machine
from anello.errors import ConfigError

PREFIX, NODE = "anello.", "anello.node."  # prefixes of the pages' names
LOG = logging.getLogger("anello.metrics")


def create_exporter(collector: Collector, tokens: Tokens, names: Collection[str] = ()) -> FastAPI:
    """The application. Access needs the viewer's token, as at the control room."""
    app = FastAPI(title="Anello metrics", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.ask_to_close = lambda: None
    app.add_api_route("/healthz", healthz)

    @app.get("/metrics", response_class=Response)
    def answer(request: Request) -> Response:
        return metrics.text(request, collector, "anello_exporter")

    app.add_middleware(Access, tokens=tokens, tickets=Tickets(), names=names)
    return app


class Configurations:
    """Configurations of runs, by digest, from the catalogues of these directories."""

    def __init__(self, runs: Sequence[Path]) -> None:
        self._catalogues = [of_runs_in(directory) for directory in runs]
        self._views: dict[str, View] = {}

    def view(self, status: Status) -> View:
        """The chain's own view where the configuration is known, else a plain one. A run enters its configuration
        before it has a page."""
        digest = status.config_digest
        if digest not in self._views:
            self._views[digest] = self._found(digest) or PlainView()
        return self._views[digest]

    def _found(self, digest: str) -> View | None:
        for path in self._catalogues:
            try:
                with Catalogue(path, read_only=True) as catalogue:
                    return view_of_text(catalogue.configurations.get(digest)["toml"])
            except (CatalogueError, ConfigError):  # it is in another catalogue, or of another version
                continue
        return None


def _here() -> list[str]:
    return [page.name for page in of_this_machine()]


class Exporter(Collector):
    """Reads each page at every request; values that a reading needs from the one before are kept here. pages: their
    names; clock: wall, ns."""

    def __init__(
        self,
        view: Callable[[Status], View],
        *,
        pages: Callable[[], Iterable[str]] = _here,
        copy: Callable[[str], PageCopy] = copy_of,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._view, self._pages, self._copy, self._clock = view, pages, copy, clock
        self._sights: dict[str, RunSampler] = {}
        self._lock = threading.Lock()  # requests are handled by several threads

    def collect(self) -> Iterator[Metric]:
        """The metric families, each with the values of all processes."""
        with self._lock:
            pages = list(self._pages())
            self._sights = {name: sight for name, sight in self._sights.items() if name in pages}
            values = [one for name in pages if (one := self._values_of(name))]
        yield metrics.of_software()
        yield from _joined(values)

    def _values_of(self, name: str) -> tuple[Mapping[str, str], list[Metric]] | None:
        """The labels of a process and its values. None: the page has gone, or is invalid."""
        try:
            page = self._copy(name)
            return _labels(page), list(self._of(page))
        except OSError:
            return None
        except Exception as error:  # any program may put a page there; an invalid one must not hide the others
            LOG.warning("%s is left out: %s: %s", name, type(error).__name__, error)
            return None

    def _of(self, page: PageCopy) -> Iterator[Metric]:
        header, now_ns = page.header, self._clock()
        yield metrics.of_origin({}, header.config_digest)
        yield metrics.of_state(RunState, header.state if header.runs else RunState.CRASHED)
        if not page.name.startswith(NODE):
            yield from metrics.of_process(page, now_ns)
            return
        status = Status(
            State.RUNNING,
            header.started_ns,
            config_digest=header.config_digest,
            chain=header.chain,
            run=header.run_number,
            name=header.run_name,
            node_page=page.name,
        )
        sight = self._sights.setdefault(
            page.name, RunSampler(lambda: status, copy=self._copy, view=self._view, clock=self._clock)
        )
        yield from metrics.of_run(sight.look())


def _labels(page: PageCopy) -> dict[str, str]:
    header: Header = page.header
    return {
        "process": page.name.removeprefix(PREFIX),
        "chain": header.chain,
        "run": str(header.run_number or ""),
        "name": header.run_name,
    }


def _joined(values: Iterable[tuple[Mapping[str, str], Iterable[Metric]]]) -> Iterator[Metric]:
    """Joins equal families, because the text may contain each only once; labels name the process of each value."""
    joined: dict[str, Metric] = {}
    for labels, families in values:
        for family in families:
            one = joined.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            one.samples += [sample._replace(labels={**sample.labels, **labels}) for sample in family.samples]
    yield from joined.values()
