# SPDX-License-Identifier: Apache-2.0
"""The rendezvous without sockets: which nodes are let in, refused with a reason, or gone and come again."""

import exchange_synthetic as synthetic
import pytest
from exchange_synthetic import Meeting, begun, names
from hypothesis import given
from hypothesis import strategies as st

from anello.account.run_state import RunState
from anello.exchange.rendezvous.group import Hello
from anello.exchange.rendezvous.messages import FROM_NODES, MAGIC, TO_NODES, Message, of_ranks, parse
from anello.system.json_messages import MalformedError

A, B, C, D = names(4)


def kinds(messages: list[Message]) -> list[str]:
    return [message.kind for message in messages]


def why(messages: list[Message], kind: str) -> str:
    (message,) = (message for message in messages if message.kind == kind)
    return str(message.fields["why"])


# --- Coming -------------------------------------------------------------------------------------------------------
def test_all_are_welcome_once_the_last_has_come() -> None:
    meeting = Meeting(3)
    meeting.greet(B, 1)
    assert meeting.mail(B) == [Message("waiting", {"missing": [0, 2]})]
    meeting.greet(C, 2)
    meeting.greet(A, 0)
    welcome = {who: meeting.mail(who)[-1] for who in (A, B, C)}
    assert {message.kind for message in welcome.values()} == {"welcome"}
    assert len({message.fields["farm_id"] for message in welcome.values()}) == 1
    assert not any(message.fields["comes_again"] for message in welcome.values())


def test_addresses_go_to_all_when_all_have_met() -> None:
    meeting = Meeting(2)
    meeting.greet(A, 0)
    meeting.greet(B, 1)
    meeting.mail(A), meeting.mail(B)
    meeting.say(B, "meet", b"address of b")
    assert meeting.mail(B) == []
    meeting.say(A, "meet", b"address of a")
    for who in (A, B):
        (answer,) = meeting.mail(who)
        assert dict(answer.by_rank()) == {0: b"address of a", 1: b"address of b"}


def test_those_who_did_not_come_are_named_to_everybody() -> None:
    meeting = Meeting(4)
    meeting.greet(A, 0)
    meeting.greet(C, 2)
    meeting.wait(synthetic.PACE.timeout_s + 1, A, C)
    words = "nodes 1, 3 did not come within 30 s"
    assert why(meeting.mail(A), "ended") == why(meeting.mail(C), "ended") == words
    assert meeting.rendezvous.failure == words
    assert meeting.rendezvous.is_over


def test_who_comes_too_late_learns_why() -> None:
    meeting = Meeting(2)
    meeting.greet(A, 0)
    meeting.wait(synthetic.PACE.timeout_s + 1, A)
    meeting.greet(B, 1)
    assert why(meeting.mail(B), "refused") == "node 1 did not come within 30 s"


@pytest.mark.parametrize(
    ("settings", "other", "words"),
    [
        (["exchange.packing=300"], {}, "has another configuration than node 0 (host host0, process 100): "
         "exchange.packing is 300, and 600 there"),
        ([], {"version": "0.0.1 x86_64"}, "has another version, 0.0.1 x86_64; node 0 (host host0, process 100) has "),
        (["fabric.port=7", "run.display=off"], {}, ""),
    ],
)  # fmt: skip
def test_who_disagrees_is_refused_whoever_comes_first(
    settings: list[str], other: dict[str, object], words: str
) -> None:
    for order in ((0, 1), (1, 0)):
        meeting = Meeting(2)
        for rank in order:
            meeting.greet((A, B)[rank], rank, *(settings if rank else []), **(other if rank else {}))
        if not words:
            assert kinds(meeting.mail(B))[-1] == "welcome"
            continue
        assert why(meeting.mail(B), "refused").startswith(words)
        assert meeting.rendezvous.counters["refused"] == 1
        assert meeting.rendezvous.missing() == [1]
        meeting.wait(synthetic.PACE.timeout_s + 1, A)
        assert why(meeting.mail(A, "notice"), "ended").startswith(
            f"node 1 did not come within 30 s; node 1 (host host1, process 101) {words}"
        )


