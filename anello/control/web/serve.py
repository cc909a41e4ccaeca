# SPDX-License-Identifier: Apache-2.0
"""Serves the application, in this thread or in one of its own, until stop() is called."""

import asyncio
import ipaddress
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from anello.errors import ConfigError

PORT = 8640
END_S = 3  # s; how long open streams may take to end
MOST_CONNECTIONS = 256
REQUEST_S = 5.0  # s; how long a connection may take to send a request, the first one and each later one
MOST_SILENT = 64  # connections that have not sent a request yet


@dataclass(frozen=True)
class Tls:
    certificate: Path
    key: Path

    @classmethod
    def given(cls, certificate: Path | None, key: Path | None) -> Self | None:
        return cls(certificate, key) if certificate and key else None


class WebServer:
    """The web server. It is bound when it is made, so that its address is known and a port in use raises OSError at
    once. app.state.ask_to_close is called before it ends."""

    def __init__(self, app: FastAPI, host: str = "127.0.0.1", port: int = PORT, tls: Tls | None = None) -> None:
        """Binds the server. port: 0 takes any free one. Raises ConfigError where strangers could listen in, OSError."""
        need_privacy(host, tls)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            http=_Impatient,
            timeout_graceful_shutdown=END_S,
            limit_concurrency=MOST_CONNECTIONS,
            h11_max_incomplete_event_size=16384,
            ssl_certfile=str(tls.certificate) if tls else None,
            ssl_keyfile=str(tls.key) if tls else None,
        )
        config.load()  # reads the certificate here, where an error reaches the user
        self._app, self._server, self._thread = app, _Quiet(config), threading.Thread(target=self.run, name="web")
        self._thread.daemon = True
        self._socket = socket.create_server((host, port), family=_family(host), backlog=64)
        self.port: int = self._socket.getsockname()[1]
        self.origin = f"{'https' if tls else 'http'}://{_in_address(host)}:{self.port}"

    def address(self, token: str) -> str:
        """The address to open in a browser. The part after # stays in the browser."""
        return f"{self.origin}/#token={token}"

    def run(self) -> None:
        """Serves until stop is called, from any thread."""
        self._server.run(sockets=[self._socket])

    def start(self) -> "WebServer":
        """Serves in a thread of its own; the server answers when this returns."""
        self._thread.start()
        self._server.begun.wait()
        return self

    def stop(self) -> None:
        """Ends the streams that are open, then the server."""
        self._app.state.ask_to_close()
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()


class _Impatient(H11Protocol):
    """Closes connections that send nothing, or a request letter by letter, so that they do not keep other clients
    out."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()
        silent = [one for one in self.connections if isinstance(one, _Impatient) and one.is_silent]
        if len(silent) > MOST_SILENT:
            min(silent, key=lambda one: one.deadline.when()).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.deadline.cancel()
        self._await_request()

    @property
    def is_silent(self) -> bool:
        return (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing()

    def _await_request(self) -> None:
        self.deadline = self.loop.call_later(REQUEST_S, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.is_silent:
            self.transport.abort()


class _Quiet(uvicorn.Server):
    """A server without signal handlers: the command handles signals."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = threading.Event()

    def install_signal_handlers(self) -> None:
        return

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.begun.set()


def need_privacy(host: str, tls: Tls | None) -> None:
    """Raises ConfigError where tokens would go neither over the loopback interface nor over TLS."""
    if tls is None and not is_loopback(host):
        rule = "must be an address of the loopback interface where there is no --tls-cert and --tls-key"
        raise ConfigError("--bind", rule, host, "Leave it at 127.0.0.1 and use ssh -L, or give certificate and key")


def is_loopback(host: str) -> bool:
    """True for loopback addresses and localhost; any other name may lead anywhere."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host
