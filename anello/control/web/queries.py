# SPDX-License-Identifier: Apache-2.0
"""Queries: GET /api/v1/..."""

import time
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi import Path as InPath
from fastapi.responses import FileResponse, HTMLResponse
from sse_starlette import EventSourceResponse

from anello.configuration.alarm_figures import FIGURES
from anello.control.web import messages, schema
from anello.control.web.memory import NotThereError, Wanted
from anello.control.web.served import Served, TooManyError, served_by
from anello.control.web.stream import MAX_VIEWERS
from anello.report.files import with_library

router = APIRouter(tags=["look"])

MOST = 1000
Number = Annotated[int, InPath(ge=1, le=2**62, description="A run's number")]
Limit = Annotated[int, Query(ge=1, le=MOST)]
Nanoseconds = Annotated[int, Query(ge=0, le=2**62, description="Wall clock, ns since 1970")]
FILE_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    # fmt: off
    words = {
        400: "not understood", 401: "no token", 403: "not allowed", 404: "there is none", 409: "not in this state",
        413: "too large", 422: "wrong value", 502: "it failed", 503: "too many at once",
    }
    # fmt: on
    return {status: {"description": words[status]} for status in (400, 401, 403, 413, *statuses)}


@router.get("/state", responses=refusals())
def state(request: Request) -> dict[str, Any]:
    """The control room's state, and which orders it allows."""
    return messages.state(served_by(request).operator.status())


@router.get("/role", responses=refusals())
def role(request: Request) -> dict[str, str]:
    """The role of this token: viewer may look, operator may also give orders."""
    return {"role": request.state.role}


@router.get("/now", responses=refusals())
def now(request: Request) -> dict[str, Any]:
    """The contents of a tick of the stream: state, rates, latency, ledger, stages, boards."""
    return messages.tick(served_by(request).sight.last)


@router.get("/counters", responses=refusals())
def counters(request: Request) -> dict[str, dict[str, dict[str, int]]]:
    """process (node, source) -> block -> counter -> value, from the last sample."""
    look = served_by(request).sight.last
    pages = {"node": look.node, "source": look.source}
    return {
        name: {block: dict(values) for block, values in page.counters.items()} for name, page in pages.items() if page
    }


@router.get("/agents", responses=refusals())
def agents(request: Request) -> list[dict[str, Any]]:
    """The connected agents of other machines: name, host, version, process, and nodes, each with its run."""
    return served_by(request).agents()


@router.get("/event", responses=refusals())
def event(request: Request) -> dict[str, Any]:
    """The last event that the node recorded, as it is drawn; null where there is none yet."""
    look = served_by(request).sight.last
    if look.view is None or look.node is None or look.node.event is None:
        return {"drawing": None}
    try:
        drawing = look.view.drawing(look.node.event)
    except ValueError:  # the contents of another process's page are not trusted
        return {"drawing": None}
    return {"drawing": None if drawing is None else dict(drawing) | {"t_ns": look.node.event.wall_ns}}


