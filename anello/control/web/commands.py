# SPDX-License-Identifier: Apache-2.0
"""Orders, which need the operator's token: POST /api/v1/..."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from anello.control.operator import Operator
from anello.control.web import messages, schema
from anello.control.web.queries import Number, refusals
from anello.control.web.served import TooManyError, served_by

router = APIRouter(tags=["order"])
Text = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")]
Author = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Configuration(Body):
    """A file on the control room's machine, and settings KEY=VALUE on top of it."""

    file: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]
    settings: Annotated[list[Annotated[str, Field(max_length=10_000)]], Field(max_length=1000)] = []


class RunMark(Body):
    quality: Literal["unknown", "good", "bad", "test"]
    comment: Text = ""
    author: Author


class LogEntry(Body):
    text: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")]
    author: Author
    run: Annotated[int, Field(ge=1, le=2**62)] | None = None


class Signed(Body):
    author: Author


# --- The state machine --------------------------------------------------------------------------------------------
def _order(request: Request, what: Callable[[Operator], None]) -> dict[str, Any]:
    """Carries out an order, and returns the state after it."""
    served = served_by(request)
    if not served.ordering.acquire(blocking=False):
        raise TooManyError("other orders are being carried out: wait for them")
    try:
        what(served.operator)
    finally:
        served.ordering.release()
    return messages.state(served.operator.status())


@router.post("/configure", responses=refusals(409, 422, 502, 503))
def configure(request: Request, body: Configuration) -> dict[str, Any]:
    """Reads and checks a configuration; a wrong one is answered in the words of the command line."""
    file = schema.readable(Path(body.file))
    return _order(request, lambda operator: operator.configure(file, body.settings))


@router.post("/check", responses=refusals(422))
def check(request: Request, body: Configuration) -> dict[str, Any]:
    """Checks a configuration as /configure does, and changes nothing."""
    return schema.of_file(Path(body.file), body.settings)


@router.post("/arm", responses=refusals(409, 502, 503))
def arm(request: Request) -> dict[str, Any]:
    """Starts the node and the front ends: ports are bound, memory is touched, nothing flows yet."""
    return _order(request, lambda operator: operator.arm())


@router.post("/start", responses=refusals(409, 502, 503))
def start(request: Request) -> dict[str, Any]:
    return _order(request, lambda operator: operator.start())


@router.post("/stop", responses=refusals(409, 502, 503))
def stop(request: Request) -> dict[str, Any]:
    """Stops the acceptance of new data; data already received are processed to the end."""
    return _order(request, lambda operator: operator.stop())


@router.post("/abort", responses=refusals(409, 502, 503))
def abort(request: Request) -> dict[str, Any]:
    """Ends the run at once; it is marked as aborted."""
    return _order(request, lambda operator: operator.abort())


@router.post("/reset", responses=refusals(409, 502, 503))
def reset(request: Request) -> dict[str, Any]:
    return _order(request, lambda operator: operator.reset())


# --- The catalogue ------------------------------------------------------------------------------------------------
@router.post("/alarms/{alarm}/ack", status_code=204, responses=refusals(404, 422))
def acknowledge(request: Request, alarm: Annotated[int, InPath(ge=1, le=2**62)], body: Signed) -> None:
    """Acknowledges an alarm."""
    served_by(request).memory.acknowledge(alarm, body.author)


@router.post("/log", status_code=204, responses=refusals(404, 422))
def write(request: Request, body: LogEntry) -> None:
    """An entry in the log book; of no run in particular where none is named."""
    served_by(request).memory.write(body.text, body.author, body.run)


@router.post("/runs/{number}/quality", status_code=204, responses=refusals(404, 422))
def mark(request: Request, number: Number, body: RunMark) -> None:
    """Enters the shift's judgement of a run."""
    served_by(request).memory.mark(number, body.quality, body.comment, body.author)
