# SPDX-License-Identifier: Apache-2.0
"""The messages between control room and agents, in the frames of the rendezvous. Each side checks what it receives."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from anello.account.notices import printable
from anello.exchange.rendezvous.messages import Message
from anello.system.machines import is_machine

FROM_AGENTS = frozenset({"hello", "alive", "told", "leave"})
TO_AGENTS = frozenset({"welcome", "refused", "who", "alive", "start", "end", "ended"})
RUN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")  # the name of a run's directory
MOST_NODES = 1024
MOST_TOLD = 256  # most nodes that one agent reports
MOST_WORDS = 256
STATES = ("", "ended", "gone")  # states of a node; empty: it runs


def is_number(value: Any, below: int) -> bool:
    return type(value) is int and 0 <= value < below


@dataclass(frozen=True)
class AgentHello:
    """An agent's description of itself."""

    name: str
    host: str
    version: str
    process: int

    def message(self) -> Message:
        return Message("hello", asdict(self))

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Reads a hello. Raises ValueError."""
        name, process = fields.get("name"), fields.get("process")
        words = {key: fields.get(key) for key in ("host", "version")}
        if not isinstance(name, str) or not is_machine(name):
            raise ValueError("name must be of letters, digits, and . _ - between them")
        if not is_number(process, 2**31) or not all(isinstance(word, str) for word in words.values()):
            raise ValueError("host and version must be text, process a number")
        return cls(name, process=process, **{key: printable(word)[:MOST_WORDS] for key, word in words.items()})  # type: ignore[arg-type]


@dataclass(frozen=True)
class NodeOrder:
    """An order to start a node. port: of the rendezvous; address: of its machine, empty: the one by which the agent
    reaches the control room. configuration: the exchange's, and that of the chain before it, or nothing; TOML."""

    run: str
    node: int
    n_nodes: int
    port: int
    address: str
    configuration: str
    of_chain: str = ""

    def message(self) -> Message:
        values = asdict(self)
        texts = tuple(values.pop(key).encode() for key in ("configuration", "of_chain"))
        return Message("start", values, texts)

    @classmethod
    def of(cls, message: Message) -> Self:
        """Reads an order. Raises ValueError."""
        run, address = message.fields.get("run"), message.fields.get("address")
        numbers = {key: message.fields.get(key) for key in ("node", "n_nodes", "port")}
        below = {"node": MOST_NODES, "n_nodes": MOST_NODES + 1, "port": 1 << 16}
        if not isinstance(run, str) or not RUN.fullmatch(run) or not isinstance(address, str):
            raise ValueError("run must be the name of a directory, address text")
        if not all(is_number(number, below[key]) for key, number in numbers.items()) or len(message.payload) != 2:
            raise ValueError("it names no node of a farm")
        texts = [text.decode() for text in message.payload]
        return cls(run, address=address[:MOST_WORDS], configuration=texts[0], of_chain=texts[1], **numbers)  # type: ignore[arg-type]


@dataclass(frozen=True)
class NodeReport:
    """The state of a node. cause: why it is gone."""

    run: str
    node: int
    process: int
    state: str = ""
    cause: str = ""


def reports_message(nodes: Sequence[NodeReport], pages: Mapping[str, bytes]) -> Message:
    """The message with these states. pages: by name, of the nodes that run."""
    return Message("told", {"nodes": [asdict(node) for node in nodes], "pages": list(pages)}, tuple(pages.values()))


def nodes_of(message: Message) -> tuple[NodeReport, ...]:
    """Reads the states from a message. Raises ValueError."""
    given = message.fields.get("nodes")
    if not isinstance(given, list) or len(given) > MOST_TOLD:
        raise ValueError(f"nodes must be a list of at most {MOST_TOLD}")
    return tuple(map(_node, given))


def _node(fields: Any) -> NodeReport:
    if not isinstance(fields, dict):
        raise ValueError("a node must be a table")
    run, state, cause = (fields.get(key) for key in ("run", "state", "cause"))
    node, process = fields.get("node"), fields.get("process")
    if not isinstance(run, str) or not RUN.fullmatch(run) or state not in STATES or not isinstance(cause, str):
        raise ValueError("run, state and cause must be text")
    if not is_number(node, MOST_NODES) or not is_number(process, 2**31):
        raise ValueError("node and process must be numbers")
    return NodeReport(run, node, process, state, printable(cause)[:MOST_WORDS])  # type: ignore[arg-type]


def pages_of(message: Message) -> dict[str, bytes]:
    """Reads the pages from a message. Raises ValueError."""
    names = message.fields.get("pages")
    if not isinstance(names, list) or len(names) != len(message.payload) or len(names) > MOST_TOLD:
        raise ValueError("pages must name each page that follows")
    if not all(isinstance(name, str) and len(name) <= MOST_WORDS for name in names):
        raise ValueError("a page's name must be text")
    return dict(zip(names, message.payload, strict=True))
