# SPDX-License-Identifier: Apache-2.0
"""The page: static files, and one of them for all its addresses. Plotly is read from its package."""

from functools import cache
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"
PAGES = ("/", "/runs", "/runs/{number}", "/compare", "/config", "/alarms", "/log", "/nodes")
router = APIRouter(include_in_schema=False)


def whole_page() -> FileResponse:
    return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")


for path in PAGES:
    router.add_api_route(path, whole_page, methods=["GET"])


@router.get("/plotly.js")
def plotly(request: Request) -> Response:
    """The plotting library, 4.8 MB, loaded once per browser: it changes only with the package."""
    tag = f'"{_plotly_version()}"'
    headers = {"cache-control": "private, max-age=31536000", "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(_plotly(), media_type="text/javascript; charset=utf-8", headers=headers)


@cache
def _plotly() -> bytes:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()


@cache
def _plotly_version() -> str:
    from plotly.offline import get_plotlyjs_version

    return str(get_plotlyjs_version())


@router.get("/healthz")
def healthz() -> dict[str, str]:
    """Answers as long as the server works."""
    return {"status": "ok"}


def mount_files(app: FastAPI) -> None:
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
