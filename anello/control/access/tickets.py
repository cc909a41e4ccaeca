# SPDX-License-Identifier: Apache-2.0
"""Tickets for links. A link that a browser opens by itself carries no token: it gets a ticket for one path and a
short time instead."""

import hmac
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import parse_qs

LIFETIME_S = 60


class Tickets:
    """Makes and checks tickets. They are signed, not stored, so that any number of them costs no memory. clock: s."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._key, self._clock = secrets.token_bytes(32), clock

    def of(self, path: str) -> str:
        """The path with its ticket."""
        until = int(self._clock()) + LIFETIME_S
        return f"{path}?ticket={until}.{self._signed(path, until)}"

    def admits(self, path: str, query: str) -> bool:
        ticket = parse_qs(query).get("ticket", [""])[0]
        until, _, signature = ticket.partition(".")
        if not (until.isascii() and until.isdigit() and len(until) < 20 and signature.isascii()):
            return False
        return hmac.compare_digest(self._signed(path, int(until)), signature) and int(until) >= self._clock()

    def _signed(self, path: str, until: int) -> str:
        return hmac.new(self._key, f"{until} {path}".encode(), sha256).hexdigest()
