# SPDX-License-Identifier: Apache-2.0
"""Agents at the control room, without sockets: which are known or refused, and which of their reports are believed."""

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anello.control.agent.agent_list import AgentList
from anello.control.agent.messages import (
    FROM_AGENTS,
    AgentHello,
    NodeOrder,
    NodeReport,
    nodes_of,
    pages_of,
    reports_message,
)
from anello.exchange.rendezvous.messages import Message, Outgoing
from anello.exchange.rendezvous.protocol import Pace

PACE = Pace()
VERSION = "1.0 x86_64"
A, B = b"connection a", b"connection b"
ORDER = NodeOrder("run-20261123-084253", 1, 3, 7800, "", "[farm]\n")


def hello(name: str = "rack1", **other: Any) -> Message:
    return AgentHello(**({"name": name, "host": "h", "version": VERSION, "process": 7} | other)).message()


def roll() -> AgentList:
    return AgentList(VERSION, PACE, 0.0)


def only(answers: list[Outgoing]) -> Message:
    ((_, message),) = answers
    return message


def test_an_agent_is_known_by_its_name_and_heard() -> None:
    known = roll()
    assert only(known.on_message(A, hello(), 0.0)).kind == "welcome"
    node = NodeReport("run", 1, 4711)
    assert known.on_message(A, reports_message([node], {"anello.node.4711": b"page"}), 1.0) == []
    agent = known.agents["rack1"]
    assert (agent.nodes, agent.pages) == ((node,), {"anello.node.4711": b"page"})
    assert known.identities() == {A}
    assert only(known.on_message(A, Message("alive"), 1.0)).kind == "alive"
    ((identity, sent),) = known.send("rack1", ORDER.message())
    assert (identity, NodeOrder.of(sent)) == (A, ORDER)
    assert known.send("rack2", ORDER.message()) == []


def test_who_is_not_known_is_asked_who_it_is() -> None:
    """After a restart of the control room agents talk to one that has never seen them."""
    known = roll()
    assert only(known.on_message(A, Message("alive"), 0.0)).kind == "who"
    assert only(known.on_message(A, reports_message([], {}), 0.0)).kind == "who"
    assert known.on_message(A, Message("leave"), 0.0) == []


def test_a_silent_agent_is_gone_and_a_pause_of_the_control_room_is_no_silence() -> None:
    known = roll()
    known.on_message(A, hello(), 0.0)
    known.on_time(0.5)
    known.on_time(100.0)  # this machine slept
    assert "rack1" in known.agents
    now_s = 100.0
    while now_s < 100.0 + 2 * PACE.gone_s:
        now_s += PACE.heartbeat_s
        known.on_time(now_s)
    assert known.agents == {}


def test_a_name_belongs_to_the_one_that_has_it_while_it_is_heard() -> None:
    known = roll()
    known.on_message(A, hello(host="first"), 0.0)
    refused = only(known.on_message(B, hello(), 1.0))
    assert (refused.kind, refused.fields["why"]) == ("refused", "has a name that the one on first, process 7, has")
    assert only(known.on_message(B, hello(), PACE.contest_s + 0.1)).kind == "welcome"
    assert known.agents["rack1"].identity == B


def test_another_version_is_refused_with_both_named() -> None:
    refused = only(roll().on_message(A, hello(version="0.9"), 0.0))
    assert refused.fields["why"] == "has another version, 0.9; the control room has 1.0 x86_64"


def test_who_leaves_is_not_known_any_more() -> None:
    known = roll()
    known.on_message(A, hello(), 0.0)
    known.on_message(A, Message("leave"), 1.0)
    assert known.agents == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=4,
)  # fmt: skip
NODES = st.lists(st.fixed_dictionaries({"run": JSON, "node": JSON, "process": JSON, "state": JSON, "cause": JSON}))
FIELDS = st.dictionaries(st.sampled_from(["name", "host", "version", "process", "nodes", "pages"]), JSON | NODES)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from([A, B]), st.sampled_from(sorted(FROM_AGENTS)), FIELDS, st.lists(st.binary())),
        max_size=6,
    )
)
def test_nothing_that_an_agent_says_ends_the_roll(said: list[tuple[bytes, str, dict[str, Any], list[bytes]]]) -> None:
    known = roll()
    known.on_message(A, hello(), 0.0)
    for number, (who, kind, fields, payload) in enumerate(said):
        known.on_message(who, Message(kind, fields, tuple(payload)), number * 0.1)
    for agent in known.agents.values():
        assert all(0 <= node.node < 1024 and node.run for node in agent.nodes)


@pytest.mark.parametrize("run", ["", "../etc", "a/b", ".hidden", "x" * 201, "a\n", 7, None])
def test_a_run_that_is_no_name_of_a_directory_is_refused(run: Any) -> None:
    fields = asdict(ORDER) | {"run": run}
    with pytest.raises(ValueError, match="run must be the name"):
        NodeOrder.of(Message("start", fields, (b"", b"")))
    with pytest.raises(ValueError, match="run, state and cause must be text"):
        nodes_of(Message("told", {"nodes": [asdict(NodeReport("x", 1, 2)) | {"run": run}]}))


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], "ab", [1, 2], None])
def test_pages_are_named_each(names: Any) -> None:
    with pytest.raises(ValueError, match="page"):
        pages_of(Message("told", {"nodes": [], "pages": names}, (b"1", b"2")))
