# SPDX-License-Identifier: Apache-2.0
"""The control room: any orders in any order, with runs that end, die and refuse as they like."""

import gc
import random
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
import seeds
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from opened import opened

from anello.control import states
from anello.control.managed import NoAnswerError
from anello.control.operator import NotDoneError
from anello.control.process import RunOrder
from anello.control.run_controller import RunController
from anello.control.states import TRANSITIONS, State, Step, WrongStateError, after, possible
from anello.errors import ConfigError

RICH = Path(__file__).parents[2] / "detectors/rich/na62-rich.toml"


class FakeRun:
    """A managed run as RunProcess shows it, without a process."""

    alive: ClassVar["list[FakeRun]"] = []
    next_fails: ClassVar[str] = ""  # "ready" or "start"
    n_made: ClassVar[int] = 0

    def __init__(self, order: RunOrder, directory: Path) -> None:
        type(self).n_made += 1
        self.order, self.directory, self.process, self.number = order, directory, 1000 + self.n_made, self.n_made
        self.state, self.code = "configured", 0
        self.gone = threading.Event()
        self.fails, type(self).next_fails = self.next_fails, ""
        self.alive.append(self)

    @classmethod
    def start(cls, order: RunOrder, directory: Path) -> "FakeRun":
        return cls(order, directory)

    @classmethod
    def find(cls, _: Path) -> "FakeRun | None":
        return cls.alive[-1] if cls.alive else None

    def answer(self, word: str = "state") -> dict[str, Any]:
        if self.gone.is_set():
            raise NoAnswerError("gone")
        if word == "start" and self.fails != "start":
            self.state = "running"
        if word == "stop":
            self.state = "draining"
        if word == "abort":
            self.leave(0)
        return {"state": self.state, "process": self.process, "run": self.number}

    def wait_until(
        self, wanted: Sequence[str], _timeout_s: float, _given_up: Callable[[], bool] = lambda: False
    ) -> str:
        if self.state == "configured" and self.fails != "ready":
            self.state = "ready"
        return self.state if self.state in wanted and not self.gone.is_set() else ""

    def wait_ended(self, timeout_s: float) -> bool:
        return self.gone.wait(min(timeout_s, 0.001))

    def leave(self, code: int) -> None:
        if not self.gone.is_set():
            self.code = code
            self.alive.remove(self)
            self.gone.set()

    def exit_code(self) -> int | None:
        return self.code if self.gone.is_set() else None

    def ended_in_order(self) -> bool:
        return self.code in (0, 3, 5)

    def last_words(self) -> str:
        return "what it said last"

    def kill(self) -> None:
        self.leave(-9)

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def _nothing_runs() -> None:
    FakeRun.alive.clear()
    FakeRun.next_fails = ""


def room_at(directory: Path, **options: Any) -> RunController:
    return RunController(directory, processes=FakeRun, **options)  # type: ignore[arg-type]