def test_who_was_refused_may_come_better() -> None:
    meeting = Meeting(2)
    meeting.greet(A, 0)
    meeting.greet(B, 1, "exchange.credits=3")
    meeting.greet(C, 1)
    assert kinds(meeting.mail(C)) == ["welcome"]


@pytest.mark.parametrize(("rank", "n_nodes"), [(2, 2), (1, 3), (0, 1)])
def test_a_node_of_another_run_is_refused(rank: int, n_nodes: int) -> None:
    meeting = Meeting(2)
    meeting.say(A, "hello", **synthetic.hello(rank, n_nodes).as_dict())
    assert why(meeting.mail(A), "refused") == f"was started as node {rank} of {n_nodes}, and this run has 2"


def test_who_comes_twice_is_refused_and_nothing_else_is_disturbed() -> None:
    meeting = Meeting(2)
    meeting.greet(A, 0)
    meeting.greet(B, 0)
    meeting.wait(1, A)
    assert why(meeting.mail(B), "refused") == "joined twice: node 0 (host host0, process 100) is already here"
    meeting.greet(C, 1)
    assert kinds(meeting.mail(A))[-1] == "welcome"


def test_who_takes_the_place_of_a_dead_one_is_let_in() -> None:
    meeting = Meeting(2)
    meeting.greet(A, 0)
    meeting.greet(B, 1)
    meeting.mail(A), meeting.mail(B)
    meeting.say(A, "meet", b"a")
    meeting.say(B, "meet", b"b")
    meeting.greet(C, 1)  # nobody has noticed yet that B is dead
    meeting.wait(synthetic.PACE.contest_s + 0.5, A)
    (welcome,) = meeting.mail(C)
    assert welcome.fields["comes_again"] is True


def test_the_last_words_of_a_dead_one_keep_nobody_out() -> None:
    meeting = begun(3)
    meeting.greet(D, 1)
    meeting.wait(0.25, A, C)
    for _ in range(3):  # what the network kept back while it was cut
        meeting.say(B, "alive")
    meeting.wait(synthetic.PACE.contest_s + 0.5, A, C)
    (welcome,) = meeting.mail(D)
    assert welcome.fields["comes_again"] is True


def test_a_third_of_one_number_is_refused_at_once() -> None:
    meeting = Meeting(2)
    for who in (A, B, C):
        meeting.greet(who, 0)
    assert why(meeting.mail(C), "refused") == "is the third process with its rank"


# --- Going, and coming again --------------------------------------------------------------------------------------
def test_a_silent_node_is_gone_and_everybody_is_notified() -> None:
    meeting = begun(3)
    meeting.wait(synthetic.PACE.gone_s + 1, A, C)
    for who in (A, C):
        (news,) = meeting.mail(who, "notice")
        assert (news.fields["rank"], news.fields["what"], news.payload) == (1, "it was silent for 10 s", ())


def test_a_machine_that_stood_still_takes_nobody_for_dead() -> None:
    meeting = begun(3)
    meeting.stand_still(100)
    assert meeting.mail(A) == []
    meeting.wait(synthetic.PACE.gone_s + 1, A, C)
    assert [message.fields["rank"] for message in meeting.mail(A, "notice")] == [1]
    waiting = Meeting(2)
    waiting.greet(A, 0)
    waiting.stand_still(100)
    waiting.greet(B, 1)
    assert kinds(waiting.mail(B)) == ["welcome"]


def test_a_death_that_is_known_is_reported_at_once() -> None:
    meeting = begun(2)
    meeting.die(1, "killed by signal 9")
    notice, news = meeting.mail(A)
    assert news.fields == {"rank": 1, "what": "killed by signal 9"}
    assert notice.fields == {"line": "node 1 (host host1, process 101) is gone: killed by signal 9"}


def test_a_node_that_comes_again_meets_those_that_are_there() -> None:
    meeting = begun(3)
    meeting.die(1, "killed")
    meeting.die(2, "killed")
    meeting.mail(A)
    meeting.greet(D, 1)
    meeting.say(D, "meet", b"new address")
    welcome, answer = meeting.mail(D)
    assert welcome.fields["comes_again"] is True
    assert dict(answer.by_rank()) == {0: b"address 0", 1: b"new address"}
    (news,) = meeting.mail(A, "notice")
    assert (news.fields["rank"], news.payload) == (1, (b"new address",))


