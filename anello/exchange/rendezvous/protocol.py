# SPDX-License-Identifier: Apache-2.0
"""How nodes find each other and stay in touch: which are present, which are gone, which returned.

A state machine without sockets, threads or clock: the server passes messages and the time to it, and sends its answers.
A node is known by its rank, and on the wire by the identity of its connection.
"""

import math
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from anello.account.notices import printable
from anello.account.run_state import RunState
from anello.exchange.rendezvous.group import Hello, disagreement, named
from anello.exchange.rendezvous.messages import Message, Outgoing, of_ranks

MAX_NOTICES = 200
PAUSE_HEARTBEATS = 4
MAX_REPORT_BYTES = 64 << 10
MAX_LAST_WORDS = 64


@dataclass(frozen=True)
class Pace:
    """Times in seconds. timeout: for all nodes to arrive, and for each step that all do together."""

    timeout_s: float = 30.0
    heartbeat_s: float = 0.5
    contest_s: float = 2.0  # silence after which another process may take a node's place
    gone_s: float = 10.0  # silence after which a node is reported as gone

    @property
    def patience_s(self) -> float:
        """How long a node waits for the rendezvous, which decides earlier because it can name the missing nodes."""
        return 1.1 * self.timeout_s + 0.5


@dataclass
class Member:
    """A node that was admitted."""

    hello: Hello
    identity: bytes
    heard_s: float
    comes_again: bool = False  # it does not start together with the others
    address: bytes | None = None
    is_here: bool = True


@dataclass
class _Contest:
    """A newcomer that claims a rank which is taken. Messages of a dead node may still arrive, all at once, when a
    link is repaired: only messages that arrive apart prove that it lives."""

    newcomer: Member
    first_word_s: float | None = None  # first message of the present node since the newcomer arrived

    def is_answered(self, member: Member, apart_s: float) -> bool:
        if self.first_word_s is None and member.heard_s > self.newcomer.heard_s:
            self.first_word_s = member.heard_s
        return self.first_word_s is not None and member.heard_s - self.first_word_s >= apart_s


@dataclass
class _Step:
    """A step that all nodes do together, once; waiting: each node's contribution. The end begins when the leader
    arrives at it."""

    deadline_s: float
    waiting: dict[int, bytes] = field(default_factory=dict)
    is_done: bool = False