def settle(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it does not come to rest"
        time.sleep(0.001)


class Orders(RuleBasedStateMachine):
    """The table of transitions is the model; changes that a run makes by itself are its other steps."""

    def __init__(self) -> None:
        super().__init__()
        FakeRun.alive.clear()
        FakeRun.next_fails = ""
        self._folder = TemporaryDirectory()
        self.ended: list[tuple[int, int | None]] = []
        self.room = self._room()
        self.state = State.OFFLINE

    def _room(self) -> RunController:
        return room_at(Path(self._folder.name), ended=lambda run, code: self.ended.append((run.number, code)))

    def teardown(self) -> None:
        self.room.close()
        self._folder.cleanup()

    def order(self, step: Step, do: Callable[[], None], fails: bool = False) -> None:
        try:
            expected = State.ERROR if fails else after(self.state, step)
        except WrongStateError:
            expected = None
        if expected is None or (self.state, step) not in TRANSITIONS:
            with pytest.raises(WrongStateError):
                do()
        elif fails:
            with pytest.raises(NotDoneError):
                do()
            self.state = State.ERROR
        else:
            do()
            self.state = expected

    @rule()
    def configure(self) -> None:
        self.order(Step.CONFIGURE, lambda: self.room.configure(RICH))

    @rule()
    def arm(self) -> None:
        self.order(Step.ARM, self.room.arm)

    @rule()
    def arm_one_that_never_is_ready(self) -> None:
        FakeRun.next_fails = "ready"
        self.order(Step.ARM, self.room.arm, fails=True)
        FakeRun.next_fails = ""

    @rule()
    def start(self) -> None:
        fails = bool(FakeRun.alive) and FakeRun.alive[0].fails == "start"
        self.order(Step.START, self.room.start, fails)

    @rule()
    def arm_one_that_will_not_start(self) -> None:
        FakeRun.next_fails = "start"
        self.order(Step.ARM, self.room.arm)
        FakeRun.next_fails = ""

    @rule()
    def stop(self) -> None:
        self.order(Step.STOP, self.room.stop)

    @rule()
    def abort(self) -> None:
        self.order(Step.ABORT, self.room.abort)

    @rule()
    def reset(self) -> None:
        self.order(Step.RESET, self.room.reset)

    @rule()
    def it_comes_to_its_end(self) -> None:
        if self.state is State.RUNNING:
            FakeRun.alive[0].state = "draining"
            self.state = State.DRAINING

    @rule(code=st.sampled_from([0, 1, 3, 5, -9, -11]))
    def it_ends(self, code: int) -> None:
        if FakeRun.alive:
            FakeRun.alive[0].leave(code)
            self.state = State.CONFIGURED if code in (0, 3, 5) else State.ERROR

    @rule()
    def control_dies(self) -> None:
        self.room.close()
        self.room = self._room()
        if not FakeRun.alive:
            self.state = State.OFFLINE

    @invariant()
    def it_is_as_the_table_says(self) -> None:
        settle(lambda: self.room.status().state is self.state)
        status = self.room.status()
        assert bool(status.cause) == (status.state is State.ERROR)
        assert bool(status.node_page) == bool(FakeRun.alive)
        assert len(FakeRun.alive) <= 1
        numbers = [number for number, _ in self.ended]
        assert numbers == sorted(set(numbers)), "each run ends once, and numbers only rise"


def test_no_order_finds_a_transition_that_there_is_not() -> None:
    # Without shrinking: what does not come is waited for, each time.
    quick = settings(max_examples=60, stateful_step_count=30, phases=[Phase.reuse, Phase.generate])
    run_state_machine_as_test(Orders, settings=quick)


def test_every_state_has_a_way_out() -> None:
    for state in State:
        assert possible(state), state
        assert all(after(state, step) in State for step in possible(state))


def test_what_is_not_possible_is_said_with_what_is() -> None:
    with pytest.raises(WrongStateError, match="start is not possible while offline; possible now: configure"):
        states.after(State.OFFLINE, Step.START)


def test_a_configuration_that_cannot_be_changes_nothing(tmp_path: Path) -> None:
    room = room_at(tmp_path)
    with pytest.raises(ConfigError):
        room.configure(RICH, ["source.rate_hz=-1"])
    assert room.status().state is State.OFFLINE
    assert room.status().busy == ""
    room.close()


def test_what_stands_against_a_run_is_an_error_with_its_words(tmp_path: Path) -> None:
    room = room_at(tmp_path, check=lambda _: "the disk is full")
    room.configure(RICH)
    with pytest.raises(NotDoneError, match="the disk is full"):
        room.arm()
    assert room.status().cause == "the disk is full"
    room.close()


class FakeRunThatIsSeenFirst(FakeRun):
    """The control room sees that the run drains before the order to do so is over."""

    room: ClassVar[RunController]

    def answer(self, word: str = "state") -> dict[str, Any]:
        facts = super().answer(word)
        if word == "stop":
            settle(lambda: self.room.status().state is State.DRAINING)
        return facts


def test_a_run_may_drain_before_the_order_to_stop_returns(tmp_path: Path) -> None:
    room = FakeRunThatIsSeenFirst.room = RunController(tmp_path, processes=FakeRunThatIsSeenFirst)  # type: ignore[arg-type]
    room.configure(RICH)
    room.arm()
    room.start()
    room.stop()
    assert room.status().state is State.DRAINING
    FakeRun.alive[0].leave(0)
    settle(partial(is_at_rest, room))
    room.close()


def test_a_thousand_runs_leave_nothing_behind(tmp_path: Path) -> None:
    """Runs end in all ways, and a new control room starts now and then."""
    dice, numbers = random.Random(seeds.seed()), list[int]()

    def note_end(run: FakeRun, _: int | None) -> None:
        numbers.append(run.number)

    of_others = opened()
    room = room_at(tmp_path, ended=note_end)
    left = []
    for n_runs in range(1000):
        if room.status().state in (State.OFFLINE, State.ERROR):
            if room.status().state is State.ERROR:
                room.reset()
            room.configure(RICH)
        room.arm()
        if dice.random() < 0.9:
            room.start()
        if dice.random() < 0.05:
            room.close()
            room = room_at(tmp_path, ended=note_end)
        end_somehow(room, dice)
        settle(partial(is_at_rest, room))
        if n_runs in (199, 999):
            gc.collect()  # what waits to be collected is not left behind
            left.append(opened() - of_others)
    room.close()
    assert len(left[0]) == len(left[1]), left
    assert numbers == sorted(numbers)
    assert len(numbers) == 1000


def is_at_rest(room: RunController) -> bool:
    return not FakeRun.alive and room.status().node_page == ""


def end_somehow(room: RunController, dice: random.Random) -> None:
    kind = dice.choice(["stop", "abort", "kill", "itself"])
    if kind == "stop" and room.status().state is State.RUNNING:
        room.stop()
        FakeRun.alive[0].leave(0)
    elif kind == "abort":
        room.abort()
    else:
        FakeRun.alive[0].leave(-9 if kind == "kill" else 5)
