# SPDX-License-Identifier: Apache-2.0
"""Checks every request first: is it addressed to this server, sent from our own page, by a user with a token, and of
a reasonable size? The check wraps the whole application, so that no route can be forgotten."""

import asyncio
import json
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anello.control.access.tickets import Tickets
from anello.control.access.tokens import Role, Tokens

MAX_BODY_BYTES = 1 << 20
BODY_S = 10.0  # s between two parts of a body
OPEN = ("/healthz", "/openapi.json")  # open to all besides the page and its files: they reveal nothing of a run
OURS = ("/api/", "/metrics")  # all data and all orders are below these paths
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class HttpRefusedError(HTTPException):
    """A refusal by HTTP, a type that also gets through while a body is being read."""


class Access:
    """The check. names: host names that this server answers to, besides those of the loopback interface."""

    def __init__(self, app: ASGIApp, tokens: Tokens, tickets: Tickets, names: Collection[str] = ()) -> None:
        self._app, self._tokens, self._tickets = app, tokens, tickets
        self._names = {name.lower() for name in (*names, *LOOPBACK_NAMES)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # the server has no websockets
        begun = False

        async def guarded_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                message["headers"] = headers.raw
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, _limited(receive), guarded_send)
        except HttpRefusedError as refused:
            if begun:
                raise
            await _answer(refused, guarded_send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        self._check_names(headers)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            raise _too_large()
        path: str = scope["path"]
        if path in OPEN or not path.startswith(OURS):
            return
        role = self._role(headers, scope)
        if role is None:
            raise HttpRefusedError(
                401, "a token is needed: Authorization: Bearer TOKEN; it is in the address that was printed"
            )
        if scope["method"] not in ("GET", "HEAD") and role is not Role.OPERATOR:
            raise HttpRefusedError(403, "this is the viewer's token, and only the operator's gives orders")
        scope.setdefault("state", {})["role"] = role

    def _check_names(self, headers: Headers) -> None:
        """Refuses a host name that is not ours: otherwise another site's page could make the browser take us for its
        server."""
        host = headers.get("host", "")
        name = _host_name(host)
        if name not in self._names:
            raise HttpRefusedError(
                403, "this server does not answer to that host name: use the address that it printed"
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise HttpRefusedError(403, "requests from pages of other servers are refused")

    def _role(self, headers: Headers, scope: Scope) -> Role | None:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._tokens.role(token.strip())
        if scope["method"] == "GET" and self._tickets.admits(scope["path"], scope["query_string"].decode("latin-1")):
            return Role.VIEWER
        return None


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _too_large() -> HttpRefusedError:
    return HttpRefusedError(413, f"a request may have {MAX_BODY_BYTES >> 20} MiB at most")


def _limited(receive: Receive) -> Receive:
    """Counts the bytes received, as a client need not announce their number, and limits the wait for them."""
    n_bytes, is_whole = 0, False

    async def limited() -> Message:
        nonlocal n_bytes, is_whole
        try:
            message = await (receive() if is_whole else asyncio.wait_for(receive(), BODY_S))
        except TimeoutError:
            raise HttpRefusedError(408, f"a request must be sent within {BODY_S:g} s") from None
        n_bytes += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        if n_bytes > MAX_BODY_BYTES:
            raise _too_large()
        return message

    return limited


async def _answer(refused: HttpRefusedError, send: Send) -> None:
    body = json.dumps({"message": refused.detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refused.status_code == 401:
        headers.append((b"www-authenticate", b'Bearer realm="anello"'))
    await send({"type": "http.response.start", "status": refused.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