@router.get("/recent", responses=refusals())
def recent(request: Request) -> dict[str, list[float | None]]:
    """The last ten minutes at 2 Hz, in columns; t_ms: ms since 1970. Unknown values are null."""
    past = served_by(request).sight.past
    columns: dict[str, list[float | None]] = {"t_ms": [moment.t_ns // 1_000_000 for moment in past]}
    return columns | {name: [moment.figures.get(name) for moment in past] for name in FIGURES}


@router.get("/history", responses=refusals(422))
def history(
    request: Request,
    metric: Annotated[str, Query(max_length=100)],
    from_ns: Nanoseconds = 0,
    to_ns: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    step_s: Annotated[float, Query(ge=0.5, le=1e6, allow_inf_nan=False)] = 1.0,
) -> dict[str, Any]:
    """A metric against time, from the catalogue: at most one value per step. Samples older than a day are thinned."""
    found = served_by(request).memory.history(metric, from_ns, time.time_ns() if to_ns is None else to_ns, step_s)
    return {"metric": metric, "t_ns": [t for t, _ in found], "value": [value for _, value in found]}


# --- The catalogue ------------------------------------------------------------------------------------------------
@router.get("/runs", responses=refusals(422))
def runs(
    request: Request,
    *,
    limit: Limit = 100,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    chain: Annotated[str | None, Query(max_length=100)] = None,
    state: Annotated[str | None, Query(max_length=20)] = None,
    quality: Annotated[str | None, Query(max_length=20)] = None,
) -> list[dict[str, Any]]:
    """Runs, newest first."""
    return [dict(row) for row in served_by(request).memory.runs(Wanted(limit, before, chain, state, quality))]


@router.get("/runs/{number}", responses=refusals(404, 422))
def run(request: Request, number: Number) -> dict[str, Any]:
    """Everything of one run."""
    return dict(served_by(request).memory.run(number))


@router.get("/runs/{number}/summary", responses=refusals(404, 422))
def summary(request: Request, number: Number) -> FileResponse:
    """The run's summary.json."""
    return _file(served_by(request), number, "summary.json", "application/json")


@router.get("/runs/{number}/report", responses=refusals(404, 422))
def report(request: Request, number: Number) -> HTMLResponse:
    """The run's report, for a browser: it may run its own plots, and cannot reach anything of this page, so that it
    contains the plotting library."""
    found = _path(served_by(request), number, "report.html")
    text = with_library(found.read_text(encoding="utf-8"))
    return HTMLResponse(text, headers={"content-security-policy": FILE_POLICY})


@router.get("/compare", responses=refusals(404, 422))
def compare(
    request: Request, runs: Annotated[str, Query(pattern=r"^[1-9][0-9]{0,17},[1-9][0-9]{0,17}$")]
) -> dict[str, Any]:
    """Two runs, e.g. runs=41,42: differences in configuration, rates, losses, latency, quality."""
    first, second = map(int, runs.split(","))
    return dict(served_by(request).memory.compare(first, second))


@router.get("/alarms", responses=refusals(422))
def alarms(request: Request, limit: Limit = 100) -> list[dict[str, Any]]:
    return [dict(row) for row in served_by(request).memory.alarms(limit)]


@router.get("/notices", responses=refusals(422))
def notices(request: Request, limit: Limit = 100) -> list[dict[str, Any]]:
    return [dict(row) for row in served_by(request).memory.notices(limit)]


@router.get("/log", responses=refusals(422))
def log(
    request: Request, limit: Limit = 100, run: Annotated[int | None, Query(ge=1, le=2**62)] = None
) -> list[dict[str, Any]]:
    """The log book, newest first."""
    return [dict(row) for row in served_by(request).memory.log(limit, run)]


@router.get("/config", responses=refusals(422))
def config(request: Request) -> dict[str, Any]:
    """The configuration in force, with every key explained; before there is one, that of the default chain."""
    return schema.described(served_by(request).operator.status())


@router.get("/configs", responses=refusals())
def configs(request: Request) -> list[dict[str, Any]]:
    """The configurations of runs, newest first."""
    return [dict(row) for row in served_by(request).memory.configurations()]


@router.get("/configs/{digest}", responses=refusals(404, 422))
def one_config(request: Request, digest: Annotated[str, InPath(pattern="^[0-9a-f]{8,64}$")]) -> dict[str, Any]:
    return dict(served_by(request).memory.configuration(digest))


@router.get("/ticket", responses=refusals(422))
def ticket(
    request: Request, path: Annotated[str, Query(pattern=r"^/api/v1/runs/[1-9][0-9]{0,17}/(report|summary)$")]
) -> dict[str, str]:
    """A link that a browser can open by itself, for a minute."""
    return {"address": served_by(request).tickets.of(path)}


@router.get("/stream", response_class=EventSourceResponse, responses=refusals(503))
def stream(request: Request, last_event_id: Annotated[str | None, Header(max_length=20)] = None) -> EventSourceResponse:
    """Server-sent events: tick (twice a second), state, notice, alarm, log; missed, where a viewer was too slow."""
    events = served_by(request).stream
    if events.viewers >= MAX_VIEWERS:
        raise TooManyError(f"{MAX_VIEWERS} pages are open already; close one")
    last = int(last_event_id) if last_event_id and last_event_id.isascii() and last_event_id.isdigit() else None
    return EventSourceResponse(events.follow(last), send_timeout=30, ping=15, headers={"cache-control": "no-store"})


def _file(served: Served, number: int, name: str, media_type: str) -> FileResponse:
    """A file of a run: only names that runs write, in the directory that the catalogue names."""
    return FileResponse(_path(served, number, name), media_type=media_type)


def _path(served: Served, number: int, name: str) -> Path:
    path = Path(str(served.memory.run(number)["directory"])) / name
    if not path.is_file():
        raise NotThereError(f"run {number} has no {name}: {path.parent}")
    return path
