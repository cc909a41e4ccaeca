# SPDX-License-Identifier: Apache-2.0
"""A node's side of the rendezvous: the Group of nodes that ZeroMQ joins."""

import time
from collections.abc import Callable
from typing import Self

from anello.account.notices import printable
from anello.exchange.rendezvous.connection import Connection
from anello.exchange.rendezvous.group import EndOrderedError, GroupEndedError, Hello, News, StartError, named
from anello.exchange.rendezvous.messages import TO_NODES, Message
from anello.exchange.rendezvous.protocol import WORDS, Pace
from anello.system.secret_keys import Keys


class RendezvousGroup:
    """Satisfies anello.exchange.rendezvous.group.Group."""

    def __init__(self, endpoint: str, hello: Hello, pace: Pace, keys: Keys | None = None) -> None:
        """Joins the rendezvous, and waits until all nodes are there. Raises StartError, ConfigError."""
        self._hello, self._pace, self._endpoint = hello, pace, endpoint
        self._link = Connection(endpoint, TO_NODES, pace, keys, first=Message("hello", hello.as_dict()))
        self._missing: list[int] | None = None
        self._reports: dict[int, bytes] = {}
        self._news: list[News] = []
        self._notices: list[str] = []
        self._counters: dict[str, int] = {}
        self._stop_wanted = ""
        self._leads = hello.rank == 0
        self._ended: StartError | None = None  # why this node cannot continue
        try:
            welcome = self._awaited("welcome", pace.patience_s, self._nobody_answered)
        except BaseException:
            self.close()
            raise
        self._farm_id = int(welcome.fields["farm_id"])
        self._comes_again = bool(welcome.fields["comes_again"])
        self._leads &= not self._comes_again
        self._is_held = bool(welcome.fields.get("held", False))  # an operator decides when the run starts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def rank(self) -> int:
        return self._hello.rank

    @property
    def size(self) -> int:
        return self._hello.n_nodes

    @property
    def farm_id(self) -> int:
        return self._farm_id

    @property
    def comes_again(self) -> bool:
        return self._comes_again

    @property
    def leads(self) -> bool:
        return self._leads

    @property
    def may_leave(self) -> bool:
        return True

    def meet(self, address: bytes) -> dict[int, bytes]:
        return dict(self._together(Message("meet", payload=(address,)), self._pace.patience_s).by_rank())

    def barrier(self) -> None:
        if not self._comes_again:
            self._together(Message("barrier"), None if self._is_held else self._pace.patience_s)

    def gather(self, content: bytes) -> list[tuple[int, bytes]]:
        """Waits for the leader as long as the rendezvous lives: other nodes may need longer."""
        self._link.send(Message("gather", payload=(content,)))
        answer = self._awaited("gather", None, lambda: "")
        self._counters = {str(name): int(n) for name, n in answer.fields.get("counters", {}).items()}
        return answer.by_rank()

    def leave(self, content: bytes, why: str) -> None:
        self._link.send(Message("leave", {"why": why}, (content,)))

    def report(self, content: bytes) -> None:
        self._link.send(Message("tell", payload=(content,)))

    def reports(self) -> dict[int, bytes]:
        self._take_all()
        return dict(self._reports)

    def stop_all(self, why: str) -> None:
        self._link.send(Message("stop", {"why": why}))

    def stop_wanted(self) -> str:
        self._take_all()
        return self._stop_wanted

    def news(self) -> list[News]:
        self._take_all()
        news, self._news = self._news, []
        return news

    def notices(self) -> list[str]:
        self._take_all()
        notices, self._notices = self._notices, []
        return notices

    def counters(self) -> dict[str, int]:
        return self._counters

    def close(self) -> None:
        self._link.close()

    # --- Messages from the server ---------------------------------------------------------------------------------
    def _together(self, message: Message, timeout_s: float | None) -> Message:
        """Does a step that all nodes do together. timeout_s: None: as long as the rendezvous lives."""

        def late() -> str:
            return f"the {WORDS[message.kind]} took longer than {self._pace.timeout_s:g} s"

        self._link.send(message)
        return self._awaited(message.kind, timeout_s, late)

    def _awaited(self, kind: str, timeout_s: float | None, late: Callable[[], str]) -> Message:
        """Waits for a message of this kind. late: the words for a time-out. Raises StartError."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            message = self._link.take(left_s)
            if message is None:
                raise StartError(late())
            if message.kind == kind:
                return message
            self._take(message)
            self._raise_if_ended()

    def _take_all(self) -> None:
        while (message := self._link.take(0)) is not None:
            self._take(message)
        self._raise_if_ended()

    def _raise_if_ended(self) -> None:
        if self._ended:
            raise self._ended

    def _take(self, message: Message) -> None:
        fields = message.fields
        if message.kind == "waiting":
            self._missing = [int(rank) for rank in fields["missing"]]
        elif message.kind == "told":
            self._reports[int(fields["rank"])] = message.payload[0]
        elif message.kind == "news":
            address = message.payload[0] if message.payload else None
            self._news.append(News(int(fields["rank"]), printable(str(fields["what"])), address))
        elif message.kind == "notice":
            self._notices.append(printable(str(fields["line"])))
        elif message.kind == "lead":
            self._leads = True
        elif message.kind == "stop":
            self._stop_wanted = printable(str(fields["why"])) or "its leader says so"
        elif message.kind == "refused":
            self._ended = StartError(f"refused by the rendezvous: this node {printable(str(fields['why']))}")
        elif message.kind == "ended":
            kind = EndOrderedError if fields.get("ordered") else GroupEndedError
            self._ended = kind(printable(str(fields["why"])))

    def _nobody_answered(self) -> str:
        if self._missing is None:
            about_keys = "; with keys on one side only, there is no answer either"
            return f"nobody answers at {self._endpoint} within {self._pace.timeout_s:g} s{about_keys}"
        return f"{named(self._missing)} did not come within {self._pace.timeout_s:g} s"