def test_a_node_that_comes_again_before_the_start_is_not_waited_for_at_the_start() -> None:
    meeting = Meeting(2)
    meeting.greet(A, 0)
    meeting.greet(B, 1)
    meeting.die(1, "killed")
    meeting.greet(C, 1)
    meeting.mail(A), meeting.mail(C)
    meeting.say(A, "meet", b"a")
    meeting.say(C, "meet", b"c")
    meeting.say(A, "barrier")
    assert kinds(meeting.mail(A, "notice")) == ["meet", "news", "barrier"]
    assert kinds(meeting.mail(C)) == ["meet"]


def test_the_run_ends_when_its_leader_dies() -> None:
    meeting = begun(2)
    meeting.die(0, "killed")
    assert why(meeting.mail(B), "ended") == "node 0, which leads the run, is gone: killed"
    assert meeting.rendezvous.is_over


def test_where_there_is_a_standby_the_next_one_leads() -> None:
    meeting = begun(3, 'exchange.roles=["all+sb"]')
    meeting.die(0, "killed")
    assert kinds(meeting.mail(B)) == ["lead", "notice", "news"]
    assert kinds(meeting.mail(C)) == ["news"]
    meeting.say(C, "tell", b"built 3")
    assert meeting.mail(B)[-1].payload == (b"built 3",)
    meeting.say(C, "stop", why="not the leader's")
    assert meeting.mail(B) == []
    meeting.say(B, "stop", why="the time is over")
    assert kinds(meeting.mail(C)) == ["stop"]
    meeting.say(C, "gather", b"record of c")
    meeting.say(B, "gather", b"record of b")
    assert meeting.mail(B)[-1].by_rank() == [(2, b"record of c"), (1, b"record of b")]


def test_who_leads_next_may_wait_for_the_records_already() -> None:
    meeting = begun(3, 'exchange.roles=["all+sb"]')
    for who in (B, C):
        meeting.say(who, "gather", b"a record")
    assert meeting.mail(B) == []
    meeting.die(0, "killed")
    answers = [message for message in meeting.mail(B) if message.kind == "gather"]
    assert [rank for rank, _ in answers[0].by_rank()] == [1, 2]


def test_before_the_start_nobody_leads_instead_of_node_0() -> None:
    meeting = Meeting(3)
    for rank, who in enumerate((A, B, C)):
        meeting.greet(who, rank, 'exchange.roles=["all+sb"]')
    meeting.die(0, "killed")
    assert meeting.rendezvous.is_over


def test_who_was_taken_for_dead_learns_it() -> None:
    meeting = begun(2)
    meeting.die(1, "killed")
    meeting.say(B, "alive")
    assert why(meeting.mail(B), "refused") == "is not known here, or was considered dead"
    assert meeting.rendezvous.counters["from_unknown"] == 1


def test_who_does_not_come_to_the_start_is_put_out_and_the_others_continue() -> None:
    meeting = Meeting(3)
    for rank, who in enumerate((A, B, C)):
        meeting.greet(who, rank)
        meeting.mail(who)
    meeting.say(A, "meet", b"a")
    meeting.say(C, "meet", b"c")
    meeting.wait(synthetic.PACE.timeout_s + 1, A, B, C)
    answer = next(message for message in meeting.mail(A) if message.kind == "meet")
    assert dict(answer.by_rank()) == {0: b"a", 2: b"c"}
    assert why(meeting.mail(B), "ended") == "the others could wait no longer"


# --- The end ------------------------------------------------------------------------------------------------------
def test_records_come_to_the_leader_with_the_last_words_of_those_that_left() -> None:
    meeting = begun(3)
    meeting.say(B, "leave", b"of 1, before", why="interrupted")
    meeting.say(C, "gather", b"of 2")
    assert kinds(meeting.mail(C)) == ["news"]
    meeting.say(A, "gather", b"of 0")
    answer = meeting.mail(A)[-1]
    assert sorted(answer.by_rank()) == [(0, b"of 0"), (1, b"of 1, before"), (2, b"of 2")]
    assert answer.fields["counters"] == {}
    assert kinds(meeting.mail(C)) == ["gather"]
    meeting.say(A, "leave")
    assert not meeting.rendezvous.is_over
    meeting.say(C, "leave")
    assert meeting.rendezvous.is_over
    assert meeting.rendezvous.failure == ""