class Rendezvous:
    """The state machine. on_message() and on_time() feed it; both return the messages to be sent."""

    def __init__(self, n_nodes: int, pace: Pace, now_s: float, *, held: bool = False) -> None:
        """Starts without nodes. held: an operator starts the run, by release()."""
        self._n_nodes, self._pace = n_nodes, pace
        self._is_led, self._is_held = held, held  # led by an operator; held until the operator starts the run
        self._stop_was_asked = False
        self.state = RunState.CONFIGURED  # of the run; other threads read it
        self._deadline_s = now_s + pace.timeout_s
        self._looked_s = now_s
        self._have_met = False  # all nodes were present at once
        self.is_over = False  # all nodes have left, or the run has failed
        self._members: dict[int, Member] = {}
        self._contests: dict[int, _Contest] = {}  # by rank
        self._refusals: dict[int, str] = {}  # the last one of each rank, while nodes are still awaited
        self._steps: dict[str, _Step] = {}
        self._leader = 0  # rank
        self._last_words: list[tuple[int, bytes]] = []  # records of nodes that left before the end
        self._farm_id = secrets.randbits(64)
        self._out: list[Outgoing] = []
        self._notices: list[str] = []
        self.counters: Counter[str] = Counter()
        self.failure = ""  # why the run could not begin, or ended too early

    @property
    def _is_gathering(self) -> bool:
        return not self._have_met and not self.is_over

    def missing(self) -> list[int]:
        return [rank for rank in range(self._n_nodes) if not self._is_here(rank)]

    def identities(self) -> frozenset[bytes]:
        """Identities of the connections of members, and of newcomers that wait for a place that is taken."""
        waiting = self._waiting()
        return frozenset(one.identity for one in (*self._here(), *waiting))

    def _state(self) -> RunState:
        if self._is_ending or self._stop_was_asked or self.is_over:
            return RunState.DRAINING
        if "barrier" not in self._steps:
            return RunState.CONFIGURED
        if self._steps["barrier"].is_done:
            return RunState.RUNNING
        return RunState.READY if self._is_complete("barrier") else RunState.CONFIGURED

    def release(self) -> list[Outgoing]:
        """Starts a run that was held."""
        self._is_held = False
        self._finish_steps()
        return self._take_out()

    def cancel(self, why: str) -> list[Outgoing]:
        """Cancels the run: all nodes end at once."""
        if not self.is_over:
            self._end_all(why, ordered=True)
        return self._take_out()

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def on_message(self, identity: bytes, message: Message, now_s: float) -> list[Outgoing]:
        member = next((one for one in self._members.values() if one.identity == identity and one.is_here), None)
        if message.kind == "hello" and not member:
            self._on_hello(identity, message, now_s)
        elif member:
            member.heard_s = now_s
            self._of_member(message.kind)(member, message, now_s)
        elif message.kind == "leave":
            self._contests = {rank: one for rank, one in self._contests.items() if one.newcomer.identity != identity}
        elif not any(one.identity == identity for one in self._waiting()):
            self.counters["from_unknown"] += 1
            self._send(identity, Message("refused", {"why": "is not known here, or was considered dead"}))
        return self._take_out()

    def on_time(self, now_s: float) -> list[Outgoing]:
        """Acts on time-outs. Must be called more often than a heartbeat."""
        self._forgive_pause(now_s)
        if not self.is_over:
            self._settle_contests(now_s)
            for member in self._here():
                if now_s - member.heard_s > self._pace.gone_s:
                    self._lose(member, f"it was silent for {self._pace.gone_s:g} s")
            self._check_deadlines(now_s)
        return self._take_out()

    def _forgive_pause(self, now_s: float) -> None:
        """After a pause of this process or machine, no node counts as silent only because nothing was read from it."""
        pause_s, self._looked_s = now_s - self._looked_s, now_s
        if pause_s > PAUSE_HEARTBEATS * self._pace.heartbeat_s:
            self._deadline_s += pause_s
            for member in (*self._here(), *self._waiting()):
                member.heard_s += pause_s
            for contest in self._contests.values():
                contest.first_word_s = None
            for step in self._steps.values():
                step.deadline_s += pause_s

    def on_death(self, rank: int, why: str) -> list[Outgoing]:
        """Records a death reported by the process that started the node."""
        if self._is_here(rank):
            self._lose(self._members[rank], why)
        elif self._is_gathering:
            self._fail(f"node {rank} could not start: {why}")
        return self._take_out()

    def on_malformed(self) -> None:
        self.counters["malformed"] += 1

    # --- Arriving -----------------------------------------------------------------------------------------------------
    def _on_hello(self, identity: bytes, message: Message, now_s: float) -> None:
        try:
            hello = Hello.from_dict(message.fields)
        except ValueError as error:
            self.counters["malformed"] += 1
            self._send(identity, Message("refused", {"why": f"sent no valid greeting: {error}"}))
            return
        newcomer = Member(hello, identity, now_s)
        why = self._objection(hello)
        if why:
            self._refuse(newcomer, why)
        elif self._is_here(hello.rank):
            self._contest(newcomer)
        else:
            self._let_in(newcomer)

    def _objection(self, hello: Hello) -> str:
        if self.is_over or self._is_ending:
            return self.failure or "comes when the run is ending"
        if hello.rank >= self._n_nodes or hello.n_nodes != self._n_nodes:
            return f"was started as node {hello.rank} of {hello.n_nodes}, and this run has {self._n_nodes}"
        first = self._members.get(0)
        return disagreement(hello, first.hello) if first else ""

    def _contest(self, newcomer: Member) -> None:
        """Lets a newcomer claim a rank: the present node may have died unnoticed, and has contest_s to send
        something."""
        rank = newcomer.hello.rank
        if rank in self._contests:
            self._refuse(newcomer, "is the third process with its rank")
        else:
            self._contests[rank] = _Contest(newcomer)

    def _waiting(self) -> list[Member]:
        return [contest.newcomer for contest in self._contests.values()]

    def _settle_contests(self, now_s: float) -> None:
        for rank, contest in list(self._contests.items()):
            member, newcomer = self._members.get(rank), contest.newcomer
            if member and member.is_here and contest.is_answered(member, self._pace.heartbeat_s / 2):
                del self._contests[rank]
                self._refuse(newcomer, f"joined twice: {member.hello} is already here")
            elif not member or not member.is_here or now_s - member.heard_s > self._pace.contest_s:
                del self._contests[rank]
                if member and member.is_here:
                    self._lose(member, "another one came in its place")
                self._let_in(newcomer)

    def _refuse(self, newcomer: Member, why: str) -> None:
        self.counters["refused"] += 1
        words = f"{newcomer.hello} {why}"
        if newcomer.hello.rank < self._n_nodes:
            self._refusals[newcomer.hello.rank] = words
        if self.counters["refused"] <= MAX_NOTICES:  # a stranger may try for ever
            self._note(f"refused: {words}")
        self._send(newcomer.identity, Message("refused", {"why": why}))

    def _let_in(self, newcomer: Member) -> None:
        rank = newcomer.hello.rank
        self._members[rank] = newcomer
        if self._have_met:
            newcomer.comes_again = True
            self._note(f"{newcomer.hello} came again")
            self._send(newcomer.identity, self._welcome(comes_again=True))
            return
        self._refusals.pop(rank, None)
        if rank == 0:  # its configuration is the run's
            self._put_out_those_who_disagree(newcomer.hello)
        missing = self.missing()
        if missing:
            self._send(newcomer.identity, Message("waiting", {"missing": missing}))
            return
        self._have_met = True
        self._send_all(self._welcome(comes_again=False))

    def _put_out_those_who_disagree(self, first: Hello) -> None:
        for member in self._here():
            why = disagreement(member.hello, first)
            if why:
                del self._members[member.hello.rank]
                self._refuse(member, why)

    def _welcome(self, *, comes_again: bool) -> Message:
        fields = {"farm_id": self._farm_id, "comes_again": comes_again, "held": self._is_led}
        return Message("welcome", fields)

    # --- Messages of members ------------------------------------------------------------------------------------------
    def _of_member(self, kind: str) -> Callable[[Member, Message, float], None]:
        return {
            "alive": self._on_alive, "meet": self._on_meet, "barrier": self._on_step, "gather": self._on_step,
            "tell": self._on_report, "stop": self._on_stop, "leave": self._on_leave,
        }.get(kind, self._on_nonsense)  # fmt: skip

    def _on_nonsense(self, member: Member, message: Message, now_s: float) -> None:
        self.counters["out_of_place"] += 1

    def _on_alive(self, member: Member, message: Message, now_s: float) -> None:
        self._send(member.identity, Message("alive"))

    def _on_meet(self, member: Member, message: Message, now_s: float) -> None:
        rank = member.hello.rank
        member.address = message.payload[0] if message.payload else b""
        if "meet" not in self._steps or not self._steps["meet"].is_done:
            self._on_step(member, message, now_s)
            return
        self._send(member.identity, of_ranks("meet", list(self._addresses().items())))
        news = Message("news", {"rank": rank, "what": "came again"}, (member.address,))
        self._send_all(news, but=rank)

    def _addresses(self) -> dict[int, bytes]:
        return {member.hello.rank: member.address for member in self._here() if member.address is not None}

    def _on_step(self, member: Member, message: Message, now_s: float) -> None:
        kind = message.kind
        if not self._have_met or self.is_over or (kind in self._steps and self._steps[kind].is_done):
            self._on_nonsense(member, message, now_s)
            return
        step = self._steps.setdefault(kind, _Step(math.inf if kind == "gather" else now_s + self._pace.timeout_s))
        step.waiting[member.hello.rank] = message.payload[0] if message.payload else b""
        if kind == "gather" and member.hello.rank == self._leader:
            step.deadline_s = now_s + self._pace.timeout_s
        self._finish_steps()

    def _awaited(self, kind: str) -> list[Member]:
        return [member for member in self._here() if kind == "gather" or not member.comes_again]

    def _is_complete(self, kind: str) -> bool:
        return all(member.hello.rank in self._steps[kind].waiting for member in self._awaited(kind))

    def _finish_steps(self) -> None:
        for kind, step in self._steps.items():
            if step.is_done or not self._is_complete(kind):
                continue
            if kind == "barrier" and self._is_held:
                step.deadline_s = math.inf  # the operator's decision has no time limit
                continue
            step.is_done = True
            self._answer(kind, step)

    def _answer(self, kind: str, step: _Step) -> None:
        answer = of_ranks(kind, list(self._addresses().items()) if kind == "meet" else [])
        for member in self._here():
            if kind == "gather" and member.hello.rank == self._leader:
                records = of_ranks(kind, [*self._last_words, *step.waiting.items()])
                self._send(member.identity, records.with_fields(counters=dict(self.counters)))
            elif member.hello.rank in step.waiting:
                self._send(member.identity, answer)

    @property
    def _is_ending(self) -> bool:
        return "gather" in self._steps and (
            self._steps["gather"].is_done or self._leader in self._steps["gather"].waiting
        )

    def _on_report(self, member: Member, message: Message, now_s: float) -> None:
        leader = self._members.get(self._leader)
        if leader and leader.is_here and message.payload and len(message.payload[0]) <= MAX_REPORT_BYTES:
            self._send(leader.identity, Message("told", {"rank": member.hello.rank}, message.payload[:1]))

    def _on_stop(self, member: Member, message: Message, now_s: float) -> None:
        if member.hello.rank == self._leader:
            self._stop_was_asked = True
            self._send_all(Message("stop", {"why": _words(message)}))

    # --- Leaving ------------------------------------------------------------------------------------------------------
    def _on_leave(self, member: Member, message: Message, now_s: float) -> None:
        if self.is_over or ("gather" in self._steps and self._steps["gather"].is_done):
            member.is_here = False
            if not self._here():
                self.is_over = True
            return
        if message.payload and len(self._last_words) < MAX_LAST_WORDS:
            self._last_words.append((member.hello.rank, message.payload[0]))
        self._lose(member, _words(message) or "it left")

    def _lose(self, member: Member, why: str) -> None:
        member.is_here = False
        rank = member.hello.rank
        self._note(f"{member.hello} is gone: {why}")
        if self._is_gathering:
            del self._members[rank]
            self._refusals[rank] = f"{member.hello} is gone: {why}"
        elif rank == self._leader and not self._pass_the_lead_on():
            self._fail(f"node {rank}, which leads the run, is gone: {why}")
        elif self._is_held:  # a farm that is not complete is never started
            self._fail(f"{member.hello} is gone before the start: {why}")
        elif not self.is_over:
            self._send_all(Message("news", {"rank": rank, "what": why}))
            self._finish_steps()

    def _pass_the_lead_on(self) -> bool:
        """Makes the lowest rank that is left the leader, if the run has begun and a standby can take over its
        management."""
        has_begun = "barrier" in self._steps and self._steps["barrier"].is_done
        has_standby = "sb" in str(self._members[self._leader].hello.values.get("exchange.roles", ""))
        heirs = [member for member in self._here() if not member.comes_again]
        if not has_begun or not has_standby or not heirs:
            return False
        self._leader = heirs[0].hello.rank
        self._send(heirs[0].identity, Message("lead"))
        self._note(f"node {self._leader} leads the run now")
        gather = self._steps.get("gather")
        if gather and self._leader in gather.waiting:
            gather.deadline_s = self._looked_s + self._pace.timeout_s
        return True

    def _check_deadlines(self, now_s: float) -> None:
        if self._is_gathering and now_s > self._deadline_s:
            self._fail(f"{named(self.missing())} did not come within {self._pace.timeout_s:g} s{self._reasons()}")
        for kind, step in self._steps.items():
            if not step.is_done and now_s > step.deadline_s:
                late = [member for member in self._awaited(kind) if member.hello.rank not in step.waiting]
                for member in late:
                    self._send(member.identity, Message("ended", {"why": "the others could wait no longer"}))
                    self._lose(member, f"it did not come to the {WORDS[kind]} within {self._pace.timeout_s:g} s")

    def _reasons(self) -> str:
        reasons = "; ".join(self._refusals.values())
        return f"; {reasons}" if reasons else ""

    def _fail(self, why: str) -> None:
        self.failure = why
        self._note(why)
        self._end_all(why, ordered=False)

    def _end_all(self, why: str, *, ordered: bool) -> None:
        self._send_all(Message("ended", {"why": why, "ordered": ordered}))
        self.is_over = True

    # --- Words ------------------------------------------------------------------------------------------------------
    def _is_here(self, rank: int) -> bool:
        return rank in self._members and self._members[rank].is_here

    def _here(self) -> list[Member]:
        return [member for _, member in sorted(self._members.items()) if member.is_here]

    def _note(self, line: str) -> None:
        if len(self._notices) < MAX_NOTICES:
            self._notices.append(line)
        leader = self._members.get(self._leader)
        if leader and leader.is_here:
            self._send(leader.identity, Message("notice", {"line": line}))

    def _send(self, identity: bytes, message: Message) -> None:
        self._out.append((identity, message))

    def _send_all(self, message: Message, but: int | None = None) -> None:
        self._out += [(member.identity, message) for member in self._here() if member.hello.rank != but]

    def _take_out(self) -> list[Outgoing]:
        self.state = self._state()
        out, self._out = self._out, []
        return out


def _words(message: Message) -> str:
    """The reason that a node gives in its message."""
    return printable(str(message.fields.get("why", "")))[:200]


WORDS = {"meet": "exchange of addresses", "barrier": "start", "gather": "end"}
