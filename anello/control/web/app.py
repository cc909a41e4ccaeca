# SPDX-License-Identifier: Apache-2.0
"""The web application: which function answers at which address."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import Request

from anello.catalogue.tables.database import CatalogueError
from anello.control.access.access import Access
from anello.control.access.tokens import Tokens
from anello.control.operator import NotDoneError, Operator
from anello.control.run_sampler import RunSampler
from anello.control.states import WrongStateError
from anello.control.web import commands, metrics, page, queries
from anello.control.web.memory import Memory, NotThereError
from anello.control.web.served import Served, TooManyError
from anello.errors import ConfigError, InputError

ABOUT = "Runs of Anello: state and orders, counters, history, catalogue, alarms, log. The page uses nothing else."


def create_app(
    operator: Operator,
    memory: Memory,
    sight: RunSampler,
    tokens: Tokens,
    *,
    names: Collection[str] = (),
    agents: Callable[[], list[dict[str, Any]]] = list,
) -> FastAPI:
    """Makes the application. names: host names by which it is reached, besides those of the loopback interface.
    sight is started and stopped with the server. agents: of other machines."""
    served = Served(operator, memory, sight, agents)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        served.stream.open()
        sight.subscribe(served.send_new)
        sight.start()
        yield
        served.stream.close()
        sight.stop()

    app = FastAPI(
        title="Anello control room",
        description=ABOUT,
        version="1",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        dependencies=[Security(HTTPBearer(auto_error=False))],
    )
    app.state.served, app.state.ask_to_close = served, served.stream.ask_to_close
    app.include_router(queries.router, prefix="/api/v1")
    app.include_router(commands.router, prefix="/api/v1")
    app.include_router(metrics.router)
    app.include_router(page.router)
    page.mount_files(app)
    _answer_errors(app)
    app.add_middleware(Access, tokens=tokens, tickets=served.tickets, names=names)
    return app


def _answer_errors(app: FastAPI) -> None:
    """Gives every refusal a message in the words of the command line."""

    def answer(status: int, error: Exception, **more: Any) -> JSONResponse:
        return JSONResponse({"message": str(error), **more}, status)

    @app.exception_handler(WrongStateError)
    def wrong_state(request: Request, error: WrongStateError) -> JSONResponse:
        return answer(409, error)

    @app.exception_handler(NotDoneError)
    def not_done(request: Request, error: NotDoneError) -> JSONResponse:
        return answer(502, error)

    @app.exception_handler(ConfigError)
    def wrong_config(request: Request, error: ConfigError) -> JSONResponse:
        return answer(422, error, field=error.field, rule=error.rule, value=error.given, remedy=error.remedy)

    @app.exception_handler(InputError)
    def wrong_input(request: Request, error: InputError) -> JSONResponse:
        return answer(422, error)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"message": error.detail}, error.status_code, error.headers)

    @app.exception_handler(NotThereError)
    def not_there(request: Request, error: NotThereError) -> JSONResponse:
        return answer(404, error)

    @app.exception_handler(CatalogueError)
    def no_catalogue(request: Request, error: CatalogueError) -> JSONResponse:
        return answer(503, error)

    @app.exception_handler(TooManyError)
    def too_many(request: Request, error: TooManyError) -> JSONResponse:
        return answer(503, error)

    @app.exception_handler(RequestValidationError)
    def wrong_request(request: Request, error: RequestValidationError) -> JSONResponse:
        said = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        return JSONResponse({"message": "; ".join(said)}, 422)