def test_the_end_waits_for_the_leader_and_then_no_longer_than_the_timeout() -> None:
    meeting = begun(3)
    meeting.say(B, "gather", b"of 1")
    meeting.wait(10 * synthetic.PACE.timeout_s, A, B, C)
    assert meeting.mail(B) == []
    meeting.say(A, "gather", b"of 0")
    meeting.wait(synthetic.PACE.timeout_s + 1, A, B, C)
    assert sorted(next(one for one in meeting.mail(A) if one.kind == "gather").by_rank()) == [
        (0, b"of 0"), (1, b"of 1")]  # fmt: skip


def test_nobody_comes_again_when_the_run_is_ending() -> None:
    meeting = begun(3)
    meeting.die(2, "killed")
    meeting.say(A, "gather", b"")
    meeting.greet(D, 2)
    assert why(meeting.mail(D), "refused") == "comes when the run is ending"


def test_only_the_leader_stops_the_run() -> None:
    meeting = begun(2)
    meeting.say(B, "stop", why="I say so")
    assert meeting.mail(A) == []
    meeting.say(A, "stop", why="interrupted")
    assert why(meeting.mail(B), "stop") == "interrupted"


def test_what_nodes_tell_goes_to_the_leader() -> None:
    meeting = begun(2)
    meeting.say(B, "tell", b"news")
    meeting.say(B, "tell", bytes(1 << 20))
    assert meeting.mail(A) == [Message("told", {"rank": 1}, (b"news",))]


# --- Hostile ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "frames",
    [
        [], [b""], [MAGIC], [b"GET / HTTP/1.1", b"{}"], [MAGIC, b"{"], [MAGIC, b"[]"], [MAGIC, b'{"kind": 3}'],
        [MAGIC, b'{"kind": "welcome"}'], [MAGIC, b"[" * 10_000], [MAGIC, b" " * 70_000], [MAGIC, b"{}", *[b""] * 3000],
        [MAGIC, b'{"kind": "hello", "rank": NaN', b"\xff"], [MAGIC, b'{"kind": "leave", "why": "\\ud800"}'],
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(frames: list[bytes]) -> None:
    with pytest.raises(MalformedError):
        parse(frames, FROM_NODES)


@given(frames=st.lists(st.binary(max_size=64), max_size=4), rest=st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(frames: list[bytes], rest: bytes) -> None:
    for content in (frames, [MAGIC, rest, *frames]):
        try:
            message = parse(content, FROM_NODES)
        except MalformedError:
            continue
        assert message.kind in FROM_NODES


@given(
    kind=st.sampled_from(sorted(FROM_NODES)),
    fields=st.dictionaries(
        st.sampled_from(["rank", "n_nodes", "pid", "host", "version", "fingerprint", "values", "why"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just({}),
    ),
    payload=st.lists(st.binary(max_size=8), max_size=3),
    known=st.booleans(),
)
def test_no_message_of_a_stranger_or_a_mad_node_disturbs_the_others(
    kind: str, fields: dict[str, object], payload: list[bytes], known: bool
) -> None:
    meeting = begun(3)
    meeting.say(B if known else D, kind, *payload, **fields)
    meeting.mail(A)
    meeting.wait(1, A, C)
    meeting.say(A, "stop", why="all is well")
    assert "stop" in kinds(meeting.mail(C))


def test_a_stranger_who_greets_for_ever_fills_nothing() -> None:
    meeting = Meeting(2)
    meeting.greet(A, 0)
    for rank in range(2, 1000):
        meeting.say(D, "hello", **synthetic.hello(rank, 2).as_dict())
    assert meeting.rendezvous.counters["refused"] == 998
    assert len(meeting.rendezvous.take_notices()) == len(meeting.mail(A, "waiting")) == 200
    meeting.wait(synthetic.PACE.timeout_s + 1, A)
    assert why(meeting.mail(A, "notice"), "ended") == "node 1 did not come within 30 s"


def test_last_words_cannot_command_a_terminal() -> None:
    meeting = begun(2)
    meeting.say(B, "leave", why="\x1b[2Jbye")
    assert [message.fields["what"] for message in meeting.mail(A, "notice")] == ["?[2Jbye"]


def test_messages_read_back() -> None:
    message = of_ranks("gather", [(0, b"a"), (5, b"")]).with_fields(counters={"refused": 1})
    assert parse(message.frames(), TO_NODES) == message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rank", -1),
        ("rank", 10**400),
        ("rank", True),
        ("rank", "0"),
        ("host", "x" * 1000),
        ("values", []),
        ("pid", None),
    ],
)
def test_wrong_greetings_are_refused(name: str, value: object) -> None:
    fields = synthetic.hello(0, 1).as_dict() | {name: value}
    with pytest.raises(ValueError, match=r"must be"):
        Hello.from_dict(fields)
    meeting = Meeting(1)
    meeting.say(A, "hello", **fields)
    assert why(meeting.mail(A), "refused").startswith("sent no valid greeting: ")


# --- A run that an operator leads ---------------------------------------------------------------------------------
def ready_and_held(n_nodes: int) -> Meeting:
    meeting = Meeting(n_nodes, held=True)
    nodes = list(names(n_nodes))
    for rank, who in enumerate(nodes):
        meeting.greet(who, rank)
    for kind in ("meet", "barrier"):
        assert meeting.rendezvous.state is RunState.CONFIGURED
        for rank, who in enumerate(nodes):
            meeting.say(who, kind, b"address %d" % rank)
    return meeting


def test_a_led_run_starts_when_it_is_told_to_however_long_that_takes() -> None:
    meeting = ready_and_held(2)
    assert kinds(meeting.mail(A, "waiting")) == ["welcome", "meet"]
    meeting.wait(10 * synthetic.PACE.timeout_s, A, B)
    assert meeting.rendezvous.state is RunState.READY
    assert meeting.mail(A) == []
    meeting.release()
    assert meeting.rendezvous.state is RunState.RUNNING
    assert kinds(meeting.mail(A)) == ["barrier"]
    assert kinds(meeting.mail(B, "waiting", "welcome", "meet")) == ["barrier"]
    meeting.say(A, "stop", why="the time is over")
    assert meeting.rendezvous.state is RunState.DRAINING


def test_nodes_of_a_led_run_are_told_so() -> None:
    meeting = ready_and_held(2)
    assert [message.fields["held"] for message in meeting.mail(A) if message.kind == "welcome"] == [True]
    assert not begun(1).rendezvous.failure
    unled = Meeting(1)
    unled.greet(A, 0)
    assert [message.fields["held"] for message in unled.mail(A) if message.kind == "welcome"] == [False]


def test_a_led_run_that_loses_a_node_before_its_start_does_not_begin() -> None:
    meeting = ready_and_held(3)
    meeting.die(2, "killed by signal 9")
    words = "node 2 (host host2, process 102) is gone before the start: killed by signal 9"
    assert meeting.rendezvous.failure == words
    assert why(meeting.mail(A), "ended") == words
    assert meeting.rendezvous.is_over


def test_a_run_that_is_not_wanted_ends_for_all_and_is_no_failure() -> None:
    meeting = ready_and_held(2)
    meeting.cancel("the run was aborted")
    for who in (A, B):
        (ended,) = (message for message in meeting.mail(who) if message.kind == "ended")
        assert (ended.fields["why"], ended.fields["ordered"]) == ("the run was aborted", True)
    assert meeting.rendezvous.failure == ""
    assert meeting.rendezvous.state is RunState.DRAINING
    meeting.cancel("again")
    assert meeting.mail(A) == []


def test_a_node_that_cannot_start_is_not_waited_for() -> None:
    meeting = Meeting(2)
    meeting.greet(A, 0)
    meeting.die(1, "it has no memory")
    assert why(meeting.mail(A), "ended") == "node 1 could not start: it has no memory"
